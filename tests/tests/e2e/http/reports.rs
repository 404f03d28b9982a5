//! The routes of reports and of scores of several addresses: their error responses, and their shapes in sandbox mode.

use serde_json::{Value, json};

use super::{ONE, VITALIK, kinds, sandbox, server::Server};

const TWO: &str = "0x0000000000000000000000000000000000000002";
/// The chains that each route accepts.
const REPORTED: [u64; 10] = [1, 137, 42161, 10, 8453, 43114, 56, 250, 324, 59144];
const SUMMED: [u64; 10] = [1, 10, 56, 137, 8453, 42220, 42161, 43114, 534_352, 59144];
const ALL: [u64; 12] = [1, 10, 56, 137, 250, 324, 8453, 42161, 42220, 43114, 59144, 534_352];
/// Shipped chains that are beyond the contract.
const BEYOND: [u64; 3] = [100, 9745, 57_073];
const LISTS: [&str; 6] = ["report", "report/", "score", "score/", "score/batch", "score/batch/"];

fn report(address: &str, rest: &str) -> String {
    format!("/api/v2/report/address/{address}{rest}")
}

#[track_caller]
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

const SUMMARY: [&str; 9] = [
    "count_balances",
    "count_liquidations",
    "count_repayments",
    "count_transactions",
    "count_transfers",
    "credit_events_coverage",
    "total_asset_usd",
    "total_collateral_usd",
    "total_debt_usd",
];

#[track_caller]
fn assert_transaction(value: &Value) {
    assert_eq!(keys(value), ["block_number", "chain_id", "timestamp"]);
    assert!(value.as_object().unwrap().values().all(Value::is_u64), "{value}");
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.1
}

#[tokio::test]
async fn each_route_takes_exactly_its_chains() {
    let server = Server::start(true);
    for chain in ALL.into_iter().chain(BEYOND) {
        let whole = server.get(&report(VITALIK, &format!("/chain/{chain}"))).await;
        let summed = server.get(&report(VITALIK, &format!("/chain/{chain}/summary"))).await;
        if REPORTED.contains(&chain) {
            assert_eq!(whole.status, 200, "{chain}");
        } else {
            assert_eq!((whole.status, whole.json()), (400, json!({ "detail": "Invalid chain id" })), "{chain}");
        }
        if SUMMED.contains(&chain) {
            assert_eq!(summed.status, 200, "{chain}");
        } else {
            assert_eq!(
                (summed.status, summed.json()),
                (400, json!({ "error": format!("Unsupported chain: {chain}") }))
            );
        }
    }
    for id in ["5", "-1", "0", "99999999999999999999999999"] {
        assert_eq!(
            server.get(&report(ONE, &format!("/chain/{id}"))).await.json(),
            json!({ "detail": "Invalid chain id" })
        );
        let summed = server.get(&report(ONE, &format!("/chain/{id}/summary"))).await;
        assert_eq!((summed.status, summed.json()), (400, json!({ "error": format!("Unsupported chain: {id}") })));
    }
    for rest in ["/chain/one", "/chain/1.5/summary"] {
        let answer = server.get(&report(ONE, rest)).await;
        assert_eq!(kinds(&answer.json()), [("int_parsing".to_owned(), json!(["path", "chain_id"]))]);
    }
    server.stop().await;
}

#[tokio::test]
async fn every_route_names_what_is_no_address_and_wants_a_key() {
    let server = Server::start(true);
    for rest in ["/chain/1", "/chain/1/summary", "/total/usd", "/total/usd/aggregate"] {
        let answer = server.get(&report("0x12", rest)).await;
        assert_eq!(
            (answer.status, answer.json()),
            (400, json!({ "detail": "Invalid Ethereum address format" })),
            "{rest}"
        );
        assert_eq!(server.public(&report(ONE, rest)).await.status, 401, "{rest}");
    }
    let none = json!({ "error": "No valid addresses provided", "status_code": 400 });
    for path in LISTS {
        for list in ["", ",", "x,0x12,%20"] {
            let answer = server.get(&format!("/api/v2/{path}?address={list}")).await;
            assert_eq!((answer.status, answer.json()), (400, none.clone()), "{path} {list}");
        }
        let missing = server.get(&format!("/api/v2/{path}")).await;
        assert_eq!(kinds(&missing.json()), [("missing".to_owned(), json!(["query", "address"]))], "{path}");
        let many = server.get(&format!("/api/v2/{path}?address={}", distinct(101))).await;
        let expected = json!({ "error": "Too many addresses: at most 100 in one request", "status_code": 400 });
        assert_eq!((many.status, many.json()), (400, expected), "{path}");
        let same = server.get(&format!("/api/v2/{path}?address={}", [ONE; 101].join(","))).await;
        assert_ne!(same.status, 400, "an address counts once: {path}");
        assert_eq!(server.public(&format!("/api/v2/{path}?address={ONE}")).await.status, 401, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn off_chain_figures_are_validated_before_anything_is_read() {
    let server = Server::start(false);
    let path = report(ONE, "");
    let unnamed = json!({ "error": "Additional data must provide a name field" });
    for body in ["", "{}", r#"{"name":null}"#, r#"{"name":"  "}"#, r#"{"total_asset_usd":-1}"#] {
        let answer = server.post(&path, body).await;
        assert_eq!((answer.status, answer.json()), (400, unnamed.clone()), "{body}");
    }
    for (body, kind, field) in [
        (r#"{"name":7}"#, "string_type", "name"),
        (r#"{"name":"a","total_asset_usd":-1}"#, "greater_than_equal", "total_asset_usd"),
        (r#"{"name":"a","total_collateral_usd":-0.1}"#, "greater_than_equal", "total_collateral_usd"),
        (r#"{"name":"a","total_debt_usd":"5"}"#, "float_type", "total_debt_usd"),
        (r#"{"name":"a","count_transactions":-1}"#, "greater_than_equal", "count_transactions"),
        (r#"{"name":"a","count_transfers":1.5}"#, "int_from_float", "count_transfers"),
        (r#"{"name":"a","count_transfers":"1"}"#, "int_type", "count_transfers"),
        (r#"{"name":"a","count_transactions":9007199254740992}"#, "less_than_equal", "count_transactions"),
    ] {
        let answer = server.post(&path, body).await;
        assert_eq!(answer.status, 422, "{body}");
        assert_eq!(kinds(&answer.json()), [(kind.to_owned(), json!(["body", field]))], "{body}");
    }
    assert_eq!(kinds(&server.post(&path, "{").await.json()), [("json_invalid".to_owned(), json!(["body"]))]);
    assert_eq!(server.post(&report("0x12", ""), r#"{"name":"a"}"#).await.status, 400);
    server.stop().await;
}

#[tokio::test]
async fn without_a_chain_no_route_answers_and_none_costs_anything() {
    let server = Server::start(false);
    let lists = LISTS.map(|path| format!("/api/v2/{path}?address={ONE},{TWO}"));
    let paths = ["/total/usd", "/total/usd/aggregate"].map(|rest| report(ONE, rest));
    for path in lists.iter().chain(&paths) {
        let answer = server.send_as_reader("GET", path, None).await;
        assert_eq!((answer.status, &answer.json()["code"]), (502, &json!("no_chain")), "{path}");
    }
    let enhanced = server.send_as_reader("POST", &report(ONE, ""), Some(r#"{"name":"a"}"#)).await;
    assert_eq!((enhanced.status, &enhanced.json()["code"]), (502, &json!("no_chain")));
    for rest in ["/chain/137", "/chain/137/summary"] {
        let answer = server.send_as_reader("GET", &report(ONE, rest), None).await;
        let expected = json!({ "detail": "Chain 137 is not configured on this server; its operator can add it",
            "code": "chain_not_configured" });
        assert_eq!((answer.status, answer.json()), (502, expected));
    }
    // The reader has three units. Four addresses cost more, whatever their result is.
    let four = format!("/api/v2/report/?address={ONE},{TWO},{VITALIK},{}", ONE.replace('1', "3"));
    let refused = server.send_as_reader("GET", &four, None).await;
    assert_eq!((refused.status, &refused.json()["code"]), (429, &json!("units_used_up")));
    server.stop().await;
}

#[tokio::test]
async fn sandbox_mode_has_every_shape_and_its_parts_add_up() {
    let server = Server::start(true);
    let whole = server.get(&report(VITALIK, "")).await.json();
    let answer =
        server.post(&report(VITALIK, ""), r#"{"name":"My bank","total_asset_usd":50.5,"count_transfers":3}"#).await;
    assert_eq!((answer.header("x-assay-sandbox"), answer.header("cache-control")), ("true", "no-store"));
    let enhanced = &answer.json()["report"];
    assert_eq!(keys(enhanced), ["additional", "address", "chains", "first_transaction", "summary", "timestamp"]);
    assert_eq!(keys(&enhanced["summary"]), SUMMARY);
    assert_eq!(
        enhanced["additional"],
        json!({ "source": { "name": "My bank", "data": { "total_asset_usd": 50.5, "count_transfers": 3 } } })
    );
    let sum = enhanced["summary"]["total_asset_usd"].as_f64().unwrap();
    assert!(near(sum, whole["assets"]["total_value_usd"].as_f64().unwrap() + 50.5), "{sum}");
    assert_eq!(
        (&enhanced["summary"]["count_transfers"], &enhanced["summary"]["credit_events_coverage"]),
        (&json!(3), &json!("complete"))
    );
    assert_eq!(enhanced["summary"]["count_repayments"], whole["credit_events"]["totals"]["repay"]);
    assert_transaction(&enhanced["first_transaction"]);
    for chain in enhanced["chains"].as_array().unwrap() {
        assert_eq!(
            keys(chain),
            ["chain_id", "chain_name", "coverage", "first_transaction", "last_transaction", "summary"]
        );
        assert_eq!(keys(&chain["summary"]), SUMMARY);
    }

    let (mut assets, mut transactions) = (0.0, 0);
    for chain in ALL {
        if REPORTED.contains(&chain) {
            let body = server.get(&report(VITALIK, &format!("/chain/{chain}"))).await.json();
            let expected = ["activity", "address", "assets", "cached", "chain_id", "chain_name", "defi", "timestamp"];
            assert_eq!(keys(&body), expected);
            assert_eq!(
                (keys(&body["activity"]), &body["chain_id"]),
                (vec!["first_transaction", "total_transactions"], &json!(chain))
            );
            for token in body["assets"]["tokens"].as_array().unwrap() {
                let mut fields = keys(token);
                fields.retain(|field| *field != "address");
                assert_eq!(fields, ["balance", "name", "price_source", "priced", "symbol", "value_usd"]);
            }
            body["assets"]["nfts"]
                .as_array()
                .unwrap()
                .iter()
                .for_each(|nft| assert_eq!(keys(nft), ["collection", "name"]));
            body["defi"]["protocols"]
                .as_array()
                .unwrap()
                .iter()
                .for_each(|p| assert_eq!(keys(p), ["borrowed", "name", "supplied"]));
            assets += body["assets"]["total_value_usd"].as_f64().unwrap();
            transactions += body["activity"]["total_transactions"].as_u64().unwrap();
        } else {
            let body = server.get(&report(VITALIK, &format!("/chain/{chain}/summary"))).await.json();
            let body = &body["report"];
            assert_eq!(keys(body), ["address", "first_transaction", "last_transaction", "summary", "timestamp"]);
            assets += body["summary"]["total_asset_usd"].as_f64().unwrap();
            transactions += body["summary"]["count_transactions"].as_u64().unwrap();
        }
    }
    assert!(near(assets, sum - 50.5), "{assets} {sum}");
    assert_eq!(transactions, whole["activity"]["total_transactions"]);

    let portfolio = server.get(&report(VITALIK, "/total/usd")).await.json();
    assert_eq!(keys(&portfolio), ["address", "chains", "timestamp", "total_asset_usd"]);
    portfolio["chains"]
        .as_array()
        .unwrap()
        .iter()
        .for_each(|c| assert_eq!(keys(c), ["chain_id", "chain_name", "total_asset_usd"]));
    let total = server.get(&report(VITALIK, "/total/usd/aggregate")).await.json();
    assert_eq!(keys(&total), ["address", "timestamp", "total_asset_usd"]);
    assert_eq!(total["total_asset_usd"], portfolio["total_asset_usd"]);
    let mock = server.get(&sandbox(&format!("report/address/{VITALIK}/total/usd"))).await.json();
    assert_eq!(total["total_asset_usd"], mock["total_asset_usd"]);
    server.stop().await;
}

#[tokio::test]
async fn sandbox_mode_takes_several_subjects_each_once() {
    let server = Server::start(true);
    let one = server.get(&sandbox(&format!("score/address/{ONE}"))).await.json();
    let two = server.get(&sandbox(&format!("score/address/{TWO}"))).await.json();
    for slash in ["", "/"] {
        let list = format!("{slash}?address={ONE},nonsense,{TWO},{ONE}");
        let mean = server.get(&format!("/api/v2/score{list}")).await.json();
        assert_eq!((&mean["address"], &mean["provisional"]), (&json!([ONE, TWO]), &json!(false)));
        assert_eq!(
            mean["score"].as_u64(),
            Some((one["score"].as_u64().unwrap() + two["score"].as_u64().unwrap()).div_ceil(2))
        );
        let batch = server.get(&format!("/api/v2/score/batch{list}&include_factors=true")).await.json();
        assert_eq!(
            (&batch["count"], &batch["scores"][0]["score"], &batch["scores"][1]["score"]),
            (&json!(2), &one["score"], &two["score"])
        );
        assert!(batch["scores"][0]["factors"].is_array());
        let all = server.get(&format!("/api/v2/report{list}")).await.json();
        let all = &all["report"];
        assert_eq!(
            keys(all),
            ["address", "first_transaction", "last_transaction", "skipped", "skipped_total", "summary", "timestamp"]
        );
        assert_eq!(all["address"], json!([ONE, TWO]));
        let left_out = json!([{ "address": "nonsense", "reason": "invalid" }]);
        for answer in [&mean, &batch, all] {
            assert_eq!(answer["skipped"], left_out, "{answer}");
        }
        let mut expected: Vec<_> =
            SUMMARY.into_iter().chain(["count_identity_attestations", "list_identity_attestations"]).collect();
        expected.sort_unstable();
        assert_eq!(keys(&all["summary"]), expected);
        assert_transaction(&all["first_transaction"]);
        assert_transaction(&all["last_transaction"]);
    }
    server.stop().await;
}

/// So many addresses, each another one.
fn distinct(count: u64) -> String {
    (1..=count).map(|number| format!("{number:#042x}")).collect::<Vec<_>>().join(",")
}
