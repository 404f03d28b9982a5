//! Challengers in the shadow: they change no answer, their results are reported, and a failing challenger goes out of
//! service with a reason.

use assay_tests::{
    hostile::{Credit, IN_PRODUCTION, act},
    service::{Caller, Service, shelf_copy, without_time},
    until::until,
};
use serde_json::{Value, json};

use super::{configured, on_devnet, run};

/// Every request reads and computes again, and each is in the sample.
pub const ALWAYS: &str =
    "\n[scoring]\ncache_ms = 1\nincomplete_cache_ms = 1\nshadow_share = 1.0\nshadow_budget = 1.0\n";

const WALLETS: [&str; 3] = ["saver", "borrower", "liquidated"];

fn path(wallet: &str) -> String {
    format!("/api/v2/score/address/{}?include_factors=true", assay_tests::devnet::actors::address(wallet))
}

/// The answers for every wallet, without times.
async fn said(api: &Caller) -> Vec<Value> {
    let mut answers = Vec::new();
    for wallet in WALLETS {
        answers.push(without_time(api.get(&path(wallet)).await.ok()));
    }
    answers
}

async fn challenge(api: &Caller, versions: &[&str]) {
    api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": versions })).await.ok();
}

/// What the report says of a challenger; null while it says nothing.
pub(super) async fn reported(api: &Caller, challenger: &str) -> Value {
    let report = api.get("/api/v2/models/credit/report?window=24h").await.ok();
    let pairs = report["pairs"].as_array().unwrap();
    pairs.iter().find(|pair| pair["challenger"]["version"] == challenger).cloned().unwrap_or_default()
}

#[test]
fn a_shadow_changes_no_answer_and_is_reported_also_after_a_restart() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), ALWAYS).await;
        let api = service.keyed();
        let before = said(&api).await;
        assert_eq!(api.get("/api/v2/models/credit/report").await.ok()["pairs"], json!([]), "nobody challenges yet");
        let constant = Credit::new("7.0").score("(i32.const 901)").build();
        api.post_bytes("/api/v2/admin/models", constant).await.expect(201);
        challenge(&api, &["1.0", "7.0"]).await;
        for _ in 0..10 {
            assert_eq!(said(&api).await, before);
        }
        let pair = until(async || reported(&api, "7.0").await, |pair| pair["scored"] == 30).await;
        for field in ["seen", "sampled"] {
            assert_eq!(pair[field], 30, "{pair}");
        }
        for field in ["dropped", "refused", "failed"] {
            assert_eq!(pair[field], 0, "{pair}");
        }
        // Ten calls for each of three wallets.
        assert_eq!((&pair["wallets"], &pair["calls"]), (&json!(3), &json!(30)));
        assert_eq!(pair["challenger_scores"]["histogram"], json!([[901, 3]]));
        let served: Vec<u64> = before.iter().map(|answer| answer["score"].as_u64().unwrap()).collect();
        let mean = served.iter().sum::<u64>() as f64 / 3.0;
        assert!((pair["champion_scores"]["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{pair}");
        assert!((pair["difference"]["mean"].as_f64().unwrap() - (901.0 - mean)).abs() < 1e-9);
        assert_eq!(pair["spearman"], Value::Null, "a constant has no order");
        assert!(
            pair["psi"].as_f64().unwrap() > 0.25 && pair["psi_band"].is_null(),
            "three wallets are no evidence: {pair}"
        );
        let moved: u64 = pair["range_migration"].as_array().unwrap().iter().map(|row| row[3].as_u64().unwrap()).sum();
        assert_eq!(moved, 3, "901 is very_good, whatever the champion says");
        let drift =
            pair["factors"].as_array().unwrap().iter().find(|factor| factor["label"] == "Made by hand").unwrap();
        assert_eq!((&drift["champion_points"], &drift["challenger_points"]), (&Value::Null, &json!(10.0)));
        for cost in ["champion_cost", "challenger_cost"] {
            for figure in ["latency_us_p50", "latency_us_p99", "fuel_p50", "fuel_p99"] {
                assert!(pair[cost][figure].as_f64().unwrap() > 0.0, "{cost} {figure}: {pair}");
            }
        }
        let older = until(async || reported(&api, "1.0").await, |pair| pair["scored"] == 30).await;
        assert!(older["spearman"].as_f64().is_some(), "{older}");
        for kind in ["boost", "sybil", "sandbox"] {
            assert_eq!(api.get(&format!("/api/v2/models/{kind}/report")).await.ok()["count"], 0);
        }
        assert_eq!(
            api.get("/api/v2/models/credit/report?window=yesterday").await.expect(422)["detail"][0]["loc"],
            json!(["query", "window"])
        );
        assert_eq!(api.get("/api/v2/models/fortune/report").await.expect(404)["code"], "unknown_kind");

        let config = configured(shelf.path(), ALWAYS).await;
        let service = Service::start_in(service.kill(), &config, &[]);
        let api = service.keyed();
        assert_eq!(said(&api).await, before);
        until(async || reported(&api, "7.0").await, |pair| pair["scored"] == 33).await;
    });
}

#[test]
fn a_challenger_that_misbehaves_changes_nothing_and_is_benched_with_its_reason() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), ALWAYS).await;
        let api = service.keyed();
        let before = said(&api).await;
        let resident = service.resident();
        for (version, harm, code) in [
            ("6.1", act::TRAP, "trap"),
            ("6.2", act::LOOP, "deadline"),
            ("6.3", act::BOMB, "memory_limit"),
            ("6.4", act::RECURSE, "stack_overflow"),
        ] {
            let model = Credit::new(version).act_when(IN_PRODUCTION, harm).build();
            api.post_bytes("/api/v2/admin/models", model).await.expect(201);
            challenge(&api, &[version, "1.0"]).await;
            let listed = async || {
                assert_eq!(said(&api).await, before, "{version}");
                let list = api.get("/api/v2/models").await.ok();
                list["models"].as_array().unwrap().iter().find(|model| model["version"] == version).cloned().unwrap()
            };
            let benched = until(listed, |model| model["state"] == "benched").await;
            assert_eq!((&benched["role"], &benched["reason"]["code"]), (&json!("challenger"), &json!(code)));
            assert!(benched["reason"]["message"].as_str().unwrap().contains("failed 3 times in a row"), "{benched}");
            let pair = until(async || reported(&api, version).await, |pair| pair["failed"] == 3).await;
            let [failure] = &pair["failures"].as_array().unwrap()[..] else { panic!("{pair}") };
            assert_eq!((&failure["code"], &failure["count"]), (&json!(code), &json!(3)), "{pair}");
            assert!(failure["message"].as_str().unwrap().len() > 5, "{failure}");
            // The log entry follows.
            let last = async || api.get("/api/v2/admin/audit?limit=1").await.ok()["entries"][0].take();
            let of_it = |last: &Value| last["action"] == "bench" && last["from"][0]["version"] == version;
            let last = until(last, of_it).await;
            assert_eq!((&last["by"], &last["outcome"]), (&json!("assay"), &json!("done")), "{last}");
            assert_eq!(last["to"], json!([]));
            assert_eq!(
                api.get(&format!("{}&model_version={version}", path("saver"))).await.expect(409)["code"],
                "benched"
            );
        }
        let roles = api.get("/api/v2/models").await.ok();
        let champion = roles["models"]
            .as_array()
            .unwrap()
            .iter()
            .find(|model| model["role"] == "champion" && model["kind"] == "credit")
            .unwrap();
        assert_eq!((&champion["version"], &champion["failures"]), (&json!("1.1"), &json!(0)));
        let grown = service.resident().saturating_sub(resident) >> 20;
        println!("{grown} MiB more than before");
        assert!(grown < 128, "{grown} MiB more than before");
    });
}
