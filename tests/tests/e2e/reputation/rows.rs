//! Other rows of the contract about submissions: who may submit, the answers when something is missing, and the cost of
//! an answer.

use assay_tests::{
    proxy::{Proxy, Reply},
    reputation::World,
    service::{Service, plugins, sandbox_config},
};
use serde_json::{Value, json};

use super::{confirmed, subject};
use crate::run;

const SUBMITTER: &str = "assay_rows_submitter";
const ADMIN: &str = "assay_rows_admin";

fn keys() -> String {
    format!(
        "[[access.keys]]\nname = \"submitter\"\nkey = \"{SUBMITTER}\"\nscopes = [\"submit\"]\nunits = 15\n\
         [[access.keys]]\nname = \"admin\"\nkey = \"{ADMIN}\"\nscopes = [\"admin\"]\n"
    )
}

fn moment(value: &Value) -> chrono::DateTime<chrono::FixedOffset> {
    chrono::DateTime::parse_from_rfc3339(value.as_str().expect("a moment")).expect("a moment by ISO 8601")
}

#[test]
fn who_may_submit_may_follow_it_and_see_what_it_cost() {
    run(async {
        let world = World::start().await;
        let service = Service::start(&(world.config(world.chain.url(), "") + &keys()));
        let api = service.with_key(SUBMITTER);
        let accepted =
            api.post("/api/v2/agents/1/reputation", &json!({ "address": subject(1), "tags": ["sybilRisk"] })).await;
        let body = accepted.expect(202);
        assert_eq!(accepted.headers["assay-units-cost"], "10");
        assert_eq!(accepted.headers["assay-units-left"], "5");
        let id = body["submission_id"].as_str().expect("an id");
        uuid(id);

        let status = confirmed(&api, &format!("/api/v2/agents/1/reputation/status/{id}")).await;
        assert!(moment(&status["created_at"]) <= moment(&status["updated_at"]), "{status}");
        assert_eq!(
            api.get(&format!("/api/v2/reputation/1/status/{id}")).await.ok(),
            status,
            "both paths lead to every submission"
        );
        let document = api.get(&format!("/api/v2/reputation/1/feedback/{id}")).await;
        assert_eq!(document.text, api.get(&format!("/api/v2/agents/1/reputation/feedback/{id}")).await.text);
        assert!(!document.headers.contains_key("assay-units-cost"), "it is free");
        assert_eq!(api.get("/api/v2/agents").await.expect(403)["detail"], "This API key does not have the scope read");

        let usage = api.get("/api/v2/usage").await.ok();
        let expected = json!({
            "name": "submitter", "scopes": ["submit"], "units": 15, "used": 10, "left": 5, "rate": null,
            "costs": {
                "score": 1, "attestation": 1, "report": 1, "sandbox": 0, "models": 0, "agents": 0, "status": 0,
                "submission": 10, "watch": 100, "usage": 0, "admin": 0
            }
        });
        assert_eq!(usage, expected);

        for path in [
            "agents/1/reputation/status",
            "reputation/1/status",
            "agents/1/reputation/feedback",
            "reputation/1/feedback",
        ] {
            let asked = service.anonymous().get(&format!("/api/v2/{path}/{id}")).await;
            assert_eq!(asked.expect(401), json!({ "detail": "Invalid or missing API key" }), "{path}");
            let refused = service.with_key(ADMIN).get(&format!("/api/v2/{path}/{id}")).await.expect(403);
            assert_eq!(refused["detail"], "This API key does not have the scope read or submit", "{path}");
            for (agent, kind, msg) in [
                ("0", "greater_than_equal", "Input should be greater than or equal to 1"),
                ("x", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
            ] {
                let said = api.get(&format!("/api/v2/{}/{id}", path.replace('1', agent))).await.expect(422);
                assert_eq!(
                    said,
                    json!({ "detail": [{ "type": kind, "loc": ["path", "agent_id"], "msg": msg }] }),
                    "{path}"
                );
            }
            let other = api.get(&format!("/api/v2/{}/{id}", path.replace('1', "2"))).await.expect(404);
            assert_eq!(other, json!({ "detail": "Submission not found" }), "{path}");
        }
    });
}

#[test]
fn a_registry_that_cannot_be_read_and_one_that_is_not_there_are_told_apart() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let service = Service::start(
            &(world.config(&proxy.url, "").replace("[names]", "[reading.rpc]\nretries = 0\n[names]") + &keys()),
        );
        let api = service.with_key(SUBMITTER);
        proxy.rule(|_| Reply::Status(500, None));
        let none = Service::start(&sandbox_config(&plugins()));
        for path in ["/api/v2/agents/1/reputation", "/api/v2/reputation/1"] {
            let answer = api.post(path, &json!({ "address": subject(1) })).await;
            let unread = json!({ "detail": "Failed to read from the Identity Registry contract",
                "code": "registry_unreadable" });
            assert_eq!(answer.expect(502), unread, "{path}");
            assert!(answer.headers.contains_key("retry-after"), "{path}");
            let answer = none.keyed().post(path, &json!({ "address": subject(1) })).await.expect(502);
            assert_eq!(answer["code"], "reputation_not_configured", "{path}");
        }
        assert_eq!(api.get("/api/v2/usage").await.ok()["used"], 0);
    });
}

fn uuid(text: &str) {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    assert!(lengths == [8, 4, 4, 4, 12] && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()), "{text}");
}
