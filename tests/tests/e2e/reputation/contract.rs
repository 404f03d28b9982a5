//! Every row of the contract about submissions, field by field, on both paths.

use alloy::primitives::keccak256;
use assay_tests::{reputation::World, service::Service};
use serde_json::{Value, json};

use super::{ALL, STATUS, check, confirmed, subject};
use crate::run;

const METERED: &str = "assay_reputation_metered";
const READER: &str = "assay_reputation_reader";

fn keys() -> String {
    format!(
        "[[access.keys]]\nname = \"metered\"\nkey = \"{METERED}\"\nscopes = [\"read\", \"submit\"]\nunits = 35\n\
         [[access.keys]]\nname = \"reader\"\nkey = \"{READER}\"\nscopes = [\"read\"]\n"
    )
}

fn fields(body: &Value) -> Vec<&str> {
    let mut fields: Vec<_> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    fields.sort_unstable();
    fields
}

#[test]
fn a_submission_is_accepted_scored_documented_and_confirmed_on_both_paths() {
    run(async {
        let world = World::start().await;
        let service = Service::start(&world.config(world.chain.url(), "endpoint = \"https://assay.example\""));
        let api = service.keyed();
        for (path, status_path, feedback_path, tags) in [
            (
                "/api/v2/agents/1/reputation",
                "/api/v2/agents/1/reputation/status",
                "/api/v2/agents/1/reputation/feedback",
                None,
            ),
            (
                "/api/v2/reputation/1",
                "/api/v2/reputation/1/status",
                "/api/v2/reputation/1/feedback",
                Some(["sybilRisk", "creditScore", "sybilRisk"]),
            ),
        ] {
            let mut body = json!({ "address": subject(1) });
            let expected: Vec<&str> = match tags {
                Some(tags) => {
                    body["tags"] = json!(tags);
                    vec!["sybilRisk", "creditScore"]
                }
                None => ALL.to_vec(),
            };
            let accepted = api.post(path, &body).await.expect(202);
            assert_eq!(
                fields(&accepted),
                ["agent_id", "estimated_completion_seconds", "status", "status_url", "submission_id", "tags"]
            );
            assert_eq!(
                (&accepted["agent_id"], &accepted["status"], &accepted["tags"]),
                (&json!(1), &json!("pending"), &json!(expected))
            );
            let id = accepted["submission_id"].as_str().expect("an id");
            assert_eq!(accepted["status_url"], format!("{status_path}/{id}"));
            let estimate = accepted["estimated_completion_seconds"].as_u64().expect("a number");
            assert!(if tags.is_none() { estimate == 45 } else { (1..45).contains(&estimate) }, "{estimate}");

            let status = confirmed(&api, &format!("{status_path}/{id}")).await;
            assert_eq!(fields(&status), STATUS);
            assert_eq!(fields(&status["scores"]), ["credit_score", "identity_count", "sybil_score"]);
            assert_eq!(fields(&status["transactions"][0]), ["block_number", "gas_used", "tag1", "transaction_hash"]);
            assert!((300..=1000).contains(&status["scores"]["credit_score"].as_u64().expect("a score")));
            check(&world, &world.held().await, &status, &expected);

            let document = api.get(&format!("{feedback_path}/{id}")).await;
            let body = document.ok();
            assert_eq!(document.headers["x-feedback-hash"], keccak256(&document.text).to_string());
            assert_eq!(document.headers["cache-control"], "public, max-age=31536000, immutable");
            let cid = status["feedback_uri"].as_str().expect("a URI").trim_start_matches("ipfs://");
            assert_eq!(world.ipfs.block(cid).expect("the document"), document.text.as_bytes());
            assert_eq!(body["agentRegistry"], format!("eip155:8453:{}", world.identity));
            assert_eq!(body["clientAddress"], format!("eip155:8453:{}", world.signer.address()));
            assert_eq!((&body["agentId"], &body["endpoint"]), (&json!(1), &json!("https://assay.example")));
            assert_eq!(body["feedback"].as_array().expect("a list").len(), expected.len());
            assert_eq!(body["subject"]["address"], subject(1).to_string());
            for tag in &expected {
                let own = api.get(&format!("{feedback_path}/{id}?tag={tag}")).await;
                assert_eq!(own.headers["x-feedback-hash"], keccak256(&own.text).to_string());
                assert_eq!((&own.ok()["tag1"], own.json()["settlement"].is_null()), (&json!(tag), true));
            }
            api.get(&format!("{feedback_path}/{id}?tag=other")).await.expect(422);
            assert_eq!(
                api.get(&format!("{}/{id}", status_path.replace("/1", "/2"))).await.expect(404),
                json!({ "detail": "Submission not found" })
            );
        }
    });
}

#[test]
fn what_is_wrong_is_said_and_costs_nothing() {
    run(async {
        let world = World::start().await;
        let service = Service::start(&(world.config(world.chain.url(), "") + &keys()));
        let (api, address) = (service.with_key(METERED), subject(2));
        let good = json!({ "address": address });
        for base in ["/api/v2/agents/1/reputation", "/api/v2/reputation/1"] {
            for body in
                [json!({}), json!({ "address": null }), json!({ "address": "" }), json!({ "tags": ["creditScore"] })]
            {
                assert_eq!(
                    api.post(base, &body).await.expect(400),
                    json!({ "detail": "Address is required in the request body" })
                );
            }
            for wrong in ["0x12", "vitalik.eth", "nonsense"] {
                let said = api.post(base, &json!({ "address": wrong })).await.expect(400);
                assert_eq!(said, json!({ "detail": "Invalid Ethereum address format" }));
            }
            for (tags, kind) in [
                (json!(["creditscore"]), "value_error"),
                (json!([7]), "string_type"),
                (json!("creditScore"), "list_type"),
            ] {
                let said = api.post(base, &json!({ "address": address, "tags": tags })).await.expect(422);
                assert_eq!(
                    (&said["detail"][0]["type"], &said["detail"][0]["loc"]),
                    (&json!(kind), &json!(["body", "tags"])),
                    "{said}"
                );
            }
            let said = api.post(base, &json!({ "address": 7 })).await.expect(422);
            assert_eq!(said["detail"][0]["type"], "string_type");
            assert_eq!(
                api.post(&base.replace('1', "77"), &good).await.expect(404),
                json!({ "detail": "Agent 77 does not exist in the Identity Registry" })
            );
            for (id, kind) in [("0", "greater_than_equal"), ("-3", "greater_than_equal"), ("x", "int_parsing")] {
                let said = api.post(&base.replace('1', id), &good).await.expect(422);
                assert_eq!(
                    (&said["detail"][0]["type"], &said["detail"][0]["loc"]),
                    (&json!(kind), &json!(["path", "agent_id"])),
                    "{said}"
                );
            }
            assert_eq!(
                service.anonymous().post(base, &good).await.expect(401),
                json!({ "detail": "Invalid or missing API key" })
            );
            assert_eq!(service.with_key(READER).post(base, &good).await.expect(403)["code"], "scope");
        }
        for unknown in ["550e8400-e29b-41d4-a716-446655440000", "nonsense"] {
            for path in [
                "agents/1/reputation/status",
                "reputation/1/status",
                "agents/1/reputation/feedback",
                "reputation/1/feedback",
            ] {
                let said = api.get(&format!("/api/v2/{path}/{unknown}")).await.expect(404);
                assert_eq!(said, json!({ "detail": "Submission not found" }));
            }
        }
        // 35 units pay for three submissions, whatever was refused before.
        for n in 0..3 {
            api.post("/api/v2/reputation/1", &json!({ "address": subject(n), "tags": ["sybilRisk"] }))
                .await
                .expect(202);
        }
        let refused = api.post("/api/v2/reputation/1", &good).await;
        assert_eq!(refused.expect(429)["code"], "units_used_up");
        assert!(!refused.headers.contains_key("retry-after"), "no wait gives units back");
    });
}

#[test]
fn one_idempotency_key_is_one_submission() {
    run(async {
        let world = World::start().await;
        let service = Service::start(&(world.config(world.chain.url(), "") + &keys()));
        let api = service.with_key(METERED);
        let send = async |key: &str, body: Value| {
            let request =
                api.request(reqwest::Method::POST, "/api/v2/reputation/1").header("idempotency-key", key).json(&body);
            assay_tests::service::answer(request).await
        };
        let body = json!({ "address": subject(3), "tags": ["creditScore"] });
        let twenty = futures::future::join_all((0..20).map(|_| send("first", body.clone()))).await;
        let ids: std::collections::BTreeSet<String> =
            twenty.iter().map(|answer| answer.expect(202)["submission_id"].to_string()).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
        let other = send("first", json!({ "address": subject(4), "tags": ["creditScore"] })).await;
        assert_eq!(other.expect(422)["code"], "idempotency_key_reused");
        assert_eq!(send("", body.clone()).await.expect(400)["code"], "idempotency_key");
        // Another key's retry is another submission: the first used 10 of 35 units, two more are left.
        for key in ["second", "third"] {
            send(key, body.clone()).await.expect(202);
        }
        assert_eq!(send("fourth", body.clone()).await.expect(429)["code"], "units_used_up");
        let status = twenty[0].json()["status_url"].as_str().expect("a path").to_owned();
        confirmed(&api, &status).await;
        assert_eq!(send("first", body).await.expect(202)["status_url"], status);
    });
}

#[test]
fn what_the_registry_would_refuse_is_not_accepted_and_costs_nothing() {
    run(async {
        let world = World::start().await;
        let service = Service::start(&(world.config(world.chain.url(), "") + &keys()));
        let api = service.with_key(METERED);
        // Agent 2 is the signer's own: more submissions are refused than the units would pay for.
        for n in 0..5 {
            let refused = api.post("/api/v2/reputation/2", &json!({ "address": subject(n) })).await;
            assert_eq!(refused.expect(422)["code"], "own_agent");
        }
        assert!(world.held().await.is_empty());
    });
}

#[test]
fn two_hundred_at_once_are_not_admitted_beyond_the_units() {
    run(async {
        let world = World::start().await;
        let config = world.config(world.chain.url(), "") + &keys().replace("units = 35", "units = 405");
        let service = Service::start(&config);
        let (one, two) = (service.with_key(METERED), service.with_key(METERED));
        let body = json!({ "address": subject(9), "tags": ["identityCount"] });
        let all =
            (0..200).map(|n| if n % 2 == 0 { &one } else { &two }).map(|api| api.post("/api/v2/reputation/1", &body));
        let answers = futures::future::join_all(all).await;
        let accepted = answers.iter().filter(|answer| answer.status == 202).count();
        assert_eq!((accepted, answers.iter().filter(|answer| answer.status == 429).count()), (40, 160));
    });
}

#[test]
fn an_account_that_cannot_give_feedback_is_found_beforehand() {
    run(async {
        let world = World::start().await;
        let check = |more: &str| crate::check_config::check(&(world.config(world.chain.url(), "") + more));
        // Agent 2 is the signer's own.
        let (code, out, err) = check("");
        assert_eq!(code, Some(1), "{out}");
        assert!(err.contains("owns an agent") && !err.contains("has no funds"), "{err}");
        assert!(
            out.contains("by credit 1.0 and sybil 1.0") && !(out + &err).contains(&world.signer.to_bytes().to_string())
        );
        world.fund(alloy::primitives::U256::ZERO).await;
        let (_, _, err) = check("");
        assert!(err.contains("has no funds"), "{err}");
        let stranger = world.config(world.chain.url(), "").replace(&world.signer.to_bytes().to_string(), "0x12");
        let (code, _, err) = crate::check_config::check(&stranger);
        assert_eq!(code, Some(1));
        assert!(err.contains("reputation.signer: not a private key") && !err.contains("0x12"), "{err}");
    });
}
