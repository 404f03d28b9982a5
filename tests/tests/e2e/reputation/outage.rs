//! An outage of the IPFS node: nothing listens at its address while submissions are open, and then it returns.
//! `ASSAY_SOAK=1` extends the outage to a minute.

use std::time::{Duration, Instant};

use assay_tests::{
    reputation::World,
    service::{Answer, Service},
    until::until,
};
use serde_json::{Value, json};

use super::{ALL, check, confirmed, ended, submit};
use crate::run;

const METERED: &str = "assay_reputation_outage";
const SUBMISSIONS: usize = 6;

fn key(units: usize) -> String {
    format!("[[access.keys]]\nname = \"outage\"\nkey = \"{METERED}\"\nscopes = [\"submit\"]\nunits = {units}\n")
}

/// The number of failed uploads.
async fn retries(service: &Service) -> u64 {
    let text = service.anonymous().get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix("assay_submission_retries_total{status=\"uploading\"} "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[test]
fn an_ipfs_node_that_is_gone_for_a_while_delays_and_no_more() {
    run(async {
        let soak = std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1");
        let mut world = World::start().await;
        let config = world.config(world.chain.url(), "") + &key(SUBMISSIONS * 10);
        let service = Service::start(&config);
        let api = service.with_key(METERED);
        // Some submissions are open when the node stops.
        let mut urls = Vec::new();
        for n in 0..SUBMISSIONS / 2 {
            urls.push(submit(&api, n).await);
        }
        world.ipfs.stop().await;
        for n in SUBMISSIONS / 2..SUBMISSIONS {
            urls.push(submit(&api, n).await);
        }
        let gone = Instant::now();
        until(async || retries(&service).await, |retries| *retries >= 2 * SUBMISSIONS as u64 / 2).await;
        // The fields that are known before the upload, and no others.
        let uploads = |status: &Answer| status.ok()["status"] == "uploading";
        let waiting = api.until(&urls[SUBMISSIONS - 1], uploads).await.json();
        assert_eq!(
            (&waiting["status"], &waiting["transactions"], &waiting["feedback_uri"], &waiting["error"]),
            (&json!("uploading"), &json!([]), &Value::Null, &Value::Null)
        );
        assert!(waiting["scores"]["credit_score"].is_u64(), "{waiting}");
        if soak {
            tokio::time::sleep(Duration::from_secs(60).saturating_sub(gone.elapsed())).await;
        }
        world.ipfs.start_again().await;
        let mut statuses = Vec::new();
        for url in &urls {
            statuses.push(confirmed(&api, url).await);
        }
        let held = world.held().await;
        for status in &statuses {
            check(&world, &held, status, &ALL);
        }
        assert_eq!(held.len(), SUBMISSIONS * ALL.len());
        println!(
            "{SUBMISSIONS} submissions, an IPFS node gone for {} s, {} uploads tried again",
            gone.elapsed().as_secs(),
            retries(&service).await
        );
    });
}

#[test]
fn an_ipfs_node_that_does_not_come_back_in_time_is_an_honest_failure() {
    run(async {
        let mut world = World::start().await;
        let service = Service::start(&(world.config(world.chain.url(), "give_up_after_ms = 6000") + &key(10)));
        let api = service.with_key(METERED);
        world.ipfs.stop().await;
        // One unit is missing for the second submission unless the first was refunded.
        for n in 0..2 {
            let status = ended(&api, &submit(&api, n).await).await;
            let error = status["error"].as_str().expect("a message");
            assert_eq!(
                (&status["status"], &status["transactions"], &status["feedback_uri"]),
                (&json!("failed"), &json!([]), &Value::Null)
            );
            assert!(
                error.contains("the IPFS node cannot be reached") && error.contains("units were given back"),
                "{error}"
            );
        }
        let usage = api.get("/api/v2/usage").await.ok();
        assert_eq!((&usage["used"], &usage["left"]), (&json!(0), &json!(10)));
        assert!(world.held().await.is_empty());
    });
}
