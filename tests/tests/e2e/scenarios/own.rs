//! A tester's own generator has its own scenarios.

use assay_tests::{
    scripted::{self, Scripted},
    service::{Service, sandbox_config, shelf_copy},
};
use serde_json::json;

use super::{listed, score};

#[tokio::test]
async fn a_testers_own_generator_scripts_its_own() {
    let shelf = shelf_copy();
    let file = shelf.path().join("mine.wasm");
    std::fs::write(file, scripted::generator("7.0", Scripted::RATE_LIMITED_FOR_SEVEN_SECONDS)).expect("a file");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let service = Service::start_in(dir, &sandbox_config(shelf.path()), &["--sandbox"]);
    let api = service.keyed();
    api.put("/api/v2/admin/models/sandbox/champion", &json!({ "version": "7.0" })).await.ok();
    let (at, agents) = listed(&api).await;
    assert_eq!((at["scripted"].as_str(), at.contains_key("pending")), (scripted::ADDRESS, false));
    assert_eq!(agents.keys().collect::<Vec<_>>(), ["payment-accepted"], "the host's own scenarios stay");
    let limited = score(&api, scripted::ADDRESS).await;
    assert_eq!((limited.status.as_u16(), &limited.headers["retry-after"]), (429, &"7".parse().expect("a header")));
    let other = "0x0000000000000000000000000000000000000108";
    assert_eq!(score(&api, other).await.ok()["score"], 640, "the first-party scenario is gone with its generator");

    // Another version of it, dropped beside it while the server runs.
    let pending = scripted::generator("7.1", Scripted::PENDING_UNTIL_SECOND);
    api.post_bytes("/api/v2/admin/models", pending).await.expect(201);
    api.put("/api/v2/admin/models/sandbox/champion", &json!({ "version": "7.1" })).await.ok();
    let provisional = async || score(&api, scripted::ADDRESS).await.ok()["credit_events_coverage"].clone();
    assert_eq!((provisional().await, provisional().await), (json!("pending"), json!("complete")));

    // A generator of the first contract has none.
    api.put("/api/v2/admin/models/sandbox/champion", &json!({ "version": "1.1" })).await.ok();
    assert!(!listed(&api).await.0.contains_key("scripted"));
}
