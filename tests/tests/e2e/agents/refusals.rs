//! Wrong requests about agents and what they get.

use assay_tests::{
    agents::Agents,
    devnet::actors::address as wallet,
    proxy::{Proxy, Reply},
    service::{Service, plugins, sandbox_config},
};
use serde_json::json;

use super::{NOT_READ, OFTEN, World, ids, inline, until};
use crate::run;

#[test]
fn every_wrong_request_has_its_row() {
    run(async {
        let mut world = World::start().await;
        world.register("ada", &[String::new(), inline("One", "")]).await;
        let proxy = Proxy::start(world.chain.url()).await;
        let service = Service::start(&world.config(&proxy.url, OFTEN, ""));
        let api = service.keyed();
        let detail = |text: &str| json!({ "detail": text });
        let list = |kind: &str, place: &str, field: &str, msg: &str| {
            json!({ "detail": [{ "type": kind,
            "loc": [place, field], "msg": msg }] })
        };
        let whole = "Input should be a valid integer, unable to parse string as an integer";
        until(&api, "/api/v2/agents/search?q=one", |body| body["total_results"] == 1).await;

        for path in ["/api/v2/agents", "/api/v2/agents/search?q=a", "/api/v2/agents/1", "/api/v2/agents/1/reputation"] {
            let missing = service.anonymous().get(path).await;
            assert_eq!(missing.expect(401), detail("Invalid or missing API key"), "{path}");
        }
        for (query, status, body) in [
            ("page=0", 400, detail("Page must be >= 1")),
            ("page=-1", 400, detail("Page must be >= 1")),
            ("limit=0", 400, detail("Limit must be between 1 and 100")),
            ("limit=101", 400, detail("Limit must be between 1 and 100")),
            ("page=x", 422, list("int_parsing", "query", "page", whole)),
            ("limit=1.5", 422, list("int_parsing", "query", "limit", whole)),
        ] {
            for path in ["/api/v2/agents?", "/api/v2/agents/search?q=a&"] {
                assert_eq!(api.get(&format!("{path}{query}")).await.expect(status), body, "{path}{query}");
            }
        }
        assert_eq!(api.get("/api/v2/agents/search").await.expect(422), list("missing", "query", "q", "Field required"));
        let short = list("string_too_short", "query", "q", "String should have at least 1 character");
        assert_eq!(api.get("/api/v2/agents/search?q=").await.expect(422), short);
        let below = list("greater_than_equal", "path", "agent_id", "Input should be greater than or equal to 1");
        let unknown = |id: &str| detail(&format!("Agent {id} does not exist in the Identity Registry"));
        let beyond = "1".repeat(77);
        for rest in ["", "/reputation"] {
            for (id, status, body) in [
                ("0", 422, below.clone()),
                ("-1", 422, below.clone()),
                ("+1", 422, list("int_parsing", "path", "agent_id", whole)),
                ("ada", 422, list("int_parsing", "path", "agent_id", whole)),
                ("2", 404, unknown("2")),
                ("18446744073709551615", 404, unknown("18446744073709551615")),
                (&beyond, 404, unknown(&beyond)),
            ] {
                assert_eq!(api.get(&format!("/api/v2/agents/{id}{rest}")).await.expect(status), body, "{id}{rest}");
            }
        }

        // The registry does not respond; search still works from its index.
        proxy.rule(|call| {
            if call.method == "eth_call" { Reply::Error { code: -32000, message: "no".into() } } else { Reply::Pass }
        });
        let unread = |detail: &str| json!({ "detail": detail, "code": "registry_unreadable" });
        assert_eq!(api.get("/api/v2/agents").await.expect(502), unread(NOT_READ));
        assert_eq!(api.get("/api/v2/agents/1").await.expect(502), unread(NOT_READ));
        let reputation = api.get("/api/v2/agents/1/reputation").await.expect(502);
        assert_eq!(reputation, unread("Failed to read from the Reputation Registry contract"));
        assert_eq!(ids(&api.get("/api/v2/agents/search?q=one").await.ok()), [1]);

        // No contract at the address of the registry, a server without a registry, and an index that was never built.
        let mut elsewhere = World { agents: Agents { identity: wallet("nobody"), ..world.agents }, chain: world.chain };
        let service = Service::start(&elsewhere.config(elsewhere.chain.url(), OFTEN, ""));
        for path in ["/api/v2/agents", "/api/v2/agents/1"] {
            assert_eq!(service.keyed().get(path).await.expect(502), unread(NOT_READ), "{path}");
        }
        service.logged("the index of agents was not refreshed").await;
        let unbuilt = service.keyed().get("/api/v2/agents/search?q=a").await.expect(503);
        assert_eq!(unbuilt, json!({ "detail": "Failed to search agents", "code": "index_not_built" }));
        elsewhere.agents = world.agents;
        let service = Service::start(&sandbox_config(&plugins()));
        let body = |detail: &str| json!({ "detail": detail, "code": "agents_not_configured" });
        assert_eq!(service.keyed().get("/api/v2/agents").await.expect(502), body(NOT_READ));
        assert_eq!(service.keyed().get("/api/v2/agents/1").await.expect(502), body(NOT_READ));
        assert_eq!(service.keyed().get("/api/v2/agents/search?q=a").await.expect(502), body("Failed to search agents"));
        proxy.rule(|_| Reply::Status(500, None));
        let service = Service::start(&elsewhere.config(&proxy.url, OFTEN, ""));
        let unbuilt = service.keyed().get("/api/v2/agents/search?q=a").await;
        assert_eq!(unbuilt.expect(503), json!({ "detail": "Failed to search agents", "code": "index_not_built" }));
        assert!(unbuilt.headers.contains_key("retry-after"));
    });
}
