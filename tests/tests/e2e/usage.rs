//! The cost of answers, in the answers themselves and in `GET /api/v2/usage`.

use assay_tests::{
    devnet::actors,
    service::{Answer, plugins},
};
use serde_json::json;

use super::{on_devnet, run};

const METERED: &str = "assay_usage_metered";
const FREE: &str = "assay_usage_free";

/// Cost and remaining units, from the headers.
fn bill(answer: &Answer) -> (Option<&str>, Option<&str>) {
    let header = |name: &str| answer.headers.get(name).map(|value| value.to_str().expect("a text"));
    (header("assay-units-cost"), header("assay-units-left"))
}

#[test]
fn every_answer_that_costs_says_so_and_usage_adds_up() {
    run(async {
        let keys = format!(
            "[[access.keys]]\nname = \"metered\"\nkey = \"{METERED}\"\nscopes = [\"read\"]\nunits = 5\nrate = 1000\n\
             [[access.keys]]\nname = \"free\"\nkey = \"{FREE}\"\nscopes = [\"read\", \"submit\"]\n"
        );
        let service = on_devnet(&plugins(), &keys).await;
        let (metered, free) = (service.with_key(METERED), service.with_key(FREE));
        let [borrower, empty] = ["borrower", "empty"].map(|name| actors::address(name).to_checksum(None));

        let score = metered.get(&format!("/api/v2/score/address/{borrower}")).await;
        assert_eq!((score.status.as_u16(), bill(&score)), (200, (Some("1"), Some("4"))));
        let several = metered.get(&format!("/api/v2/score/batch/?address={borrower},{empty}")).await;
        assert_eq!((several.status.as_u16(), bill(&several)), (200, (Some("2"), Some("2"))), "{}", several.text);
        // An unknown address costs a unit, because the server read the chains; an invalid address costs nothing.
        let unknown = metered.get(&format!("/api/v2/score/address/{empty}")).await;
        assert_eq!((unknown.status.as_u16(), bill(&unknown)), (404, (Some("1"), Some("1"))));
        assert_eq!(bill(&metered.get("/api/v2/score/address/0x12").await), (None, None));
        let beyond = metered.get(&format!("/api/v2/score/batch/?address={borrower},{empty}")).await;
        assert_eq!(
            (beyond.expect(429)["violated-policies"].clone(), bill(&beyond)),
            (json!(["units"]), (Some("0"), Some("1")))
        );
        // A chain that is not configured here costs nothing.
        let ours = metered.get(&format!("/api/v2/report/address/{borrower}/chain/10")).await;
        assert_eq!((ours.status.as_u16(), bill(&ours)), (502, (None, None)));
        let sandbox = metered.get(&format!("/api/v2/sandbox/score/address/{borrower}")).await;
        assert_eq!((sandbox.status.as_u16(), bill(&sandbox)), (200, (None, None)));
        let unmetered = free.get(&format!("/api/v2/score/address/{borrower}")).await;
        assert_eq!((unmetered.status.as_u16(), bill(&unmetered)), (200, (Some("1"), None)));

        let costs = json!({
            "score": 1, "attestation": 1, "report": 1, "sandbox": 0, "models": 0, "agents": 0, "status": 0,
            "submission": 10, "watch": 100, "usage": 0, "admin": 0
        });
        // A failed call gets its units back after its answer.
        let usage = metered.until("/api/v2/usage", |usage| usage.ok()["used"] == 4).await;
        assert_eq!(
            usage.ok(),
            json!({ "name": "metered", "scopes": ["read"], "units": 5, "used": 4, "left": 1, "rate": 1000,
                "costs": costs })
        );
        assert_eq!(usage.headers["cache-control"], "no-store");
        assert_eq!(
            free.get("/api/v2/usage/").await.ok(),
            json!({ "name": "free", "scopes": ["read", "submit"], "units": null, "used": null, "left": null,
                "rate": null, "costs": costs })
        );
        assert_eq!(
            service.anonymous().get("/api/v2/usage").await.expect(401)["detail"],
            json!("Invalid or missing API key")
        );
    });
}
