//! The watches of a sandbox follow a script, on the clock that the test sets.

use assay_tests::{
    receiver::{Consent, Receiver},
    service::{Caller, Service, answer, plugins, sandbox_config},
};
use axum::http::{HeaderMap, HeaderValue};
use reqwest::Method;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use super::{delivery::allowing, kinds, path, run};

const WATCHED: &str = "0x0000000000000000000000000000000000000301";
const OWN: &str = "0x0000000000000000000000000000000000000a01";
const CLOCK: &str = "/api/v2/sandbox/clock";

/// A wallet that a tester scripted: it is at risk, and then has repaid.
const SCENARIOS: &str = "[[scenarios]]\nid = \"repays\"\naddress = \"0x0000000000000000000000000000000000000a01\"\n\
    [[scenarios.watch]]\nat_s = 0\nhealth_factor = 1.5\ndebt_usd = 900\n\
    [[scenarios.watch]]\nat_s = 30\nhealth_factor = 1.1\ndebt_usd = 900\n\
    [[scenarios.watch]]\nat_s = 3_600\n";

fn sandbox(more: &str, arguments: &[&str]) -> Service {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("scenarios.toml");
    std::fs::write(&file, SCENARIOS).expect("the scenarios are written");
    let config = format!("{}{more}", sandbox_config(&plugins()));
    let file = file.display().to_string();
    let arguments: Vec<&str> = ["--sandbox"]
        .into_iter()
        .chain(arguments.iter().map(|one| if *one == "FILE" { file.as_str() } else { *one }))
        .collect();
    Service::start_in(dir, &config, &arguments)
}

/// Watches the health factor and the liquidations of `wallet`.
async fn watched(api: &Caller, wallet: &str, more: Value) -> Value {
    let mut body = json!({
        "address": wallet,
        "when": [{ "measure": "health_factor", "below": 1.3, "clear_above": 1.4 }, { "measure": "liquidation" }],
    });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    api.post("/api/v2/watches", &body).await.expect(201)
}

async fn set(api: &Caller, seconds: u64) -> Value {
    let set = api.put(CLOCK, &json!({ "seconds": seconds })).await.ok();
    assert_eq!(set["seconds"], seconds);
    set
}

async fn events(api: &Caller, watch: &Value) -> Vec<Value> {
    let found = api.get(&format!("{}/events", path(watch))).await.ok();
    found["events"].as_array().expect("events").clone()
}

/// Everything that happens to the wallet, after each time of the clock.
const STORY: [(u64, &[&str]); 9] = [
    (0, &[]),
    (60, &["watch.crossed"]),
    (120, &["watch.cleared"]),
    (180, &[]),
    // One of each measure.
    (780, &["watch.stale", "watch.stale"]),
    (900, &["watch.current", "watch.current"]),
    (960, &["watch.crossed"]),
    (1_020, &["watch.retracted"]),
    (1_080, &["watch.liquidated"]),
];

#[test]
fn a_watch_crosses_clears_goes_stale_is_retracted_and_liquidated_when_the_test_says_so() {
    run(async {
        let receiver = Receiver::start(Consent::Returns).await;
        let service = sandbox(&allowing(&[&receiver]), &[]);
        let api = service.keyed();
        let watch = watched(&api, WATCHED, json!({ "url": receiver.url })).await;
        let mut told = Vec::new();
        for (seconds, new) in STORY {
            assert_eq!(set(&api, seconds).await["watches"], 1);
            // The events are there when the clock answers: nothing is waited for.
            told.extend(new.iter().copied());
            let found = events(&api, &watch).await;
            assert_eq!(kinds(&found), told, "at {seconds} s");
            // The same time again says nothing new.
            set(&api, seconds).await;
            assert_eq!(events(&api, &watch).await, found, "at {seconds} s");
        }
        let found = events(&api, &watch).await;
        let crossed = &found[6];
        assert_eq!(
            (&crossed["type"], &found[7]["data"]["retracts"]),
            (&json!("watch.crossed"), &crossed["data"]["id"])
        );
        let liquidation = &found[8]["data"]["liquidation"];
        assert_eq!((&liquidation["usd"], &liquidation["block"]["number"]), (&json!(2_000.0), &json!(20_000_090)));
        assert!(liquidation["transaction_hash"].is_string());
        // A public package takes each delivery.
        let secret = watch["secret"].as_str().expect("a secret");
        let taken = receiver.received(found.len()).await;
        for (delivery, event) in taken.iter().zip(&found) {
            let mut headers = HeaderMap::new();
            for (name, value) in [
                ("webhook-id", delivery.id.clone()),
                ("webhook-timestamp", delivery.timestamp.clone()),
                ("webhook-signature", delivery.signatures.join(" ")),
            ] {
                headers.insert(name, HeaderValue::try_from(value).expect("a header"));
            }
            Webhook::new(secret)
                .and_then(|hook| hook.verify(delivery.text.as_bytes(), &headers))
                .expect("it is signed");
            assert_eq!((&delivery.body["type"], &delivery.body["data"]["id"]), (&event["type"], &event["data"]["id"]));
        }
    });
}

#[test]
fn the_answer_to_a_new_watch_and_to_a_change_has_the_values_of_the_first_evaluation() {
    run(async {
        let service = sandbox("", &[]);
        let api = service.keyed();
        let created = watched(&api, WATCHED, json!({})).await;
        let values = |watch: &Value| watch["when"][0]["values"].clone();
        let health = |watch: &Value| watch["when"][0]["values"][0]["value"].as_f64();
        assert_eq!(health(&created["watch"]), Some(1.8), "{created}");
        assert!(created["secret"].is_string() && created["watch"]["evaluated_at"].is_string(), "{created}");
        assert_eq!(values(&created["watch"]), values(&api.get(&path(&created)).await.ok()));
        // Other bounds begin anew, and are evaluated before the answer.
        set(&api, 60).await;
        let change = json!({ "when": [{ "measure": "health_factor", "below": 1.1 }], "rotate_secret": true });
        let changed = answer(api.request(Method::PATCH, &path(&created)).json(&change)).await.ok();
        assert_eq!(health(&changed["watch"]), Some(1.2), "{changed}");
        assert!(changed["secret"].is_string() && changed["secret"] != created["secret"]);
        assert_eq!(values(&changed["watch"]), values(&api.get(&path(&created)).await.ok()));
    });
}

#[test]
fn the_story_is_the_same_for_each_key_and_a_skipped_time_is_not_seen() {
    run(async {
        let more = "[[access.keys]]\nname = \"desk\"\nkey = \"assay_watches_desk\"\nscopes = [\"read\"]\n";
        let service = sandbox(more, &[]);
        let (api, desk) = (service.keyed(), service.with_key("assay_watches_desk"));
        let (one, other) = (watched(&api, WATCHED, json!({})).await, watched(&desk, WATCHED, json!({})).await);
        set(&api, 60).await;
        assert_eq!((events(&api, &one).await.len(), events(&desk, &other).await.len()), (1, 0));
        set(&desk, 130).await;
        assert!(events(&desk, &other).await.is_empty(), "the crossing came and went between two evaluations");
        // Back only without watches.
        let refused = api.put(CLOCK, &json!({ "seconds": 10 })).await.expect(409);
        assert_eq!(refused["code"], "clock_behind");
        assert_eq!(api.delete(&path(&one)).await.status, 204);
        set(&api, 0).await;
        let watch = watched(&api, WATCHED, json!({})).await;
        set(&api, 60).await;
        assert_eq!(kinds(&events(&api, &watch).await), ["watch.crossed"]);
    });
}

#[test]
fn a_tester_scripts_wallets_of_its_own_and_others_are_refused() {
    run(async {
        let service = sandbox("", &["--scenarios", "FILE"]);
        let api = service.keyed();
        let more = json!({ "when": [
            { "measure": "health_factor", "below": 1.3 }, { "measure": "debt_usd", "above": 800 },
            { "measure": "score", "below": 400 }, { "measure": "coverage", "below": "complete" },
        ] });
        let watch = watched(&api, OWN, more).await;
        for seconds in [0, 30, 3_600] {
            set(&api, seconds).await;
        }
        let found = events(&api, &watch).await;
        assert_eq!(kinds(&found), ["watch.crossed", "watch.cleared", "watch.cleared"]);
        assert_eq!(found[1]["data"]["after"]["value"], Value::Null, "no debt");
        for wallet in ["0x0000000000000000000000000000000000000001", "vitalik.eth"] {
            let body = json!({ "address": wallet, "when": [{ "measure": "liquidation" }] });
            assert_eq!(api.post("/api/v2/watches", &body).await.expect(409)["code"], "sandbox", "{wallet}");
        }
        assert_eq!(api.post("/api/v2/watches/groups", &json!({ "name": "Mine" })).await.status.as_u16() / 100, 4);
        let wrong = api.put(CLOCK, &json!({ "seconds": "soon" })).await;
        assert_eq!(wrong.status, 422, "{}", wrong.text);
        // Only a sandbox has a clock.
        let real = Service::sandbox(&plugins());
        assert_eq!(real.keyed().put(CLOCK, &json!({ "seconds": 1 })).await.expect(409)["code"], "no_clock");
        let paused = answer(api.request(Method::PATCH, &path(&watch)).json(&json!({ "paused": true }))).await;
        assert_eq!(paused.status, 200);
        set(&api, 4_000).await;
    });
}
