//! The scenarios of a tester's file: the one that the manual prints, and what is wrong with others.

use std::{path::Path, process::Command};

use assay_tests::service::{Service, binary, plugins, sandbox_config};
use serde_json::json;

use super::{listed, report, score};
use crate::reputation::{ended, subject};

/// The file in the manual.
fn printed() -> &'static str {
    let manual = include_str!("../../../../host/docs/sandbox.md");
    let (_, rest) = manual.split_once("```toml\n").expect("a file");
    rest.split("```").next().expect("its end")
}

fn with_scenarios(file: &str) -> Service {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("scenarios.toml");
    std::fs::write(&path, file).expect("a file");
    let path = path.to_str().expect("text").to_owned();
    Service::start_in(dir, &sandbox_config(&plugins()), &["--sandbox", "--scenarios", &path])
}

#[tokio::test]
async fn the_file_of_the_manual_does_what_it_says() {
    let service = with_scenarios(printed());
    let api = service.keyed();
    let (at, agents) = listed(&api).await;
    let scored = score(&api, &format!("{}?include_factors=true", at["good-customer"])).await.ok();
    assert_eq!((&scored["score"], &scored["range"]), (&json!(812), &json!("good")));
    let factors = scored["factors"].as_array().expect("factors");
    let repaid = factors.iter().find(|factor| factor["label"] == "Repayment History").expect("the factor");
    assert_eq!((&repaid["points"], &repaid["rating"]), (&json!(180), &json!("excellent")));
    assert_eq!(repaid["description"], "Twelve loans, all of them repaid.");

    assert_eq!(score(&api, &at["worst-tenth"]).await.ok()["decile"], 1);
    assert_eq!(score(&api, &at["fair"]).await.ok()["range"], "fair");
    for _ in 0..2 {
        assert_eq!(score(&api, &at["flaky"]).await.expect(503)["code"], "busy");
    }
    assert_eq!(score(&api, &at["flaky"]).await.ok()["score"], 700);
    let limited = score(&api, &at["limited"]).await;
    assert_eq!(limited.headers["retry-after"], "5");
    limited.expect(429);
    assert_eq!(score(&api, &at["broken-model"]).await.expect(500)["code"], "deadline");
    let unread = report(&api, &at["no-optimism"]).await;
    assert!(unread["unread"][0].as_str().is_some_and(|said| said.contains("chain 10")), "{}", unread["unread"]);
    assert_eq!(report(&api, &at["nobody"]).await["score"]["inactive"], true);
    let hurried = api.request(reqwest::Method::GET, &format!("/api/v2/score/address/{}", at["slow-answer"]));
    let hurried = hurried.timeout(std::time::Duration::from_millis(500)).send().await;
    assert!(hurried.is_err_and(|error| error.is_timeout()));

    let path = format!("/api/v2/agents/{}/reputation", agents["upload-fails"]);
    let accepted = api.post(&path, &json!({ "address": subject(1) })).await.expect(202);
    assert_eq!(ended(&api, accepted["status_url"].as_str().expect("a path")).await["status"], "failed");
    let path = format!("/api/v2/agents/{}/reputation", agents["paid-agent"]);
    service.anonymous().post(&path, &json!({})).await.expect(402);
    // The paths of the sandbox answer plainly, and the generator's scenarios are still there.
    let plain = api.get(&format!("/api/v2/sandbox/score/address/{}", at["good-customer"])).await.ok();
    assert_ne!(plain["score"], scored["score"]);
    assert_eq!(score(&api, &at["failed-pool"]).await.ok()["credit_events_coverage"], "failed");
}

fn refused(folder: &Path, file: &str) -> String {
    std::fs::write(folder.join("mine.toml"), file).expect("a file");
    let mut serve = Command::new(binary());
    let serve = serve.current_dir(folder).args(["serve", "--sandbox", "--scenarios", "mine.toml"]);
    let done = serve.output().expect("the command");
    assert_eq!(done.status.code(), Some(2));
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn every_fault_of_a_file_is_told_at_once_with_its_line_and_the_choices() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = "\
[[scenarios]]
id = \"One\"
address = \"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96046\"
status = 418

[[scenarios]]
id = \"two\"
agent = 20
payment = \"stolen\"

[[scenarios]]
id = \"three\"
address = \"0x0000000000000000000000000000000000000a01\"
scor = 700
report = \"pendin\"

[[scenarios]]
id = \"four\"
address = \"0x0000000000000000000000000000000000000a01\"
score = 1_200
decile = 3
code = \"busy\"

[[scenarios]]
id = \"four\"
score = \"high\"
";
    let said = refused(folder.path(), file);
    for line in [
        "mine.toml:2: scenarios[0].id: must be 1 to 80 lower-case letters, digits and dashes",
        "mine.toml:3: scenarios[0].address: the checksum of this address is wrong",
        "mine.toml:4: scenarios[0].status: no status of a score or report; give 404, 429, 500, 502, 503 or 504",
        "mine.toml:8: scenarios[1].agent: no such agent in a sandbox",
        "mine.toml:9: scenarios[1].payment: cannot be \"stolen\"; give `accepted`, `network`",
        "mine.toml:14: scenarios[2].scor: no such key; did you mean `score`?",
        "mine.toml:15: scenarios[2].report: cannot be \"pendin\"; did you mean `pending`?",
        "mine.toml:20: scenarios[3].score: 1200; may be at most 1000",
        "mine.toml:21: scenarios[3].decile: set together with `score`",
        "mine.toml:19: scenarios[3].address: scenarios[2] is about it",
        "mine.toml:25: scenarios[4].id: scenarios[3] has this id",
        "mine.toml:26: scenarios[4].score: text; must be a whole number",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let missing = refused(folder.path(), "[[scenarios]]\nid = \"x\"\n");
    assert!(missing.contains("mine.toml:1: scenarios[0]: names no subject"), "{missing}");
    assert!(missing.contains("scenarios[0]: changes nothing"), "{missing}");
    let broken = refused(folder.path(), "[[scenarios]]\nid = x\n");
    assert!(broken.contains("mine.toml:2: ") && broken.contains("a text needs quotes"), "{broken}");
}
