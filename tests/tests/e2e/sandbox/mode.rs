//! A server in sandbox mode: the production paths, agents and submissions answered by the generator.

use assay_tests::service::{Caller, Service, plugins, sandbox_config};
use serde_json::{Value, json};

use super::{ONE, VITALIK, keys};
use crate::reputation::STATUS;

#[tokio::test]
async fn sandbox_mode_answers_the_production_paths_from_the_generator() {
    let folder = tempfile::tempdir().unwrap();
    let host = Service::start_in(folder, &sandbox_config(&plugins()), &["--sandbox"]);
    let api = host.keyed();
    let mock = api.get(&format!("/api/v2/sandbox/score/address/{VITALIK}")).await.ok();
    let answer = api.get(&format!("/api/v2/score/address/{VITALIK}?include_factors=true")).await;
    assert_eq!(answer.headers["x-assay-sandbox"], "true");
    let body = answer.ok();
    assert_eq!(body["score"], mock["score"]);
    assert_eq!(body["provisional"], false);
    assert_eq!(body["factors"].as_array().unwrap().len(), 5);
    let report = api.get(&format!("/api/v2/report/address/{VITALIK}")).await;
    assert_eq!(report.headers["x-assay-sandbox"], "true");
    assert_eq!(report.ok()["score"]["value"], mock["score"]);
}

#[tokio::test]
async fn sandbox_mode_scores_by_the_version_that_is_asked_for_and_says_what_it_does_not_do() {
    let host = rehearsing();
    let api = host.keyed();
    for (version, status, said) in [("1.0", 200, "1.0"), ("1.1", 200, "1.1"), ("9.9", 404, "9.9")] {
        let answer = api.get(&format!("/api/v2/score/address/{VITALIK}?model_version={version}")).await;
        assert_eq!(answer.status.as_u16(), status, "{version}: {}", answer.text);
        assert!(answer.text.contains(said), "{version}: {}", answer.text);
        let many = api.get(&format!("/api/v2/score/batch/?address={VITALIK}&model_version={version}")).await;
        assert_eq!(many.status.as_u16(), status, "{version}: {}", many.text);
    }
    for answer in [
        api.get(&format!("/api/v2/models/compare/address/{VITALIK}")).await,
        api.post(&format!("/api/v2/score/address/{VITALIK}/attestation?as_of=2026-01-01"), &json!({})).await,
    ] {
        assert_eq!(
            (answer.status.as_u16(), answer.text.contains("\"code\":\"sandbox\"")),
            (409, true),
            "{}",
            answer.text
        );
    }
}

/// A server in sandbox mode.
fn rehearsing() -> Service {
    Service::start(&format!("sandbox = true\n{}", sandbox_config(&plugins())))
}

#[tokio::test]
async fn sandbox_mode_answers_the_agent_routes_the_same_each_time() {
    let (one, two) = (rehearsing(), rehearsing());
    let (api, other) = (one.keyed(), two.keyed());
    for path in [
        "agents",
        "agents?page=7&limit=17",
        "agents?page=99",
        "agents/1",
        "agents/7",
        "agents/1/reputation",
        "agents/search?q=LENDER&limit=5",
    ] {
        let answer = api.get(&format!("/api/v2/{path}")).await;
        assert_eq!(answer.headers["x-assay-sandbox"], "true", "{path}");
        assert_eq!(answer.ok(), other.get(&format!("/api/v2/{path}")).await.ok(), "{path}");
        assert!(!answer.headers.contains_key("assay-units-left"), "{path}");
    }
    let list = api.get("/api/v2/agents?limit=100").await.ok();
    assert_eq!(keys(&list), ["agents", "limit", "page", "total"]);
    let agents = list["agents"].as_array().unwrap();
    // Some agents have been burned, and some documents cannot be fetched.
    assert!(list["total"].as_u64().unwrap() > 100 && agents.len() < 100);
    assert!(
        agents.iter().any(|agent| agent["metadata"].is_null())
            && agents.iter().any(|agent| agent["metadata"].is_object())
    );
    for agent in agents {
        assert_eq!(keys(agent), ["agent_id", "metadata", "owner"]);
        assert_eq!(&api.get(&format!("/api/v2/agents/{}", agent["agent_id"])).await.ok(), agent);
    }
    let found = api.get("/api/v2/agents/search?q=lender&page=2&limit=9").await.ok();
    assert_eq!(keys(&found), ["agents", "limit", "page", "query", "total_results"]);
    assert_eq!((found["agents"].as_array().unwrap().len(), &found["total_results"]), (9, &json!(18)));
    let reputation = api.get("/api/v2/agents/1/reputation").await.ok();
    assert_eq!(keys(&reputation), ["agent_id", "clients_read", "complete", "summaries", "total_clients"]);
    for (path, status, detail) in [
        ("agents/20", 404, json!("Agent 20 does not exist in the Identity Registry")),
        ("agents/100000/reputation", 404, json!("Agent 100000 does not exist in the Identity Registry")),
        ("agents?page=0", 400, json!("Page must be >= 1")),
        ("agents?limit=101", 400, json!("Limit must be between 1 and 100")),
    ] {
        assert_eq!(api.get(&format!("/api/v2/{path}")).await.expect(status)["detail"], detail, "{path}");
    }
    assert_eq!(api.get("/api/v2/agents/0").await.expect(422)["detail"][0]["type"], "greater_than_equal");
    assert_eq!(api.get("/api/v2/agents/search").await.expect(422)["detail"][0]["type"], "missing");
    // As on a server that takes payments: an agent has a scenario with one.
    one.anonymous().get("/api/v2/agents").await.ok();
}

/// Every status that is observed for a submission, and the last answer.
async fn followed(api: &Caller, status_url: &str) -> (Vec<String>, Value) {
    let mut seen = Vec::<String>::new();
    for _ in 0..600 {
        let answer = api.get(status_url).await;
        assert_eq!(answer.headers["x-assay-sandbox"], "true");
        let body = answer.ok();
        assert_eq!(keys(&body), STATUS);
        let status = body["status"].as_str().unwrap().to_owned();
        // Each field appears from its state on, as in production.
        let known = ["pending", "scoring", "uploading", "submitting", "confirmed", "failed"]
            .iter()
            .position(|known| *known == status);
        let known = known.expect("a state");
        assert_eq!((body["scores"].is_null(), body["feedback_uri"].is_null()), (known < 2, known < 3), "{body}");
        assert_eq!(
            (body["transactions"] == json!([]), body["error"].is_null()),
            (status != "confirmed", status != "failed"),
            "{body}"
        );
        if seen.last() != Some(&status) {
            seen.push(status.clone());
        }
        if ["confirmed", "failed"].contains(&status.as_str()) {
            return (seen, body);
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("it never ends: {seen:?}");
}

#[tokio::test]
async fn sandbox_mode_rehearses_submissions_on_both_paths() {
    let config = format!(
        "sandbox = true\n{}[[access.keys]]\nname = \"poor\"\nkey = \"assay_poor_key_0001\"\nscopes = \
         [\"submit\"]\nunits = 1\n",
        sandbox_config(&plugins())
    );
    let host = Service::start(&config);
    // Requests cost no units here.
    let api = host.with_key("assay_poor_key_0001");
    let score = host.keyed().get(&format!("/api/v2/score/address/{VITALIK}")).await.ok();
    let order = ["pending", "scoring", "uploading", "submitting", "confirmed"];
    for (path, status_path, tags) in [
        ("/api/v2/agents/1/reputation", "/api/v2/agents/1/reputation/status", json!(null)),
        ("/api/v2/reputation/1", "/api/v2/reputation/1/status", json!(["sybilRisk", "creditScore", "sybilRisk"])),
    ] {
        let accepted = api.post(path, &json!({ "address": VITALIK, "tags": tags })).await;
        assert_eq!(accepted.headers["x-assay-sandbox"], "true");
        let body = accepted.expect(202);
        assert_eq!(
            keys(&body),
            ["agent_id", "estimated_completion_seconds", "status", "status_url", "submission_id", "tags"]
        );
        let id = body["submission_id"].as_str().unwrap();
        assert_eq!((&body["status"], &body["status_url"]), (&json!("pending"), &json!(format!("{status_path}/{id}"))));
        let tags = if tags.is_null() {
            json!(["creditScore", "sybilRisk", "identityCount"])
        } else {
            json!(["sybilRisk", "creditScore"])
        };
        assert_eq!(body["tags"], tags);

        let (seen, status) = followed(&api, &format!("{status_path}/{id}")).await;
        // On a busy machine the test may miss a status, but the order is always right.
        let mut rest = order.iter();
        assert!(
            seen.iter().all(|status| rest.any(|next| next == status))
                && seen.last().is_some_and(|last| last == "confirmed"),
            "{seen:?}"
        );
        assert_eq!(status["scores"]["credit_score"], score["score"]);
        assert!(status["scores"]["sybil_score"].as_u64().is_some_and(|risk| risk <= 100));
        let transactions = status["transactions"].as_array().unwrap();
        assert_eq!(json!(transactions.iter().map(|one| one["tag1"].clone()).collect::<Vec<_>>()), tags);
        for one in transactions {
            assert_eq!(keys(one), ["block_number", "gas_used", "tag1", "transaction_hash"]);
            assert_eq!(one["transaction_hash"].as_str().unwrap().len(), 66);
        }
        let document = api.get(&format!("/api/v2/agents/1/reputation/feedback/{id}")).await;
        assert_eq!(document.headers["x-feedback-hash"], alloy::primitives::keccak256(&document.text).to_string());
        let document = document.ok();
        assert_eq!((&document["submissionId"], &document["subject"]["address"]), (&json!(id), &json!(VITALIK)));
        assert_eq!(document["feedback"].as_array().unwrap().len(), transactions.len());
        assert_eq!(
            api.get(&format!("/api/v2/agents/2/reputation/status/{id}")).await.expect(404)["detail"],
            "Submission not found"
        );
    }
    let usage = api.get("/api/v2/usage").await.ok();
    assert_eq!((&usage["used"], &usage["costs"]["submission"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn sandbox_mode_shows_a_failure_on_purpose_and_every_refusal() {
    let host = rehearsing();
    let api = host.keyed();
    let path = "/api/v2/agents/1/reputation";
    let failing = api.post(path, &json!({ "address": "0x0000000000000000000000000000000000000005" })).await.expect(202);
    let (_, status) = followed(&api, failing["status_url"].as_str().unwrap()).await;
    assert_eq!((&status["status"], &status["transactions"]), (&json!("failed"), &json!([])));
    assert!(status["error"].as_str().unwrap().contains("0x…05"), "{status}");

    let good = json!({ "address": VITALIK });
    for (path, body, status, detail) in [
        (path, json!({}), 400, json!("Address is required in the request body")),
        (path, json!({ "address": "0x12" }), 400, json!("Invalid Ethereum address format")),
        ("/api/v2/agents/20/reputation", good.clone(), 404, json!("Agent 20 does not exist in the Identity Registry")),
        ("/api/v2/reputation/100000", good.clone(), 404, json!("Agent 100000 does not exist in the Identity Registry")),
    ] {
        assert_eq!(api.post(path, &body).await.expect(status)["detail"], detail, "{path} {body}");
    }
    assert_eq!(api.post("/api/v2/reputation/0", &good).await.expect(422)["detail"][0]["type"], "greater_than_equal");
    assert_eq!(
        api.post(path, &json!({ "address": VITALIK, "tags": ["x"] })).await.expect(422)["detail"][0]["loc"],
        json!(["body", "tags"])
    );
    for unknown in ["550e8400-e29b-41d4-a716-446655440000", "nonsense"] {
        for path in [
            "agents/1/reputation/status",
            "reputation/1/status",
            "agents/1/reputation/feedback",
            "reputation/1/feedback",
        ] {
            assert_eq!(
                api.get(&format!("/api/v2/{path}/{unknown}")).await.expect(404),
                json!({ "detail": "Submission not found" })
            );
        }
    }
    assert_eq!(host.anonymous().post(path, &good).await.expect(401)["detail"], "Invalid or missing API key");

    let send = async |key: &str, body: &Value| {
        let request = api.request(reqwest::Method::POST, path).header("idempotency-key", key).json(body);
        assay_tests::service::answer(request).await
    };
    let first = send("once", &good).await.expect(202)["submission_id"].clone();
    assert_eq!(send("once", &good).await.expect(202)["submission_id"], first);
    assert_ne!(send("twice", &good).await.expect(202)["submission_id"], first);
    assert_eq!(send("once", &json!({ "address": ONE })).await.expect(422)["code"], "idempotency_key_reused");
}
