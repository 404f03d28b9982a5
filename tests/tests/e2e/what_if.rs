//! Reasons, what would move a score, and what a score would be.

use std::path::Path;

use assay_tests::{
    devnet::actors::address,
    python,
    service::{Caller, KEY, Service, plugins, sandbox_config},
};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{released_on_devnet, run};

fn path(wallet: &str) -> String {
    format!("/api/v2/score/address/{}", address(wallet))
}

/// The features of a served score, whose record is written directly after the answer.
async fn features(api: &Caller, id: &str) -> Value {
    api.until(&format!("/api/v2/score/{id}"), |answer| answer.status == 200).await.json()["features"].take()
}

/// What `what-if` says of each change that `score` found, beside what the score said of it.
async fn each_change(api: &Caller, path: &str, version: &str, score: &Value) -> Vec<(Value, Value)> {
    let changes = &score["changes"];
    let steps = changes["raise"].as_array().unwrap().iter().chain([&changes["lower"]]);
    let mut found = Vec::new();
    for step in steps.filter(|step| step["change"].is_object()) {
        let asked = json!({ "changes": [step["change"]] });
        let then = api.post(&format!("{path}/what-if?model_version={version}"), &asked).await.ok();
        found.push((step.clone(), then));
    }
    found
}

#[test]
fn a_score_says_why_and_what_would_help() {
    run(async {
        let service = released_on_devnet().await;
        let api = service.keyed();
        let path = path("leveraged");
        let ask = format!("{path}?model_version=1.4");
        let score =
            api.get(&format!("{ask}&include_reasons=true&include_factors=true&include_changes=true")).await.ok();
        let reasons = score["reasons"].as_array().unwrap();
        assert!((1..=4).contains(&reasons.len()), "{score}");
        assert_eq!(score["reason_codes"], "card");
        let lost: Vec<_> = reasons.iter().map(|reason| reason["points_lost"].as_u64().unwrap()).collect();
        assert!(lost.is_sorted_by(|one, next| one >= next) && !lost.contains(&0), "{lost:?}");
        let factor = |label: &Value| {
            let factors = score["factors"].as_array().unwrap();
            factors.iter().find(|factor| factor["label"] == *label).unwrap()
        };
        for reason in reasons {
            let factor = factor(&reason["factor"]);
            let lost = factor["possible"].as_i64().unwrap() - factor["points"].as_i64().unwrap();
            assert_eq!((&reason["points_possible"], &reason["points_lost"]), (&factor["possible"], &json!(lost)));
        }
        let found = each_change(&api, &path, "1.4", &score).await;
        assert!(found.len() >= 2, "{score}");
        for (step, then) in found {
            assert_eq!(then["score_now"], score["score"], "{then}");
            for field in ["score", "range", "health_factor", "buffer_percent"] {
                assert_eq!(step[field], then[field], "{step} {then}");
            }
        }

        let plain = api.get(&ask).await.ok();
        assert!(["reasons", "reason_codes", "clamp", "changes", "factors"].iter().all(|name| plain[*name].is_null()));
        let leveraged = address("leveraged");
        let batch = format!("/api/v2/score/batch/?address={leveraged}&model_version=1.4&include_reasons=true");
        assert_eq!(api.get(&batch).await.ok()["scores"][0]["reasons"], score["reasons"]);
        let compared = format!("/api/v2/models/compare/address/{leveraged}?versions=1.1,1.4&include_reasons=true");
        let compared = api.get(&compared).await.ok();
        assert_eq!(compared["versions"][1]["reasons"], score["reasons"], "{compared}");
        assert!(compared["versions"][0]["reasons"].is_array(), "{compared}");

        // Another target, and one that needs another parameter.
        let higher = api.get(&format!("{ask}&include_changes=true&target=excellent")).await.ok();
        assert_eq!(higher["changes"]["target"], 920);
        api.get(&format!("{ask}&target=excellent")).await.expect(422);
        api.get(&format!("{ask}&include_changes=true&target=best")).await.expect(422);
    });
}

#[test]
fn what_if_changes_the_snapshot_of_the_score() {
    run(async {
        let service = released_on_devnet().await;
        let api = service.keyed();
        let path = format!("{}/what-if?model_version=1.4", path("leveraged"));
        let as_it_is = api.post(&path, &json!({ "changes": [] })).await.ok();
        assert_eq!(as_it_is["score"], as_it_is["score_now"]);
        let health = as_it_is["health_factor"].as_f64().unwrap();
        let buffer = as_it_is["buffer_percent"].as_f64().unwrap();
        assert!(((1.0 - 1.0 / health) * 100.0 - buffer).abs() < 1e-9, "{as_it_is}");
        let ladder = as_it_is["ladder"].as_array().unwrap();
        let factors: Vec<_> = ladder.iter().map(|rung| rung["health_factor"].as_f64().unwrap()).collect();
        assert!(ladder.len() == 5 && factors.is_sorted_by(|one, next| one >= next), "{ladder:?}");
        let price = |answer: &Value| {
            let first = &answer["liquidation_prices"][0];
            assert!(first["token"].is_string() && first["price_usd"].is_number(), "{answer}");
            first["liquidation_price_usd"].as_f64().unwrap_or_else(|| panic!("{answer}"))
        };
        let market = as_it_is["liquidation_prices"][0]["market"].clone();
        let repaid = json!({ "changes": [{ "repay": { "market": market, "usd": 10 } }] });
        assert!(price(&api.post(&path, &repaid).await.ok()) < price(&as_it_is), "a repayment leaves more room");

        // At its liquidation price, the token leaves a health factor of 1; by its symbol and by its address.
        let first = &as_it_is["liquidation_prices"][0];
        let now = |field: &str| first[field].as_f64().unwrap();
        let percent = (now("liquidation_price_usd") / now("price_usd") - 1.0) * 100.0;
        for asset in [&first["asset"], &first["token"]] {
            let fallen = json!({ "changes": [{ "price": { "asset": asset, "percent": percent } }] });
            let fallen = api.post(&path, &fallen).await.ok();
            let there = fallen["health_factor"].as_f64().unwrap();
            assert!((there - 1.0).abs() < 1e-6, "{there} at {percent} % of {asset}");
            assert_eq!(fallen["liquidation_prices"][0]["percent_of_price"].as_f64().map(f64::round), Some(100.0));
        }
        let unheld = json!({ "changes": [{ "price": { "asset": "UNHELD", "percent": -10 } }] });
        let unheld = api.post(&path, &unheld).await.expect(422);
        assert!(unheld["detail"][0]["msg"].as_str().unwrap().contains("has the token UNHELD"), "{unheld}");

        let nowhere = json!({ "changes": [{ "repay": { "market": "1/lenderZ", "usd": 1 } }] });
        let refused = api.post(&path, &nowhere).await.expect(422);
        let said = refused["detail"][0]["msg"].as_str().unwrap();
        assert!(said.contains("no market 1/lenderZ; it has "), "{refused}");
        let spent = api.post(&path, &json!({ "changes": [{ "wait": 3 }] })).await.expect(422);
        assert!(spent["detail"][0]["msg"].as_str().unwrap().contains("unknown variant"), "{spent}");
    });
}

#[test]
fn features_of_ones_own_are_scored_as_the_wallet_is() {
    run(async {
        let service = released_on_devnet().await;
        let api = service.keyed();
        let answer = api.get(&format!("{}?model_version=1.4&include_reasons=true", path("leveraged"))).await;
        let id = answer.headers["assay-score-id"].to_str().unwrap().to_owned();
        let score = answer.ok();
        let mut line = features(&api, &id).await;
        line["id"] = json!("mine");
        let own = api.post("/api/v2/models/credit/score?model_version=1.4", &line).await.ok();
        for field in ["score", "decile", "range", "model_version", "reasons", "reason_codes"] {
            assert_eq!(own[field], score[field], "{field}: {own}");
        }
        line["markets"][0]["borowed_usd"] = json!(1);
        let wrong = api.post("/api/v2/models/credit/score", &line).await.expect(422);
        assert!(wrong["detail"][0]["msg"].as_str().unwrap().contains("borowed_usd"), "{wrong}");
        let none = api.post("/api/v2/models/credit/score?model_version=1.4", &json!({ "as_of": 1 })).await.expect(404);
        assert_eq!(none["code"], "not_scored");
    });
}

#[test]
fn a_lender_writes_a_letter_from_the_reasons() {
    run(async {
        let service = released_on_devnet().await;
        let wallet = address("leveraged").to_string();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("authors");
        let mut notebook = Command::new(python::interpreter().expect("Python"));
        notebook.arg(folder.join("lender.py")).arg(folder.join("lender.ipynb"));
        notebook.envs([("ASSAY_URL", service.base()), ("ASSAY_KEY", KEY), ("WALLET", wallet.as_str())]);
        let done = notebook.output().await.expect("Python runs");
        let [letter, error] = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(done.status.success(), "{error}");
        let ask = format!("{}?include_reasons=true&include_changes=true", path("leveraged"));
        let score = service.keyed().get(&ask).await.ok();
        for reason in score["reasons"].as_array().unwrap() {
            assert!(letter.contains(reason["applicant_text"].as_str().unwrap()), "{reason} {letter}");
        }
        assert!(letter.contains(&format!("{} on a scale", score["score"])), "{letter}");
    });
}

#[test]
fn a_sandbox_answers_what_if() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let host = Service::start_in(folder, &sandbox_config(&plugins()), &["--sandbox"]);
        let api = host.keyed();
        let path = "/api/v2/score/address/0x0000000000000000000000000000000000000003";
        let score = api.get(&format!("{path}?include_reasons=true&include_changes=true")).await.ok();
        assert!(score["reasons"].is_array(), "{score}");
        let found = each_change(&api, path, "1.1", &score).await;
        assert!(!found.is_empty(), "{score}");
        // The features of a mock are of the moment of a request, so scores may differ by a point.
        for (_, then) in found {
            let [now, before] = [&then["score_now"], &score["score"]].map(|score| score.as_i64().unwrap());
            assert!((now - before).abs() <= 1, "{then} {score}");
        }
        let own = json!({ "as_of": 1_767_225_600, "chains": [], "markets": [] });
        let own = api.post("/api/v2/models/credit/score", &own).await.ok();
        assert_eq!(own["score"], 300, "{own}");
    });
}

#[test]
fn the_command_says_what_the_server_says() {
    run(async {
        let service = released_on_devnet().await;
        let api = service.keyed();
        let answer = api
            .get(&format!("{}?model_version=1.4&include_reasons=true&include_changes=true", path("leveraged")))
            .await;
        let id = answer.headers["assay-score-id"].to_str().unwrap().to_owned();
        let score = answer.ok();
        let line = features(&api, &id).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wallets.jsonl");
        std::fs::write(&file, format!("{line}\n")).unwrap();
        let mut steps = score["changes"]["raise"].as_array().unwrap().iter().chain([&score["changes"]["lower"]]);
        let step = steps.find(|step| step["change"].is_object()).unwrap();
        let change = &step["change"];
        let done = std::process::Command::new(assay_tests::service::binary())
            .args(["features", "score", file.to_str().unwrap(), "--include-changes", "--component"])
            .arg(plugins().join("credit-1.4.wasm"))
            .args(["--what-if", &json!([change]).to_string()])
            .output()
            .unwrap();
        let said: Value = serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.stderr)));
        assert_eq!((&said["now"]["score"], &said["now"]["reasons"]), (&score["score"], &score["reasons"]));
        assert_eq!(said["changes"], score["changes"]);
        assert_eq!(said["then"]["score"], step["score"]);
    });
}
