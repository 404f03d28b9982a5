//! The statement in the document of a submission, from which anyone computes the score again.

use assay_tests::{
    reputation::{World, subject},
    service::{Service, plugins},
};
use serde_json::{Value, json};

use super::{ATTESTER, Filed, PREDEPLOY, run, signing};
use crate::reputation::confirmed;

#[test]
fn the_document_of_a_submission_has_a_statement_that_is_recomputed() {
    run(async {
        let world = World::start().await;
        let config = world.config(world.chain.url(), "");
        let service = Service::start(&format!("{config}\n{}", signing(ATTESTER, 8453, PREDEPLOY)));
        let api = service.keyed();
        let accepted = api.post("/api/v2/agents/1/reputation", &json!({ "address": subject(0) })).await.expect(202);
        let status = confirmed(&api, accepted["status_url"].as_str().expect("a path")).await;
        let id = status["submission_id"].as_str().expect("an id");
        let document =
            async |tag: &str| api.get(&format!("/api/v2/agents/1/reputation/feedback/{id}?tag={tag}")).await.ok();
        let credit = document("creditScore").await;
        let (statement, evidence) = (credit["stated"]["statement"].clone(), credit["stated"]["evidence"].clone());
        let signers = api.get("/.well-known/assay-attestation.json").await.ok();
        let one = Filed { folder: tempfile::tempdir().expect("a folder"), statement, evidence, signers };
        for (name, value) in [("statement", &one.statement), ("evidence", &one.evidence), ("signers", &one.signers)] {
            one.write(name, value);
        }
        std::fs::copy(plugins().join("credit-1.0.wasm"), one.path("component")).expect("the model");
        let verified = one.verify(&["--config", &one.config(&config)]);
        verified.agrees(&["statement", "signature", "signer", "term", "evidence", "model", "chains"]);
        assert_eq!(verified.said["statement"]["score"], credit["value"]);
        assert_eq!(verified.said["statement"]["address"], subject(0).to_checksum(None));
        for tag in ["sybilRisk", "identityCount"] {
            assert_eq!(document(tag).await["stated"], Value::Null, "{tag}");
        }
    });
}
