//! Promotion and its audit log: bounds are enforced, every step is logged, and after a crash the role is either the old
//! or the new one.

use std::{collections::BTreeSet, process::Command, time::Duration};

use assay_tests::{
    hostile::{Credit, IN_PRODUCTION, act},
    service::{Caller, KEY, Service, binary, shelf_copy},
    until::until,
};
use serde_json::{Value, json};

use super::{configured, on_devnet, run, shadow::ALWAYS};

const CHAMPION: &str = "/api/v2/admin/models/credit/champion";

/// The log of credit models, oldest first.
async fn log(api: &Caller) -> Vec<Value> {
    let (mut entries, mut page) = (Vec::new(), 1);
    loop {
        let body = api.get(&format!("/api/v2/admin/audit?page={page}&limit=100")).await.ok();
        entries.extend(body["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "credit").cloned());
        if body["entries"].as_array().unwrap().len() < 100 {
            entries.reverse();
            return entries;
        }
        page += 1;
    }
}

fn versions(entry: &Value) -> (String, Vec<&str>, Vec<&str>, String) {
    let named =
        |field: &str| entry[field].as_array().unwrap().iter().map(|model| model["version"].as_str().unwrap()).collect();
    let text = |field: &str| entry[field].as_str().unwrap_or("open").to_owned();
    (text("action"), named("from"), named("to"), text("outcome"))
}

async fn champion(api: &Caller) -> String {
    let list = api.get("/api/v2/models").await.ok();
    let champions: Vec<_> = list["models"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["kind"] == "credit" && m["role"] == "champion")
        .collect();
    assert_eq!(champions.len(), 1, "{list}");
    champions[0]["version"].as_str().unwrap().to_owned()
}

#[test]
fn every_step_is_in_the_log_with_who_and_why() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        // The first champion is logged in the background.
        until(async || log(&api).await, |log| !log.is_empty()).await;
        let added = api.post_bytes("/api/v2/admin/models", Credit::new("7.0").build()).await.expect(201);
        api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": ["7.0"], "why": "a look" })).await.ok();
        api.put(CHAMPION, &json!({ "version": "7.0", "why": "it is better" })).await.ok();
        let roles = api.post("/api/v2/admin/models/credit/rollback", &json!({ "why": "it is not" })).await.ok();
        assert_eq!((&roles["champion"], &roles["challengers"]), (&json!("1.1"), &json!([])));
        assert_eq!(
            api.post("/api/v2/admin/models/credit/rollback", &json!({})).await.expect(409)["code"],
            "no_previous"
        );
        assert_eq!(api.put(CHAMPION, &json!({ "version": "9.9" })).await.expect(404)["code"], "unknown_model");
        assert_eq!(api.delete("/api/v2/admin/models/credit/1.1").await.expect(409)["code"], "is_champion");
        assert_eq!(api.delete("/api/v2/admin/models/credit/7.0").await.status, 204);

        let log = log(&api).await;
        let steps: Vec<_> = log.iter().map(versions).collect();
        let step = |action: &str, from: &[&'static str], to: &[&'static str], end: &str| {
            (action.to_owned(), from.to_vec(), to.to_vec(), end.to_owned())
        };
        assert_eq!(
            steps,
            [
                step("appoint", &[], &["1.1"], "done"),
                step("stage", &[], &["7.0"], "done"),
                step("challenge", &[], &["7.0"], "done"),
                step("promote", &["1.1"], &["7.0"], "done"),
                step("rollback", &["7.0"], &["1.1"], "done"),
                step("remove", &["1.1"], &[], "refused"),
                step("remove", &["7.0"], &[], "done"),
            ]
        );
        assert_eq!((&log[0]["by"], &log[3]["by"]), (&json!("assay"), &log[4]["by"]));
        assert_eq!((&log[3]["why"], &log[4]["why"]), (&json!("it is better"), &json!("it is not")));
        assert_eq!(log[3]["to"][0]["digest"], added["digest"]);
        assert_eq!(api.get("/api/v2/admin/audit?page=0").await.expect(400)["detail"], "Page must be >= 1");
        let page = api.get("/api/v2/admin/audit?page=2&limit=2").await.ok();
        assert_eq!(
            (page["entries"].as_array().unwrap().len(), &page["page"], &page["limit"]),
            (2, &json!(2), &json!(2))
        );
    });
}

#[test]
fn a_promotion_beyond_its_bounds_is_refused_unless_forced_with_a_reason() {
    run(async {
        let shelf = shelf_copy();
        let bounds = format!("{ALWAYS}[promotion]\nmin_scores = 3\nmax_latency_ratio = 1000\n");
        let service = on_devnet(shelf.path(), &bounds).await;
        let api = service.keyed();
        let strange = Credit::new("7.0").score("(i32.const 999)").build();
        api.post_bytes("/api/v2/admin/models", strange).await.expect(201);
        api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": ["7.0"] })).await.ok();
        let paths = ["saver", "liquidated", "borrower"]
            .map(|wallet| format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address(wallet)));
        let [.., path] = &paths;
        // Two requests within a millisecond share one computed score with one id.
        let mut computed = BTreeSet::new();
        for path in &paths {
            let before = computed.len();
            while computed.len() < before + 4 {
                computed.insert(api.get(path).await.headers["assay-score-id"].to_str().unwrap().to_owned());
            }
        }
        api.until("/api/v2/models/credit/report", |report| report.ok()["pairs"][0]["scored"] == 12).await;
        let refused = api.put(CHAMPION, &json!({ "version": "7.0", "why": "trust me" })).await.expect(409);
        assert_eq!(refused["code"], "guarded");
        let detail = refused["detail"].as_str().unwrap();
        for figure in [
            "the PSI of its scores is",
            "the share of wallets in another range is 1.000, above the limit of 0.4 (of 3 wallets in 24 h)",
            "(it refuses 0 of the last 3 wallets with not_scored)",
        ] {
            assert!(detail.contains(figure), "{detail}");
        }
        assert_eq!(champion(&api).await, "1.1");
        let unreasoned = api.put(CHAMPION, &json!({ "version": "7.0", "force": true })).await.expect(422);
        assert_eq!(unreasoned["detail"][0]["loc"], json!(["body", "why"]));

        // By the command, which calls this server.
        let promote = |arguments: &[&str]| {
            let mut command = Command::new(binary());
            command.args([
                "model",
                "promote",
                "credit",
                "7.0",
                "--server",
                service.base(),
                "--key-from",
                "ASSAY_TEST_KEY",
            ]);
            command.args(arguments).env("ASSAY_TEST_KEY", KEY).current_dir(service.dir()).output().unwrap()
        };
        let no = promote(&[]);
        assert_eq!(no.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&no.stderr).contains("was not promoted: "), "{no:?}");
        let yes = promote(&["--force", "--why", "the board said so"]);
        assert!(yes.status.success(), "{yes:?}");
        assert_eq!(String::from_utf8_lossy(&yes.stdout).trim(), "credit: champion 7.0, challengers none");
        assert_eq!(api.get(path).await.ok()["score"], 999);

        let log = log(&api).await;
        let promotions: Vec<_> = log.iter().filter(|entry| entry["action"] == "promote").collect();
        let ends: Vec<_> = promotions
            .iter()
            .map(|entry| (entry["outcome"].as_str().unwrap(), entry["forced"].as_bool().unwrap()))
            .collect();
        assert_eq!(ends, [("refused", false), ("refused", false), ("done", true)]);
        assert!(
            promotions[2]["detail"].as_str().unwrap().contains("12 calls for 3 wallets in the shadow"),
            "{}",
            promotions[2]
        );
        assert_eq!(promotions[2]["why"], "the board said so");
    });
}

/// The server has scored as many wallets as the bounds need, and the shadow has seen none of them.
#[test]
fn a_credit_model_does_not_go_live_unseen_or_with_claims_that_are_not_shown() {
    run(async {
        let shelf = shelf_copy();
        let bounds = format!("{ALWAYS}[promotion]\nmin_scores = 3\nmax_latency_ratio = 1000\n");
        let service = on_devnet(shelf.path(), &bounds).await;
        let api = service.keyed();
        let unseen = Credit::new("7.0").score("(i32.const 999)").build();
        api.post_bytes("/api/v2/admin/models", unseen).await.expect(201);
        let ask = async |wallet: &str| {
            api.get(&format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address(wallet))).await.ok()
        };
        // Two wallets, the second twice.
        for wallet in ["saver", "borrower", "borrower"] {
            ask(wallet).await;
        }
        // Its claims are judged on any server.
        let refused = api.put(CHAMPION, &json!({ "version": "1.4" })).await.expect(409);
        let detail = refused["detail"].as_str().unwrap();
        let says = "credit 1.4 was not promoted: its card does not show that its claims hold (low, fair within 90 days";
        assert!(refused["code"] == "guarded" && detail.to_lowercase().starts_with(says), "{detail}");
        assert!(detail.contains("it refuses 0 of the last 2 wallets with not_scored"), "{detail}");
        api.put(CHAMPION, &json!({ "version": "7.0" })).await.ok();
        api.post("/api/v2/admin/models/credit/rollback", &json!({})).await.ok();

        // The third wallet. A rollback and other kinds are not asked for it.
        ask("liquidated").await;
        let refused = api.put(CHAMPION, &json!({ "version": "7.0" })).await.expect(409);
        let says = "this server has scored 3 wallets, but the shadow has seen 0 wallets of it in 24 h, and needs 3";
        assert!(refused["code"] == "guarded" && refused["detail"].as_str().unwrap().contains(says), "{refused}");
        api.put("/api/v2/admin/models/boost/champion", &json!({ "version": "1.0" })).await.ok();
        let forced = json!({ "version": "1.4", "force": true, "why": "the position counts" });
        api.put(CHAMPION, &forced).await.ok();
        assert_eq!(champion(&api).await, "1.4");
        api.post("/api/v2/admin/models/credit/rollback", &json!({})).await.ok();
        assert_eq!(champion(&api).await, "1.1");
        let log = log(&api).await;
        let detail = log[log.len() - 2]["detail"].as_str().unwrap();
        assert!(detail.contains("it refuses 0 of the last 3 wallets"), "{detail}");
        // The champion again is no change.
        api.put(CHAMPION, &json!({ "version": "1.1" })).await.ok();
    });
}

#[test]
fn an_automatic_return_is_a_step_too_and_its_cause_is_not_promoted_again_unseen() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        // What the runtime of a script leaves in memory before it traps.
        let exception =
            r#"(data (i32.const 120000) "ASSAY-PANIC:panicked at model.py:7 in score: ZeroDivisionError\00")"#;
        let bad = Credit::new("6.1").with(exception).act_when(IN_PRODUCTION, act::TRAP).build();
        api.post_bytes("/api/v2/admin/models", bad).await.expect(201);
        api.put(CHAMPION, &json!({ "version": "6.1" })).await.ok();
        let path = format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address("saver"));
        for _ in 0..3 {
            api.get(&path).await.expect(500);
        }
        assert_eq!(champion(&api).await, "1.1");
        // The role returns at once, and the log entry follows.
        let last = until(async || log(&api).await.pop().unwrap(), |last| last["action"] == "bench").await;
        assert_eq!(versions(&last), ("bench".to_owned(), vec!["6.1"], vec!["1.1"], "done".to_owned()));
        assert_eq!((&last["by"], &last["detail"]), (&json!("assay"), &json!("trap")));
        let why = last["why"].as_str().unwrap();
        assert!(why.contains("failed 3 times in a row"), "{last}");
        assert!(why.contains("panicked at model.py:7 in score: ZeroDivisionError"), "{last}");
        let again = api.put(CHAMPION, &json!({ "version": "6.1" })).await.expect(409);
        assert!(
            again["code"] == "guarded" && again["detail"].as_str().unwrap().contains("it is out of service"),
            "{again}"
        );
        api.put(CHAMPION, &json!({ "version": "6.1", "force": true, "why": "to see it once more" })).await.ok();
        assert_eq!(champion(&api).await, "6.1");
    });
}

#[test]
fn whenever_the_server_dies_the_role_is_one_or_the_other_and_the_log_says_which() {
    run(async {
        let shelf = shelf_copy();
        let config = configured(shelf.path(), "").await;
        let mut service = Service::start(&config);
        // The first champion is chosen automatically, and logged during the first requests.
        until(async || log(&service.keyed()).await, |log| !log.is_empty()).await;
        let mut answered = 0;
        // From before the step is written until after it is answered.
        for (round, delay_us) in
            [0, 300, 700, 1_200, 2_000, 3_000, 5_000, 8_000, 12_000, 20_000].into_iter().enumerate()
        {
            let api = service.keyed();
            let before = champion(&api).await;
            let target = if before == "1.1" { "1.0" } else { "1.1" };
            let step = if round % 3 == 2 && answered > 0 { "rollback" } else { "promote" };
            let request = {
                let api = api.clone();
                async move {
                    match step {
                        "promote" => {
                            api.request(reqwest::Method::PUT, CHAMPION).json(&json!({ "version": target })).send().await
                        }
                        _ => {
                            api.request(reqwest::Method::POST, "/api/v2/admin/models/credit/rollback")
                                .json(&json!({}))
                                .send()
                                .await
                        }
                    }
                }
            };
            let steps_before = log(&api).await.len();
            let asking = tokio::spawn(request);
            tokio::time::sleep(Duration::from_micros(delay_us)).await;
            let dir = service.kill();
            let done = asking.await.unwrap().is_ok_and(|answer| answer.status().is_success());
            answered += usize::from(done);

            service = Service::start_in(dir, &config, &[]);
            let api = service.keyed();
            let after = champion(&api).await;
            assert!(["1.0", "1.1"].contains(&after.as_str()), "{after}");
            let log = log(&api).await;
            assert!(log.iter().all(|entry| entry["outcome"].is_string()), "an open step after a restart: {log:?}");
            let new = &log[steps_before..];
            assert!(new.len() <= 1, "{new:?}");
            match new.first() {
                Some(entry) => {
                    let expected = if entry["outcome"] == "done" {
                        &entry["to"][0]["version"]
                    } else {
                        &entry["from"][0]["version"]
                    };
                    assert_eq!(expected, after.as_str(), "{entry}");
                }
                None => assert_eq!(after, before, "a role that moved without a word in the log"),
            }
            if done {
                assert_eq!(new[0]["outcome"], "done", "it was answered");
            }
            let last = log.iter().rev().find(|entry| entry["outcome"] == "done" && entry["action"] != "stage").unwrap();
            assert_eq!(last["to"][0]["version"], after.as_str());
            println!(
                "killed after {delay_us} us: {before} -> {after}, answered {done}, log {:?}",
                new.first().map(|entry| entry["outcome"].clone())
            );
        }
    });
}
