//! Sums, parts and several subjects on the devnet, compared with the full report and with the receipts.

use assay_tests::{
    devnet::{Devnet, receipts},
    service::{Caller, answer},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{NOWHERE, devnet, released_on_devnet, run};

const WALLETS: [&str; 5] = ["whale", "borrower", "liquidated", "busy", "empty"];

async fn report(api: &Caller, address: impl std::fmt::Display, rest: &str) -> Value {
    api.get(&format!("/api/v2/report/address/{address}{rest}")).await.ok()
}

fn dollars(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no amount"))
}

/// Equal except for the rounding of each part to a cent.
#[track_caller]
fn assert_near(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() < 0.05 + b.abs() * 1e-9, "{what}: {a} and {b}");
}

/// First and last transaction from the receipts: time, block, chain.
async fn seen(devnet: &Devnet, names: &[&str]) -> [Value; 2] {
    let (mut first, mut last) = (None, None);
    for name in names {
        for chain in devnet.chains() {
            let sent = receipts::sent(chain, devnet.wallet(name).address).await.unwrap();
            let at = |moment: receipts::Moment| (moment.time, moment.block, chain.id);
            first = [first, sent.first.map(at)].into_iter().flatten().min();
            last = [last, sent.last.map(at)].into_iter().flatten().max();
        }
    }
    [first, last].map(|at| {
        at.map_or(Value::Null, |(time, block, id)| json!({ "timestamp": time, "block_number": block, "chain_id": id }))
    })
}

#[test]
fn a_chains_report_is_that_part_of_the_whole_and_its_summary_adds_it_up() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        for name in WALLETS {
            let address = devnet.wallet(name).address;
            let whole = report(&api, address, "").await;
            for chain in devnet.chains() {
                let part = report(&api, address, &format!("/chain/{}", chain.id)).await;
                assert_eq!((&part["address"], &part["chain_id"]), (&whole["address"], &json!(chain.id)));
                for token in part["assets"]["tokens"].as_array().unwrap() {
                    let is_native = token["address"].is_null();
                    assert_eq!((is_native, &token["priced"]), (token["symbol"] == "ETH", &json!(true)), "{token}");
                }
                assert_eq!(
                    (&part["chain_name"], &part["cached"], &part["timestamp"]),
                    (&json!(chain.name), &json!(true), &whole["timestamp"])
                );
                let here = |list: &Value| -> Vec<Value> {
                    let mut entries = list.as_array().unwrap().clone();
                    entries.retain(|entry| entry["chain_id"] == chain.id);
                    entries.iter_mut().for_each(|entry| drop(entry.as_object_mut().unwrap().remove("chain_id")));
                    entries
                };
                assert_eq!(part["assets"]["tokens"], json!(here(&whole["assets"]["tokens"])), "{name}");
                assert_eq!(part["defi"]["protocols"], json!(here(&whole["defi"]["protocols"])), "{name}");

                let said = receipts::lending_events(chain, address).await.unwrap();
                let sent = receipts::sent(chain, address).await.unwrap();
                assert_eq!(part["activity"]["total_transactions"], sent.transactions, "{name}");
                let summed = report(&api, address, &format!("/chain/{}/summary", chain.id)).await;
                let summary = &summed["report"]["summary"];
                assert_eq!(
                    (&summary["count_transactions"], &summary["count_transfers"]),
                    (&json!(sent.transactions), &json!(0))
                );
                assert_eq!(
                    (&summary["count_repayments"], &summary["count_liquidations"]),
                    (&json!(said.repay), &json!(said.liquidation))
                );
                assert_eq!(summary["credit_events_coverage"], "complete");
                assert_eq!(summary["count_balances"], part["assets"]["tokens"].as_array().unwrap().len());
                assert_near(dollars(&summary["total_asset_usd"]), dollars(&part["assets"]["total_value_usd"]), name);
                assert_near(dollars(&summary["total_collateral_usd"]), dollars(&part["defi"]["total_supplied"]), name);
                assert_near(dollars(&summary["total_debt_usd"]), dollars(&part["defi"]["total_borrowed"]), name);
                let moment = |at: Option<receipts::Moment>| {
                    at.map_or(
                        Value::Null,
                        |at| json!({ "timestamp": at.time, "block_number": at.block, "chain_id": chain.id }),
                    )
                };
                assert_eq!(summed["report"]["first_transaction"], moment(sent.first), "{name} on {}", chain.id);
                assert_eq!(summed["report"]["last_transaction"], moment(sent.last), "{name} on {}", chain.id);
            }
        }
    });
}

#[test]
fn an_aggregate_is_the_sum_of_each_and_takes_nobody_twice() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        let (whale, borrower) = (devnet.wallet("whale").address, devnet.wallet("borrower").address);
        let lower = whale.to_string().to_lowercase();
        let both =
            api.get(&format!("/api/v2/report/?address={lower},nonsense,{borrower},nobody.eth,{whale}")).await.ok();
        let both = &both["report"];
        assert_eq!(both["address"], json!([whale.to_checksum(None), borrower.to_checksum(None)]));
        let left_out = json!([
            { "address": "nonsense", "reason": "invalid" }, { "address": "nobody.eth", "reason": "not_found" },
        ]);
        assert_eq!(both["skipped"], left_out);
        let empty = devnet.wallet("empty").address;
        for path in ["/api/v2/score/", "/api/v2/score/batch/"] {
            let scores = api.get(&format!("{path}?address=nonsense,{borrower},nonsense,{empty}")).await.ok();
            let left_out = json!([
                { "address": "nonsense", "reason": "invalid" },
                { "address": empty.to_checksum(None), "reason": "not_found" },
            ]);
            assert_eq!(scores["skipped"], left_out, "{path}");
            assert_eq!(api.get(&format!("{path}?address={borrower}")).await.ok()["skipped"], Value::Null, "{path}");
            let many: Vec<String> = (0..150).map(|n| format!("bad-{n}")).collect();
            let scores = api.get(&format!("{path}?address={borrower},{}", many.join(","))).await.ok();
            let named = scores["skipped"].as_array().map(Vec::len);
            assert_eq!((named, &scores["skipped_total"]), (Some(100), &json!(150)), "{path}");
        }
        // Who asks about wallets without activity gets an answer of none, and of why.
        let nobody = "0x00000000000000000000000000000000000a11ce";
        let none = api.get(&format!("/api/v2/score/batch/?address={empty},{nobody},nobody.eth")).await;
        assert_eq!((&none.ok()["count"], &none.ok()["skipped_total"]), (&json!(0), &json!(3)), "{}", none.text);
        assert_eq!(none.headers["cache-control"], "no-store");
        api.get(&format!("/api/v2/score/?address={empty},{nobody}")).await.expect(404);
        let each = [report(&api, whale, "").await, report(&api, borrower, "").await];
        let sum = |pointer: &str| -> f64 { each.iter().map(|one| dollars(one.pointer(pointer).unwrap())).sum() };
        let summary = &both["summary"];
        assert_near(dollars(&summary["total_asset_usd"]), sum("/assets/total_value_usd"), "assets");
        assert_near(dollars(&summary["total_collateral_usd"]), sum("/defi/total_supplied"), "collateral");
        assert_near(dollars(&summary["total_debt_usd"]), sum("/defi/total_borrowed"), "debt");
        for (count, pointer) in [
            ("count_transactions", "/activity/total_transactions"),
            ("count_repayments", "/credit_events/totals/repay"),
            ("count_liquidations", "/credit_events/totals/liquidation"),
        ] {
            assert_eq!(dollars(&summary[count]), sum(pointer), "{count}");
        }
        assert_eq!(
            (&summary["count_identity_attestations"], &summary["list_identity_attestations"]),
            (&json!(0), &json!([]))
        );
        let seen = seen(devnet, &["whale", "borrower"]).await;
        assert_eq!([&both["first_transaction"], &both["last_transaction"]], [&seen[0], &seen[1]]);

        let nobody = api.get("/api/v2/report?address=nobody.eth,nonsense").await.expect(400);
        assert_eq!(nobody, json!({ "error": "No valid addresses provided", "status_code": 400 }));
        let empty = api.get(&format!("/api/v2/report?address={}", devnet.wallet("empty").address)).await.ok();
        assert_eq!(
            (&empty["report"]["first_transaction"], &empty["report"]["summary"]["total_asset_usd"]),
            (&Value::Null, &json!(0.0))
        );
    });
}

#[test]
fn an_enhanced_report_adds_what_the_caller_says() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        let address = devnet.wallet("whale").address;
        let whole = report(&api, address, "").await;
        let given = json!({ "total_asset_usd": 1000.25, "total_collateral_usd": 10.0, "total_debt_usd": 3.5,
            "count_transactions": 7, "count_transfers": 9 });
        let mut body = given.clone();
        body["name"] = json!("My bank");
        let answer = api.post(&format!("/api/v2/report/address/{address}"), &body).await;
        assert_eq!(answer.headers["cache-control"], "no-store");
        let enhanced = &answer.ok()["report"];
        assert_eq!(enhanced["additional"], json!({ "source": { "name": "My bank", "data": given } }));
        let (summary, assets, defi) = (&enhanced["summary"], &whole["assets"], &whole["defi"]);
        assert_near(dollars(&summary["total_asset_usd"]), dollars(&assets["total_value_usd"]) + 1000.25, "assets");
        assert_near(dollars(&summary["total_collateral_usd"]), dollars(&defi["total_supplied"]) + 10.0, "collateral");
        assert_near(dollars(&summary["total_debt_usd"]), dollars(&defi["total_borrowed"]) + 3.5, "debt");
        let transactions = whole["activity"]["total_transactions"].as_u64().unwrap() + 7;
        assert_eq!((&summary["count_transactions"], &summary["count_transfers"]), (&json!(transactions), &json!(9)));
        assert_eq!(enhanced["first_transaction"], seen(devnet, &["whale"]).await[0]);
        let chains = enhanced["chains"].as_array().unwrap();
        assert_eq!(chains.len(), 2);
        let sum: f64 = chains.iter().map(|chain| dollars(&chain["summary"]["total_asset_usd"])).sum();
        assert_near(sum, dollars(&assets["total_value_usd"]), "chains have no off-chain figures");
        assert_eq!((&chains[0]["chain_name"], &chains[0]["coverage"]), (&json!("Ethereum"), &json!("complete")));
    });
}

#[test]
fn a_portfolio_adds_up_to_its_total() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        for name in WALLETS {
            let address = devnet.wallet(name).address;
            let whole = report(&api, address, "").await;
            let portfolio = report(&api, address, "/total/usd").await;
            let total = report(&api, address, "/total/usd/aggregate").await;
            let chains = portfolio["chains"].as_array().unwrap();
            let ids: Vec<_> = chains.iter().map(|chain| chain["chain_id"].as_u64().unwrap()).collect();
            assert_eq!(ids, [1, 8453], "{name}");
            let sum: f64 = chains.iter().map(|chain| dollars(&chain["total_asset_usd"])).sum();
            assert_near(sum, dollars(&portfolio["total_asset_usd"]), name);
            assert_eq!(portfolio["total_asset_usd"], whole["assets"]["total_value_usd"], "{name}");
            assert_eq!(total["total_asset_usd"], portfolio["total_asset_usd"], "{name}");
            assert_eq!(total["timestamp"], whole["timestamp"], "all of them are of one reading");
        }
    });
}

#[test]
fn several_scores_are_those_of_each_and_their_mean() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        let [whale, borrower, empty] = ["whale", "borrower", "empty"].map(|name| devnet.wallet(name).address);
        let score = async |address| api.get(&format!("/api/v2/score/address/{address}")).await.ok();
        let each = [score(whale).await, score(borrower).await];
        let list = format!("?address={whale},{empty},{borrower},{whale},nobody.eth");
        let batch = api.get(&format!("/api/v2/score/batch{list}")).await.ok();
        let left_out =
            ["nobody.eth", &empty.to_checksum(None)].map(|item| json!({ "address": item, "reason": "not_found" }));
        let expected = json!({ "scores": each, "count": 2, "skipped": left_out, "skipped_total": 2 });
        assert_eq!(batch, expected, "who has no activity has no score");
        let mean = api.get(&format!("/api/v2/score/{list}")).await.ok();
        let sum: u64 = each.iter().map(|score| score["score"].as_u64().unwrap()).sum();
        assert_eq!(mean["score"], sum.div_ceil(2));
        assert_eq!(mean["address"], json!([whale.to_checksum(None), borrower.to_checksum(None)]));
        assert_eq!((&mean["credit_events_coverage"], &mean["provisional"]), (&json!("complete"), &json!(false)));
        let unknown = api.get(&format!("/api/v2/score?address={empty}")).await.expect(404);
        assert_eq!(unknown, json!({ "detail": "Address not found or has no on-chain activity" }));
    });
}

#[test]
fn answers_say_how_old_they_are_and_are_not_sent_twice() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        let address = devnet.wallet("saver").address;
        let paths = [
            format!("/api/v2/score/address/{address}"),
            format!("/api/v2/score/batch/?address={address}"),
            format!("/api/v2/report/?address={address}"),
            format!("/api/v2/report/address/{address}/chain/1/summary"),
            format!("/api/v2/report/address/{address}/total/usd"),
            format!("/api/v2/report/address/{address}"),
        ];
        for path in paths {
            let first = api.get(&path).await;
            assert_eq!(first.headers["cache-control"], "private, max-age=300", "{path}");
            assert!(first.headers["age"].to_str().unwrap().parse::<u64>().unwrap() <= 300);
            let tag = first.headers["etag"].clone();
            let again = answer(api.request(Method::GET, &path).header("if-none-match", &tag)).await;
            assert_eq!((again.status.as_u16(), again.text.as_str(), &again.headers["etag"]), (304, "", &tag), "{path}");
            let other = answer(api.request(Method::GET, &path).header("if-none-match", "\"other\"")).await;
            assert_eq!(other.text, first.text, "{path}");
        }
        let enhanced = api.post(&format!("/api/v2/score/address/{address}"), &json!({})).await;
        assert_eq!(enhanced.headers["cache-control"], "no-store");
    });
}

#[test]
fn each_address_costs_its_units_all_at_once() {
    run(async {
        let key = "assay_three_units_0002";
        let more = format!("[[access.keys]]\nname = \"three\"\nkey = \"{key}\"\nscopes = [\"read\"]\nunits = 3\n");
        let service = super::on_devnet(&assay_tests::service::plugins(), &more).await;
        let api = service.with_key(key);
        let [saver, whale, borrower, busy] =
            ["saver", "whale", "borrower", "busy"].map(assay_tests::devnet::actors::address);
        api.get(&format!("/api/v2/report?address={saver},{whale},{borrower},{busy}")).await.expect(429);
        for unconfigured in ["chain/137", "chain/137/summary"] {
            let refused = api.get(&format!("/api/v2/report/address/{saver}/{unconfigured}")).await.expect(502);
            assert_eq!(refused["code"], "chain_not_configured");
        }
        // A failed call gets its units back after its answer.
        api.until("/api/v2/usage", |usage| usage.ok()["used"] == 0).await;
        api.get(&format!("/api/v2/score/batch?address={saver},{whale},{saver}")).await.ok();
        api.get(&format!("/api/v2/score?address={saver},{whale}")).await.expect(429);
        api.get(&format!("/api/v2/report?address={saver}")).await.ok();
        api.get(&format!("/api/v2/report/address/{saver}/total/usd")).await.expect(429);
    });
}

#[test]
fn a_chain_that_is_down_is_left_out_of_sums_and_said_to_have_failed() {
    run(async {
        let devnet = devnet().await;
        let more = format!(
            "[[chains]]\nid = 10\nname = \"Optimism\"\nrpc = [\"{NOWHERE}\"]\nfinality = 16\nnative = \
             {{ symbol = \"ETH\" }}\n\
             [[chains.markets]]\nprotocol = \"lenderA_v3\"\naddress = \
             \"0x794a61358D6845594F94dc1DB02A252b5b4814aD\"\nfrom_block = 1\n\
             [reading.rpc]\nretries = 0\n"
        );
        let service = super::on_devnet(&assay_tests::service::plugins(), &more).await;
        let api = service.keyed();
        let address = devnet.wallet("whale").address;
        for rest in ["chain/10", "chain/10/summary"] {
            let down = api.get(&format!("/api/v2/report/address/{address}/{rest}")).await;
            assert!(down.headers.contains_key("retry-after"));
            assert_eq!(down.expect(502), json!({ "detail": "Chain 10 could not be read; try again later" }));
        }
        let portfolio = api.get(&format!("/api/v2/report/address/{address}/total/usd")).await;
        assert_eq!(portfolio.headers["cache-control"], "private, max-age=30");
        let portfolio = portfolio.ok();
        let ids: Vec<_> =
            portfolio["chains"].as_array().unwrap().iter().map(|chain| chain["chain_id"].as_u64().unwrap()).collect();
        assert_eq!(ids, [1, 8453]);
        assert!(dollars(&portfolio["total_asset_usd"]) > 1e6, "the rest is whole");
        let enhanced = api.post(&format!("/api/v2/report/address/{address}"), &json!({ "name": "x" })).await.ok();
        let enhanced = &enhanced["report"];
        let states: Vec<_> =
            enhanced["chains"].as_array().unwrap().iter().map(|chain| chain["coverage"].as_str().unwrap()).collect();
        assert_eq!(states, ["complete", "failed", "complete"]);
        assert_eq!(enhanced["summary"]["credit_events_coverage"], "failed");
        let part = api.get(&format!("/api/v2/report/address/{address}/chain/1/summary")).await.ok();
        assert_eq!(part["report"]["summary"]["credit_events_coverage"], "complete", "one chain does not spoil another");
    });
}
