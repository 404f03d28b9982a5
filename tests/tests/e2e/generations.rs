//! Components of wit/v1 and wit/v2 side by side on one server: answers, words, comparison, shadow, promotion, replay
//! and backtest.

use std::process::Command;

use assay_tests::{
    hostile::{Credit, IN_PRODUCTION, act},
    service::{KEY, Service, binary, shelf_copy},
    until::until,
};
use serde_json::json;

use super::{
    on_devnet, run,
    shadow::{ALWAYS, reported},
};

const CHAMPION: &str = "/api/v2/admin/models/credit/champion";

fn address() -> String {
    assay_tests::devnet::actors::address("long-debtor").to_string()
}

/// `assay` with these arguments, on the configuration of `service`.
fn assay(service: &Service, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(binary());
    command.args(arguments).arg("--config").arg(service.dir().join("assay.toml")).env("ASSAY_API_KEY", KEY);
    let output = tokio::task::block_in_place(|| command.output()).expect("assay runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("text"))
}

#[test]
fn models_of_both_contracts_serve_compare_shadow_replay_and_follow_one_another() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), ALWAYS).await;
        let (api, path) = (service.keyed(), format!("/api/v2/score/address/{}", address()));
        // The words of 8.2 fail in production.
        for model in
            [Credit::v2("8.1").score("(i32.const 810)"), Credit::v2("8.2").explain_when(IN_PRODUCTION, act::TRAP)]
        {
            api.post_bytes("/api/v2/admin/models", model.build()).await.expect(201);
        }
        let worded = api.get(&format!("{path}?model_version=8.1&include_factors=true")).await.ok();
        assert_eq!((&worded["score"], &worded["factors"][0]["label"]), (&json!(810), &json!("Made by hand")));
        for _ in 0..4 {
            let plain = api.get(&format!("{path}?model_version=8.2")).await.ok();
            assert_eq!((&plain["score"], plain.get("factors")), (&json!(700), None));
        }
        let failed = api.get(&format!("{path}?model_version=8.2&include_factors=true")).await.expect(500);
        assert_eq!(failed["code"], "trap", "its words are asked for where they are shown, and only there");

        let compare = format!("/api/v2/models/compare/address/{}?versions=1.1,8.1,8.2", address());
        let compared = api.get(&compare).await.ok();
        let (old, new) = (&compared["versions"][0], &compared["versions"][1]);
        assert_eq!((&new["factors"][0]["points"], &new["factors"][0]["possible"]), (&json!(10), &json!(50)));
        let gap = new["difference"]["score"].as_i64().unwrap();
        assert_eq!(gap, new["score"].as_i64().unwrap() - old["score"].as_i64().unwrap());
        assert_eq!(compared["versions"][2]["error"]["code"], "trap", "a comparison shows the factors");

        shadowed(&service, &path).await;
        promoted(&service, &path).await;
    });
}

/// 8.1 challenges. Its points are reported, and it is never asked for words.
async fn shadowed(service: &Service, path: &str) {
    let api = service.keyed();
    api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": ["8.1"] })).await.ok();
    let scored = async || {
        api.get(path).await.ok();
        reported(&api, "8.1").await
    };
    let pair = until(scored, |pair| pair["scored"].as_u64() > Some(2)).await;
    let drift = pair["factors"].as_array().unwrap().iter().find(|factor| factor["label"] == "Made by hand");
    assert_eq!(drift.unwrap()["challenger_points"], 10.0, "{pair}");
}

/// 8.1 becomes champion. Its records replay, and a backtest compares it on their features.
async fn promoted(service: &Service, path: &str) {
    let api = service.keyed();
    api.put(CHAMPION, &json!({ "version": "8.1" })).await.ok();
    let (plain, worded) = (api.get(path).await, api.get(&format!("{path}?include_factors=true")).await);
    let id = |answer: &assay_tests::service::Answer| answer.headers["assay-score-id"].to_str().unwrap().to_owned();
    let ids = [id(&plain), id(&worded)];
    assert_eq!((&plain.ok()["model_version"], &worded.ok()["score"]), (&json!("8.1"), &json!(810)));
    let mut lines = String::new();
    for id in &ids {
        // The record is written directly after the answer.
        let record = api.until(&format!("/api/v2/score/{id}"), |answer| answer.status == 200).await.json();
        assert_eq!(record["factors"][0]["points"], 10, "{record}");
        let market = &record["features"]["markets"][0];
        assert_eq!(
            (&market["events_coverage"], &market["position"]["coverage"]),
            (&json!("complete"), &json!("complete"))
        );
        assert!(market["position"]["health_factor"].as_f64().unwrap() > 1.0, "{market}");
        lines.push_str(&format!("{}\n", record["features"]));
        let (same, text) = assay(service, &["replay", id, "--server", service.base()]);
        assert!(same && text.contains("the same"), "{text}");
    }
    let features = service.dir().join("w.jsonl");
    std::fs::write(&features, lines).unwrap();
    let file = features.to_str().unwrap();
    let (done, text) = assay(service, &["backtest", "--models", "1.1,8.1", "--features", file]);
    assert!(done, "{text}");
    let roles = api.post("/api/v2/admin/models/credit/rollback", &json!({})).await.ok();
    assert_eq!(roles["champion"], "1.1");
}
