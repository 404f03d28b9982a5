//! Any version on request, and several versions for one subject.

use assay_tests::{
    hostile::{Credit, IN_PRODUCTION, act},
    service::{plugins, shelf_copy, without_time},
};
use serde_json::{Value, json};

use super::{on_devnet, run};

fn path(wallet: &str) -> String {
    format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address(wallet))
}

#[test]
fn a_version_answers_where_it_is_asked_for() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        let path = path("borrower");
        let old = api.get(&format!("{path}?model_version=1.0&include_factors=true")).await.ok();
        let new = api.get(&format!("{path}?model_version=1.1&include_factors=true")).await.ok();
        assert_eq!((&old["model_version"], &new["model_version"]), (&json!("1.0"), &json!("1.1")));
        assert_ne!(old["factors"], new["factors"]);
        let champion = api.get(&format!("{path}?include_factors=true")).await.ok();
        assert_eq!(without_time(champion), without_time(new), "without one the champion answers");
        let boosted = api.post(&format!("{path}?model_version=1.0"), &json!({ "total_asset_usd": 50_000 })).await.ok();
        assert_eq!(boosted["model_version"], "1.0");
        assert!(boosted["score"].as_u64() > old["score"].as_u64());
        let address = old["address"].as_str().unwrap();
        let batch = api.get(&format!("/api/v2/score/batch/?address={address}&model_version=1.0")).await.ok();
        assert_eq!(
            (&batch["scores"][0]["score"], &batch["scores"][0]["model_version"]),
            (&old["score"], &json!("1.0"))
        );
        let mean = api.get(&format!("/api/v2/score/?address={address}&model_version=1.0")).await.ok();
        assert_eq!((&mean["score"], &mean["model_version"]), (&old["score"], &json!("1.0")));

        let unknown = api.get(&format!("{path}?model_version=9.9")).await.expect(404);
        assert_eq!(unknown["code"], "unknown_model");
        assert_eq!(unknown["detail"], "No credit model 9.9 is loaded; loaded are 1.0, 1.1, 1.2, 1.3, 1.4");
        let nonsense = api.get(&format!("{path}?model_version=latest")).await.expect(422);
        assert_eq!(nonsense["detail"][0]["loc"], json!(["query", "model_version"]));
        let sandbox = api.get(&format!("/api/v2/sandbox/score/address/{address}?model_version=1.0")).await.ok();
        assert_eq!(sandbox["model_version"], "1.1", "the sandbox has the champion's version, whatever is asked for");
    });
}

/// Everything an answer has, without the claims.
fn keys(answer: &Value) -> Vec<&str> {
    answer.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_score_says_what_its_model_claims_of_such_a_wallet() {
    run(async {
        // The released shelf has the cards.
        let service = on_devnet(&plugins(), "").await;
        let api = service.keyed();
        let explained = async |wallet: &str, version: &str| {
            api.get(&format!("{}?model_version={version}&include_factors=true", path(wallet))).await.ok()
        };
        // 1.1 claims nothing: its answer has the fields of the contract and no other.
        let old = explained("leveraged", "1.1").await;
        let contract = ["address", "credit_events_coverage", "decile", "factors", "model_version", "provisional"];
        assert_eq!(keys(&old), [&contract[..], &["range", "score", "timestamp"]].concat());
        let report = format!("/api/v2/report/address/{}", assay_tests::devnet::actors::address("leveraged"));
        assert_eq!(keys(&api.get(&report).await.ok()["score"]), ["classification", "value"]);

        let owes = explained("leveraged", "1.3").await;
        let claims = owes["claims"].as_array().unwrap_or_else(|| panic!("{owes}"));
        let days: Vec<_> = claims.iter().map(|claim| claim["horizon_days"].as_u64().unwrap()).collect();
        assert_eq!((days, &owes["no_claim"]), (vec![90, 30], &Value::Null), "{owes}");
        let models = api.get("/api/v2/models").await.ok();
        let listed = models["models"].as_array().unwrap().iter().find(|model| model["version"] == "1.3").unwrap();
        let rates = listed["claims"]["rates"].as_array().unwrap();
        let rate = rates.iter().find(|rate| rate["range"] == owes["range"]).unwrap();
        for field in ["low", "estimate", "high"] {
            assert_eq!(claims[0][field], rate[field], "the component and the card claim the same: {owes}");
        }
        assert!(claims[0]["estimate"].as_f64() >= claims[1]["estimate"].as_f64(), "{owes}");
        assert!(claims[0]["population"].as_str().unwrap().starts_with("wallets that owe at least $10"), "{owes}");
        let plain = api.get(&format!("{}?model_version=1.3", path("leveraged"))).await.ok();
        assert_eq!((&plain["claims"], &plain["score"]), (&owes["claims"], &owes["score"]));
        // 1.4 claims by regime, and the list of models has every horizon.
        let regime = explained("leveraged", "1.4").await;
        assert_eq!(regime["claims"][0]["condition"], "if ether does not fall by 30 % within the horizon", "{regime}");
        let listed = models["models"].as_array().unwrap().iter().find(|model| model["version"] == "1.4").unwrap();
        let days: Vec<_> = listed["all_claims"].as_array().unwrap().iter().map(|one| &one["horizon_days"]).collect();
        assert_eq!((days, &listed["claims"]), (vec![&json!(90), &json!(30), &json!(90)], &Value::Null));
        let batch = api
            .get(&format!(
                "/api/v2/score/batch/?address={}&model_version=1.3&include_factors=true",
                owes["address"].as_str().unwrap()
            ))
            .await
            .ok();
        assert_eq!(batch["scores"][0]["claims"], owes["claims"]);

        let no_claim = async |wallet: &str, version: &str, words: &str| {
            let answer = explained(wallet, version).await;
            let why = answer["no_claim"].as_str().unwrap_or_else(|| panic!("{answer}"));
            assert!(why.contains(words) && answer["claims"].is_null(), "{answer}");
        };
        no_claim("saver", "1.3", "Rates are claimed only for wallets that owe at least $10").await;
        no_claim("leveraged", "1.2", "only in words").await;
        let boosted = format!("{}?model_version=1.3&include_factors=true", path("leveraged"));
        let boosted = api.post(&boosted, &json!({ "total_asset_usd": 50_000 })).await.ok();
        assert_eq!(boosted["no_claim"], "No rate is claimed for a score with off-chain assets.");

        api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.3", "why": "a test", "force": true }))
            .await
            .ok();
        let score = &api.get(&report).await.ok()["score"];
        assert_eq!((&score["claims"], &score["value"]), (&owes["claims"], &owes["score"]));
    });
}

#[test]
fn a_wallet_that_a_model_refuses_is_not_scored_and_has_a_report() {
    run(async {
        let service = on_devnet(&plugins(), "").await;
        let api = service.keyed();
        // It owns tokens and never lent: 1.1 scores it, and 1.4 has nothing to judge.
        let holder = path("holder");
        assert_eq!(api.get(&holder).await.ok()["model_version"], "1.1");
        let refused = api.get(&format!("{holder}?model_version=1.4")).await.expect(404);
        assert_eq!(refused["code"], "not_scored");
        let why = refused["detail"].as_str().unwrap().to_owned();
        assert!(why.starts_with("The model does not score this address: it has no on-chain activity"), "{why}");
        let nobody = "/api/v2/score/address/0x00000000000000000000000000000000000a11ce?model_version=1.4";
        let absent = api.get(nobody).await.expect(404);
        assert_eq!(absent["detail"], "Address not found or has no on-chain activity");
        assert_ne!(absent["code"], "not_scored");
        let [address, known] = ["holder", "leveraged"].map(assay_tests::devnet::actors::address);
        let batch = format!("/api/v2/score/batch/?address={address},{known}&model_version=1.4");
        let batch = api.get(&batch).await.ok();
        assert_eq!((&batch["count"], &batch["skipped"][0]["reason"]), (&json!(1), &json!("not_scored")), "{batch}");

        let report = format!("/api/v2/report/address/{address}");
        assert!(api.get(&report).await.ok()["score"]["value"].is_u64());
        api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.4", "why": "a test", "force": true }))
            .await
            .ok();
        let answer = api.get(&report).await.ok();
        let expected =
            json!({ "value": null, "classification": null, "refused": { "code": "not_scored", "reason": why } });
        assert_eq!(answer["score"], expected);
        assert!(answer["assets"]["total_value_usd"].as_f64() > Some(0.0), "{answer}");
    });
}

#[test]
fn a_version_out_of_service_is_a_conflict_with_its_reason() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let (api, path) = (service.keyed(), path("borrower"));
        let bad = Credit::new("6.1").act_when(IN_PRODUCTION, act::TRAP).build();
        api.post_bytes("/api/v2/admin/models", bad).await.expect(201);
        for _ in 0..3 {
            assert_eq!(api.get(&format!("{path}?model_version=6.1")).await.expect(500)["code"], "trap");
        }
        let benched = api.get(&format!("{path}?model_version=6.1")).await.expect(409);
        assert_eq!(benched["code"], "benched");
        assert!(benched["detail"].as_str().unwrap().contains("failed 3 times in a row"), "{benched}");
        assert_eq!(api.get(&path).await.ok()["model_version"], "1.1");

        std::fs::write(shelf.path().join("loop.wasm"), Credit::new("6.2").act(act::LOOP).build()).unwrap();
        let refused = api.until(&format!("{path}?model_version=6.2"), |answer| answer.status == 409).await.json();
        assert_eq!(refused["code"], "not_loaded");
        assert!(refused["detail"].as_str().unwrap().contains("within 20 ms"), "{refused}");
    });
}

#[test]
fn versions_are_compared_on_the_very_same_features() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        let address = assay_tests::devnet::actors::address("borrower");
        // The score depends on the time of the features, so two different readings would be noticed.
        let clock = "(i32.add (i32.const 300) (i32.wrap_i64 (i64.rem_u (local.get $as_of) (i64.const 701))))";
        for model in [
            Credit::new("7.1").score(clock),
            Credit::new("7.2").score(clock),
            Credit::new("7.3").act_when(IN_PRODUCTION, act::TRAP),
        ] {
            api.post_bytes("/api/v2/admin/models", model.build()).await.expect(201);
        }
        let compare = |versions: &str| format!("/api/v2/models/compare/address/{address}?versions={versions}");
        let body = api.get(&compare("1.1,1.0,7.1,7.2,7.3,9.9")).await.ok();
        let versions = body["versions"].as_array().unwrap();
        assert_eq!(body["count"], 6);
        for (index, version) in [(0, "1.1"), (1, "1.0")] {
            let served = api.get(&format!("{}?model_version={version}", path("borrower"))).await.ok();
            for field in ["score", "decile", "range"] {
                assert_eq!(versions[index][field], served[field], "{version} {field}");
            }
            let fuel = versions[index]["fuel"].as_u64().unwrap();
            assert!(fuel > 1_000 && versions[index]["latency_us"].as_f64().unwrap() > 0.0, "{}", versions[index]);
        }
        let (first, second) = (&versions[0], &versions[1]);
        assert_eq!(first["difference"], Value::Null);
        let whole = |value: &Value| value.as_i64().unwrap();
        assert_eq!(whole(&second["difference"]["score"]), whole(&second["score"]) - whole(&first["score"]));
        for factor in second["difference"]["factors"].as_array().unwrap() {
            let points = |of: &Value| {
                let all = of["factors"].as_array().unwrap().iter().filter(|other| other["label"] == factor["label"]);
                all.map(|other| whole(&other["points"])).sum::<i64>()
            };
            assert_eq!(whole(&factor["points"]), points(second) - points(first), "{factor}");
        }
        assert_eq!(versions[2]["score"], versions[3]["score"], "both read one clock");
        assert_eq!((&versions[4]["score"], &versions[4]["error"]["code"]), (&Value::Null, &json!("trap")));
        assert_eq!(versions[5]["error"]["code"], "unknown_model");

        let again = api.get(&compare("1.1,1.0")).await.ok();
        for index in 0..2 {
            assert_eq!(again["versions"][index]["fuel"], versions[index]["fuel"], "fuel is the same every time");
        }
        api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": ["1.0"] })).await.ok();
        let rivals = api.get(&format!("/api/v2/models/compare/address/{address}")).await.ok();
        let named: Vec<_> =
            rivals["versions"].as_array().unwrap().iter().map(|version| version["version"].as_str().unwrap()).collect();
        assert_eq!(named, ["1.1", "1.0"], "champion and challengers where none is named");
        assert_eq!(api.get(&compare("9.9")).await.expect(404)["code"], "unknown_model");
        assert_eq!(
            api.get(&compare("1.0,1.1,1.2,1.3,1.4,1.5,1.6,1.7,1.8")).await.expect(422)["detail"][0]["loc"],
            json!(["query", "versions"])
        );
    });
}
