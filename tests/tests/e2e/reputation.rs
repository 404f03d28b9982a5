//! Submissions of reputation through the whole server, on a real chain with stubs of the registries and a mock of an
//! IPFS node.

mod contract;
mod faults;
mod fees;
mod mixed;
mod moved;
mod notices;
mod once;
mod outage;
mod own;
mod pinning;
mod queue;
mod reverted;
mod rows;
mod unscored;

use alloy::primitives::keccak256;
use assay_tests::{
    reputation::{Held, World},
    service::Caller,
};
use serde_json::{Value, json};

pub(super) use assay_tests::{reputation::subject, until::PATIENCE};
pub(super) use faults::{cancelled, foreign, nonce, waiting};
pub(super) use reverted::{ahead, registerCall, reverted, setApprovalForAllCall};

/// Submits for agent 1 and returns the path of the status.
async fn submit(api: &Caller, n: usize) -> String {
    let body = api.post("/api/v2/agents/1/reputation", &json!({ "address": subject(n) })).await.expect(202);
    body["status_url"].as_str().expect("a path").to_owned()
}

/// The status once it is final.
pub(super) async fn ended(api: &Caller, status_url: &str) -> Value {
    let is_final = |body: &Value| ["confirmed", "failed"].contains(&body["status"].as_str().expect("a status"));
    api.until(status_url, |status| !status.is_to_repeat() && is_final(&status.ok())).await.json()
}

/// The status once its detail contains `part`.
async fn said(api: &Caller, status_url: &str, part: &str) -> Value {
    let says = |body: &Value| body["detail"].as_str().is_some_and(|detail| detail.contains(part));
    api.until(status_url, |status| !status.is_to_repeat() && says(&status.ok())).await.json()
}

pub(super) async fn confirmed(api: &Caller, status_url: &str) -> Value {
    let body = ended(api, status_url).await;
    assert_eq!((&body["status"], &body["error"]), (&json!("confirmed"), &Value::Null), "{body}");
    body
}

/// The document of feedback on IPFS.
fn document(world: &World, held: &Held) -> Option<Vec<u8>> {
    world.ipfs.block(held.uri.strip_prefix("ipfs://")?)
}

/// Compares a confirmed submission with the chain and IPFS: one feedback for each tag, with the values of the status
/// and a document of its own, and no other feedback of this submission.
pub(super) fn check(world: &World, held: &[Held], status: &Value, tags: &[&str]) {
    let of_it = |held: &&Held| {
        let body = document(world, held).and_then(|document| serde_json::from_slice::<Value>(&document).ok());
        body.is_some_and(|body| body["submissionId"] == status["submission_id"])
    };
    let ours: Vec<&Held> = held.iter().filter(of_it).collect();
    let mut given: Vec<&str> = ours.iter().map(|held| held.tag1.as_str()).collect();
    given.sort_unstable();
    let mut wanted = tags.to_vec();
    wanted.sort_unstable();
    assert_eq!(given, wanted, "{status}");
    let listed: Vec<&str> =
        status["transactions"].as_array().expect("a list").iter().filter_map(|one| one["tag1"].as_str()).collect();
    assert_eq!(listed, tags, "{status}");
    for held in ours {
        let field = ["credit_score", "sybil_score", "identity_count"]
            [["creditScore", "sybilRisk", "identityCount"].iter().position(|tag| *tag == held.tag1).expect("a tag")];
        assert_eq!(json!(held.value), status["scores"][field], "{held:?} {status}");
        assert_eq!((held.decimals, held.tag2.as_str(), held.client), (0, "1.0", world.signer.address()));
        let document = document(world, held).expect("the document is there");
        assert_eq!(held.hash, keccak256(&document));
        let body: Value = serde_json::from_slice(&document).expect("JSON");
        assert_eq!((&body["tag1"], &body["value"]), (&json!(held.tag1), &json!(held.value)));
        assert_eq!((&body["valueDecimals"], &body["tag2"]), (&json!(held.decimals), &json!(held.tag2)));
        assert_eq!(held.uri == status["feedback_uri"], held.tag1 == tags[0], "the first tag's is shown");
        let transactions = status["transactions"].as_array().expect("a list");
        let transaction = transactions.iter().find(|one| one["tag1"] == held.tag1.as_str()).expect("its transaction");
        assert_eq!(transaction["transaction_hash"], held.transaction.to_string());
        assert_eq!(transaction["block_number"], held.block);
        assert!(transaction["gas_used"].as_u64().is_some_and(|gas| (30_000..500_000).contains(&gas)), "{transaction}");
    }
}

/// The fields of the status of a submission.
pub(super) const STATUS: [&str; 9] = [
    "agent_id",
    "created_at",
    "error",
    "feedback_uri",
    "scores",
    "status",
    "submission_id",
    "transactions",
    "updated_at",
];

pub(super) const ALL: [&str; 3] = ["creditScore", "sybilRisk", "identityCount"];
