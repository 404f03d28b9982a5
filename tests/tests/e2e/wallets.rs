//! Every wallet of the devnet, through the whole server, compared with the chains.

use assay_tests::devnet::{data_provider, receipts};
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::{devnet, released_on_devnet, run};

fn unix(value: &Value) -> Option<u64> {
    value.as_str().map(|text| {
        chrono::DateTime::parse_from_rfc3339(text).expect("a timestamp").timestamp().try_into().expect("after 1970")
    })
}

#[test]
fn reports_say_what_the_receipts_and_the_data_provider_say() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        for wallet in &devnet.wallets {
            let report = api.get(&format!("/api/v2/report/address/{}", wallet.address)).await.ok();
            assert_eq!(report["address"], wallet.address.to_checksum(None));
            let events = &report["credit_events"];
            assert_eq!(events["coverage"], "complete", "{}", wallet.name);
            assert_eq!(events["feeds_score"], true);
            let pools = events["pools"].as_array().unwrap();
            assert_eq!(pools.len(), 2, "one market on each chain");
            let mut totals = [0; 5];
            for pool in pools {
                let chain = devnet.chain(pool["chain_id"].as_u64().unwrap()).unwrap();
                let said = receipts::lending_events(chain, wallet.address).await.unwrap();
                let expected = [said.supply, said.withdraw, said.borrow, said.repay, said.liquidation];
                let counts = ["supply", "withdraw", "borrow", "repay", "liquidation"]
                    .map(|kind| pool["counts"][kind].as_u64().unwrap());
                assert_eq!(counts, expected, "{} on {}", wallet.name, chain.id);
                assert_eq!(
                    (unix(&pool["first_event_at"]), unix(&pool["last_event_at"])),
                    (said.first, said.last),
                    "{}",
                    wallet.name
                );
                assert_eq!((&pool["protocol"], &pool["coverage"]), (&json!("lenderA_v3"), &json!("complete")));
                assert!(pool["synced_to_block"].as_u64().unwrap() <= chain.head().await.unwrap().0);
                totals.iter_mut().zip(expected).for_each(|(total, count)| *total += count);
            }
            for (kind, total) in ["supply", "withdraw", "borrow", "repay", "liquidation"].into_iter().zip(totals) {
                assert_eq!(events["totals"][kind], total, "{} {kind}", wallet.name);
            }
            for chain in devnet.chains() {
                let position = data_provider::position(chain, wallet.address).await.unwrap();
                let here = |field: &str| -> f64 {
                    let protocols = report["defi"]["protocols"].as_array().unwrap();
                    protocols.iter().filter(|p| p["chain_id"] == chain.id).map(|p| p[field].as_f64().unwrap()).sum()
                };
                assert_near(here("supplied"), position.supplied_usd, wallet.name);
                assert_near(here("borrowed"), position.borrowed_usd, wallet.name);
            }
            let sent = stream::iter(devnet.chains())
                .then(|chain| async { receipts::sent(chain, wallet.address).await.unwrap() });
            let sent: Vec<_> = sent.collect().await;
            let transactions: u64 = sent.iter().map(|sent| sent.transactions).sum();
            assert_eq!(report["activity"]["total_transactions"], transactions, "{}", wallet.name);
            let first = sent.iter().filter_map(|sent| sent.first).map(|moment| moment.time).min();
            if first.is_some() {
                assert_eq!(unix(&report["activity"]["first_transaction"]), first, "{}", wallet.name);
            }
        }
    });
}

/// Equal to 0.01 %, or to a cent: dollars in answers have two decimals.
#[track_caller]
fn assert_near(reported: f64, expected: f64, who: &str) {
    assert!(
        (reported - expected).abs() <= (expected * 1e-4).max(0.011),
        "{who}: {reported} reported, {expected} by the data provider"
    );
}

#[test]
fn every_wallet_that_did_something_has_a_score_with_five_factors() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        for wallet in devnet.wallets.iter().filter(|wallet| wallet.name != "empty") {
            let score = api.get(&format!("/api/v2/score/address/{}?include_factors=true", wallet.address)).await.ok();
            let labels: Vec<_> =
                score["factors"].as_array().unwrap().iter().map(|factor| factor["label"].as_str().unwrap()).collect();
            assert_eq!(
                labels,
                ["Wallet Age", "Transaction History", "DeFi Activity", "Asset Holdings", "Repayment History"]
            );
            for factor in score["factors"].as_array().unwrap() {
                assert_eq!(factor.as_object().unwrap().len(), 5, "label, rating, description, points, possible");
            }
            assert_eq!(
                (&score["model_version"], &score["provisional"]),
                (&json!("1.1"), &json!(false)),
                "{}",
                wallet.name
            );
            assert_eq!(score["credit_events_coverage"], "complete");
            let plain = api.get(&format!("/api/v2/score/address/{}", wallet.address)).await.ok();
            assert!(plain.get("factors").is_none());
            assert_eq!(plain["score"], score["score"]);
        }
    });
}

#[test]
fn a_liquidation_costs_points_and_nothing_else_differs() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        let score = async |name: &str| {
            let body = api.get(&format!("/api/v2/score/address/{}", devnet.wallet(name).address)).await.ok();
            body["score"].as_u64().unwrap()
        };
        let (liquidated, twin) = (score("liquidated").await, score("liquidated-twin").await);
        assert!(liquidated < twin, "{liquidated} and {twin}");
    });
}

#[test]
fn an_address_that_did_nothing_has_no_score_and_a_report_of_zeros() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        let empty = devnet.wallet("empty").address;
        for path in [
            format!("/api/v2/score/address/{empty}"),
            "/api/v2/score/address/nobody.eth".to_owned(),
            "/api/v2/report/address/nobody.eth".to_owned(),
        ] {
            assert_eq!(
                api.get(&path).await.expect(404),
                json!({ "detail": "Address not found or has no on-chain activity" }),
                "{path}"
            );
        }
        let boosted = api.post(&format!("/api/v2/score/address/{empty}"), &json!({ "total_asset_usd": 50_000 })).await;
        boosted.expect(404);
        let report = api.get(&format!("/api/v2/report/address/{empty}")).await.ok();
        assert_eq!(report["assets"], json!({ "total_value_usd": 0.0, "tokens": [], "nfts": [] }));
        assert_eq!(report["defi"], json!({ "protocols": [], "total_supplied": 0.0, "total_borrowed": 0.0 }));
        assert_eq!(
            report["activity"],
            json!({ "first_transaction": null, "total_transactions": 0, "active_chains": [] })
        );
        assert_eq!(report["score"], json!({ "value": 300, "classification": "low", "inactive": true }));
        let not_covered = report["credit_events"]["not_covered"].as_array().unwrap();
        for (protocol, covered) in
            [("lenderA_v2", false), ("lenderA_v3", true), ("lenderB_v2", false), ("lenderB_v3", false)]
        {
            assert_eq!(
                not_covered.contains(&json!(protocol)),
                !covered,
                "{protocol}: a market that is not read is no clean record"
            );
        }
        // Lenders of these chains, and none of others.
        for (lender, is_there) in [("Liquity", true), ("crvUSD", true), ("Moonwell", true), ("Benqi", false)] {
            assert_eq!(not_covered.contains(&json!(lender)), is_there, "{lender}");
        }
        assert_eq!(
            report["credit_events"]["totals"],
            json!({ "supply": 0, "withdraw": 0, "borrow": 0, "repay": 0, "liquidation": 0 })
        );
    });
}

#[test]
fn the_enhanced_score_adds_at_most_fifteen_percent_of_the_gap() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        let path = format!("/api/v2/score/address/{}", devnet.wallet("borrower").address);
        let base = api.get(&path).await.ok()["score"].as_u64().unwrap();
        for (assets, share) in [(0.0, 0.0), (10_000.0, 0.2), (50_000.0, 1.0), (9e9, 1.0)] {
            let body = api.post(&path, &json!({ "total_asset_usd": assets })).await.ok();
            let expected = base + (0.15 * (1000 - base) as f64 * share).floor() as u64;
            assert_eq!((&body["score"], &body["model_version"]), (&json!(expected), &json!("1.1")), "{assets}");
        }
    });
}

#[test]
fn a_second_reading_is_served_from_cache_and_says_so() {
    run(async {
        let (devnet, service) = (devnet().await, released_on_devnet().await);
        let api = service.keyed();
        let path = format!("/api/v2/report/address/{}", devnet.wallet("saver").address);
        let (first, second) = (api.get(&path).await.ok(), api.get(&path).await.ok());
        assert_eq!((&first["cached"], &second["cached"]), (&json!(false), &json!(true)));
        let score = format!("/api/v2/score/address/{}", devnet.wallet("saver").address);
        assert_eq!(
            api.get(&score).await.ok()["timestamp"],
            api.get(&score).await.ok()["timestamp"],
            "a score keeps the time it was calculated"
        );
    });
}

#[test]
fn a_key_pays_for_answers_and_not_for_mistakes() {
    run(async {
        let key = "assay_three_units_0001";
        let more = format!("[[access.keys]]\nname = \"three\"\nkey = \"{key}\"\nscopes = [\"read\"]\nunits = 3\n");
        let service = super::on_devnet(&assay_tests::service::plugins(), &more).await;
        let api = service.with_key(key);
        let score = |name: &str| format!("/api/v2/score/address/{}", devnet_address(name));
        for _ in 0..5 {
            api.get("/api/v2/score/address/nonsense").await.expect(400);
        }
        // The answer that an address is unknown has the same cost.
        api.get(&score("empty")).await.expect(404);
        for _ in 0..2 {
            api.get(&score("saver")).await.ok();
        }
        let refused = api.get(&score("saver")).await;
        assert!(!refused.headers.contains_key("retry-after"), "no time helps");
        assert!(refused.expect(429)["detail"].is_string());
        api.get("/api/v2/sandbox/score/address/0x0000000000000000000000000000000000000001").await.ok();
    });
}

/// Addresses of the devnet are derived from names alone.
fn devnet_address(name: &str) -> alloy::primitives::Address {
    assay_tests::devnet::actors::address(name)
}
