//! Submissions that fail, side by side with a real server under the real condition.

use alloy::primitives::U256;
use assay_tests::{
    agents::Identity,
    devnet::actors,
    payment::Till,
    service::{Caller, Service},
};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{listed, sandbox, without_figures};
use crate::{
    reputation::{ended, subject},
    run,
    unread::gone,
};

/// Submits for `agent`, and returns the path of the status.
async fn submit(api: &Caller, agent: u64) -> String {
    let path = format!("/api/v2/agents/{agent}/reputation");
    let accepted = api.post(&path, &json!({ "address": subject(1) })).await.expect(202);
    accepted["status_url"].as_str().expect("a path").to_owned()
}

/// The status of a submission that failed, without its own figures and names.
fn shown(mut status: Value) -> String {
    assert_eq!(status["status"], "failed", "{status}");
    status["submission_id"].take();
    if let Some(uri) = status["feedback_uri"].as_str() {
        status["feedback_uri"] = uri.split_once("://").map(|(scheme, _)| scheme.into()).unwrap_or_default();
    }
    without_figures(&status.to_string())
}

async fn failed(api: &Caller, status_url: &str) -> String {
    shown(ended(api, status_url).await)
}

/// A submission that cannot be scored, one that cannot be uploaded, and one whose agent is burned after it was
/// accepted.
async fn fail_in_each_phase(till: &mut Till, config: &str) -> Vec<String> {
    let without_chain = Service::start(&(config.to_owned() + &gone()));
    let api = without_chain.keyed();
    let unscored = failed(&api, &submit(&api, 1).await).await;
    drop(without_chain);

    let real = Service::start(config);
    let api = real.keyed();
    till.world.ipfs.stop().await;
    let not_uploaded = failed(&api, &submit(&api, 1).await).await;
    // The last one has all the time that it needs.
    let real = Service::start_in(real.kill(), &config.replace("give_up_after_ms = 10_000\n", ""), &[]);
    let api = real.keyed();
    let last = submit(&api, 3).await;
    let burn = Identity::burnCall { agentId: U256::from(3) };
    till.send(actors::address("owner"), till.world.identity, &burn).await;
    till.world.ipfs.start_again().await;
    vec![unscored, not_uploaded, failed(&api, &last).await]
}

#[test]
fn a_submission_fails_in_each_phase_as_on_a_real_server() {
    run(async {
        let mut till = Till::start().await;
        let register = Identity::registerCall { uri: String::new() };
        till.send(actors::address("owner"), till.world.identity, &register).await;
        let mock = sandbox("");
        let (_, agents) = listed(&mock.keyed()).await;
        let mock_api = mock.keyed();
        let played = ["scoring", "uploading", "submitting"].map(async |phase| {
            failed(&mock_api, &submit(&mock_api, agents[&format!("submission-fails-{phase}")]).await).await
        });

        let waits = "[reputation]\ncoverage_wait_ms = 200\ngive_up_after_ms = 10_000\n";
        let config = till.world.config(till.world.chain.url(), "").replace("[reputation]\n", waits);
        let (played, real) = tokio::join!(join_all(played), fail_in_each_phase(&mut till, &config));
        assert_eq!(played, real);
        assert!(till.world.held().await.is_empty());
    });
}
