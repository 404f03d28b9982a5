//! The score over time: each point is what the chains showed then, and has its own statement.

use std::cell::Cell;

use assay_tests::{
    devnet::{BASE, ETHEREUM, Rpc},
    node::Anvil,
    proxy::Proxy,
    service::Answer,
    service::{Service, binary, plugins},
};
use futures::future::join_all;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::{ATTESTER, Filed, PREDEPLOY, configured, devnet, run, signing};
use crate::NOWHERE;

const DAY: u64 = 86_400;

/// Polls the history until nothing is pending.
async fn history(service: &Service, wallet: &str, query: &str) -> Value {
    let path = format!("/api/v2/score/address/{wallet}/history?{query}");
    service.keyed().until(&path, |answer| answer.status != 200 || answer.json()["pending"] == false).await.ok()
}

/// The features of `wallet` at `moment` on nodes that stand at these blocks, by the command that exports them.
async fn on_copies(config: &str, wallet: &str, moment: u64, blocks: &Value) -> Value {
    let (mut config, mut nodes) = (config.to_owned(), Vec::new());
    for chain in devnet().await.chains() {
        let block = blocks.as_array().expect("blocks").iter().find(|block| block["chain_id"] == chain.id);
        let (id, url, number) = (chain.id, chain.url().to_owned(), block.expect("its block")["number"].as_u64());
        let number = number.expect("a number");
        let node = tokio::task::spawn_blocking(move || Anvil::copy(id, &url, number)).await.expect("no panic");
        let node = node.expect("a copy of the chain");
        let rpc = Rpc::new(node.url()).expect("a client");
        // The chain is past the moment, and has no other block before it.
        let _: Value = rpc.request("evm_setNextBlockTimestamp", json!([moment + 1])).await.expect("a time");
        let _: Value = rpc.request("evm_mine", json!([])).await.expect("a block");
        let proxy = Proxy::one_at_a_time(node.url()).await;
        config = config.replace(chain.url(), &proxy.url);
        nodes.push((node, proxy));
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("assay.toml"), config.replace("{dir}", ".")).expect("the folder can be written");
    let mut command = tokio::process::Command::new(binary());
    command.current_dir(folder.path()).args(["features", "export", "-o", "rows.jsonl", wallet, "--as-of"]);
    // A copy asks its upstream for every old state.
    command.env("ASSAY__SCORING__READ_BUDGET_MS", "90000").env("ASSAY__HTTP__REQUEST_TIMEOUT_MS", "100000");
    command.env("ASSAY__READING__RPC__TIMEOUT_MS", "90000");
    let done = command.arg(moment.to_string()).output().await.expect("assay runs");
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(done.status.success(), "{}", said.concat());
    let row = std::fs::read_to_string(folder.path().join("rows.jsonl")).expect("a file");
    serde_json::from_str(row.lines().next().expect("a row")).expect("JSON")
}

#[test]
fn each_point_of_a_history_is_what_the_chains_showed_then() {
    run(async {
        let config = configured(&plugins(), &signing(ATTESTER, 8453, PREDEPLOY)).await;
        let config = config.replacen("[models]", "[models]\npublic = true", 1);
        let service = Service::start(&config);
        let wallet = devnet().await.wallet("liquidated-serially").address.to_string();
        let to = chrono::Utc::now().timestamp().unsigned_abs() - 40 * DAY;
        let query = format!("from={}&to={to}&every=120d&model_version=1.1", to - 360 * DAY);
        let path = format!("/api/v2/score/address/{wallet}/history?{query}");
        let api = service.keyed();
        let equal = join_all((0..8).map(|_| api.get(&path))).await;
        assert!(equal.iter().all(|first| first.ok()["pending"] == true), "nothing was read before");
        let cost = |headers: &HeaderMap| -> u64 {
            headers.get("assay-units-cost").map_or(0, |cost| cost.to_str().expect("text").parse().expect("units"))
        };
        // Each point is paid once it is read, by one of the equal requests.
        let paid = Cell::new(equal.iter().map(|first| cost(&first.headers)).sum::<u64>());
        let is_done = |answer: &Answer| {
            paid.set(paid.get() + cost(&answer.headers));
            answer.json()["pending"] == false
        };
        let polls = join_all((0..8).map(|_| api.until(&path, is_done))).await;
        assert_eq!(paid.get(), 4, "equal requests at once pay once");
        let found = polls[0].ok();
        assert!(!service.keyed().get(&path).await.headers.contains_key("assay-units-cost"), "a day long it is free");
        let points = found["points"].as_array().expect("points");
        assert_eq!(points.len(), 4);
        for pair in points.windows(2) {
            let [before, after] = pair else { unreachable!() };
            let number = |value: &Value| value.as_i64().expect("a number");
            let change = &after["change"];
            assert_eq!(number(&change["score"]), number(&after["score"]) - number(&before["score"]));
            let factors: i64 =
                change["factors"].as_array().expect("factors").iter().map(|one| number(&one["points"])).sum();
            assert_eq!(factors + number(&change["rest"]), number(&change["score"]), "{change}");
        }
        assert!(points.iter().any(|point| point["change"]["score"] != 0), "{points:?}");
        assert!(points.iter().any(|point| point["health_factor"].is_f64()), "{points:?}");

        let reasoned = history(&service, &wallet, &format!("{query}&include_reasons=true")).await;
        for (point, plain) in reasoned["points"].as_array().expect("points").iter().zip(points) {
            let reasons = point["reasons"].as_array().expect("reasons");
            assert!(plain["reasons"].is_null() && !reasons.is_empty(), "{point}");
            for reason in reasons {
                let has = |factor: &Value| factor["label"] == reason["factor"];
                let factor = point["factors"].as_array().expect("factors").iter().find(|one| has(one));
                let points = factor.expect("its factor")["points"].as_i64().expect("points");
                let [lost, possible] =
                    ["points_lost", "points_possible"].map(|name| reason[name].as_i64().expect("points"));
                assert_eq!(lost, possible - points, "{point}");
            }
        }

        // A second model needs no second reading, and every point has a statement.
        let other = history(&service, &wallet, &query.replace("1.1", "1.3")).await;
        assert_eq!(other["points"][0]["blocks"], points[0]["blocks"]);
        for (at, point) in points.iter().enumerate() {
            assert_eq!(point["state"], "scored", "{point}");
            let moment = to - 360 * DAY + at as u64 * 120 * DAY;
            let api = service.keyed();
            let path = format!("/api/v2/score/address/{wallet}/attestation?model_version=1.1&as_of={moment}");
            let one = Filed::made(&api, api.post(&path, &json!({})).await.ok()).await;
            one.verify(&["--config", &one.config(&config)]).agrees(&["term", "evidence", "model", "chains"]);
            assert_eq!(one.evidence["score"], point["score"]);
            assert_eq!(one.evidence["features"]["as_of"], moment);
            if at == 1 {
                let row = on_copies(&config, &wallet, moment, &point["blocks"]).await;
                for part in ["chains", "markets", "holdings", "identity"] {
                    assert_eq!(row[part], one.evidence["features"][part], "{part} at {moment}");
                }
            }
        }
        let unread = format!("/api/v2/score/address/{wallet}/attestation?as_of=2025-01-01");
        assert_eq!(service.keyed().post(&unread, &json!({})).await.expect(409)["code"], "history_unread");
    });
}

/// A lender and a token that are younger than the moment.
#[test]
fn what_did_not_exist_yet_leaves_no_part_unread() {
    run(async {
        let nowhere = "0x00000000000000000000000000000000000c0de5";
        let token = format!("tokens = [\n  {{ address = \"{nowhere}\", symbol = \"NEW\", decimals = 18 }},");
        let mut config = configured(&plugins(), "").await.replace("tokens = [", &token);
        for (protocol, market) in [("lenderA_v2", "Young"), ("lenderB_v2", "cYOUNG"), ("lenderB_v3", "Young")] {
            config += &format!("\n[[chains.markets]]\nprotocol = \"{protocol}\"\nmarket = \"{market}\"\n");
            config += &format!("address = \"{nowhere}\"\nfrom_block = 90000000\n");
        }
        let service = Service::start(&config);
        let wallet = devnet().await.wallet("borrower").address.to_string();
        let to = chrono::Utc::now().timestamp().unsigned_abs() - 40 * DAY;
        let found = history(&service, &wallet, &format!("from={to}&to={to}")).await;
        assert_eq!(found["points"][0]["state"], "scored", "{found}");
        // Now it is a fault of the configuration.
        let report = service.keyed().get(&format!("/api/v2/report/address/{wallet}")).await.ok();
        let said = report["unread"].to_string();
        assert!(said.contains(nowhere) || said.to_lowercase().contains("c0de5"), "{said}");
    });
}

#[test]
fn the_wallets_of_a_key_that_wait_for_their_history_are_limited() {
    run(async {
        // An endpoint that accepts connections and is silent.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let silent = silent.local_addr().map(|at| (format!("http://{at}"), silent)).expect("its address");
        let service =
            Service::start(&configured(&plugins(), "").await.replace(devnet().await.ethereum.url(), &silent.0));
        let api = service.keyed();
        let path = |wallet: u64| format!("/api/v2/score/address/{wallet:#042x}/history?from=2026-01-01&to=2026-01-01");
        // All wait before the first one gives up.
        for answer in join_all((1..=20).map(async |wallet| api.get(&path(wallet)).await)).await {
            assert_eq!(answer.ok()["pending"], true);
        }
        let refused = api.get(&path(21)).await;
        assert!(refused.headers.contains_key("retry-after"));
        assert!(refused.headers.get("assay-units-cost").is_none_or(|cost| cost == "0"), "{:?}", refused.headers);
        let refused = refused.expect(503);
        assert_eq!(refused["code"], "busy", "{refused}");
        assert!(refused["detail"].as_str().is_some_and(|said| said.contains("The history of 20 wallets")), "{refused}");
        assert_eq!(api.get(&path(20)).await.ok()["pending"], true, "one that waits is no further one");
    });
}

#[test]
fn a_history_says_what_it_cannot_read_and_refuses_what_it_cannot_answer() {
    run(async {
        let config = configured(&plugins(), "").await;
        // The endpoint of the second chain is gone.
        let base = devnet().await.chains().into_iter().find(|chain| chain.id == BASE).expect("it runs");
        let service = Service::start(&config.replace(base.url(), NOWHERE));
        let wallet = devnet().await.wallet("borrower").address.to_string();
        let to = chrono::Utc::now().timestamp().unsigned_abs() - 40 * DAY;
        let path = format!("/api/v2/score/address/{wallet}/history?from={to}&to={to}");
        let answer = service.keyed().until(&path, |answer| answer.json()["pending"] == false).await;
        let cost = answer.headers.get("assay-units-cost").cloned();
        assert!(cost.as_ref().is_none_or(|cost| cost == "0"), "an unread point costs nothing: {cost:?}");
        let found = answer.ok();
        assert_eq!(found["points"][0]["state"], "unread", "{found}");
        assert!(found["points"][0]["reason"].as_str().is_some_and(|reason| reason.contains("8453")), "{found}");
        assert_eq!(ETHEREUM, 1);
        let api = service.keyed();
        for (query, words) in [
            ("from=yesterday", "write a date"),
            ("to=2100-01-01", "less than an hour ago"),
            ("from=2026-02-01&to=2026-01-01", "after `to`"),
            ("every=0d", "1d to 3650d"),
            ("every=1h", "1d to 3650d"),
            ("every=1d", "exceed the limit of 60"),
        ] {
            let refused = api.get(&format!("/api/v2/score/address/{wallet}/history?{query}")).await.expect(422);
            assert!(refused["detail"][0]["msg"].as_str().is_some_and(|msg| msg.contains(words)), "{query}: {refused}");
        }
        let nobody =
            "/api/v2/score/address/0x00000000000000000000000000000000000beef0/history?from=2026-01-01&to=2026-01-01";
        let service = Service::start(&config);
        let found = service.keyed().until(nobody, |answer| answer.json()["pending"] == false).await.ok();
        assert_eq!(found["points"][0]["state"], "inactive", "{found}");
    });
}
