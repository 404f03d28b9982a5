//! The seven sandbox endpoints, field by field, and their determinism.

use std::collections::{BTreeMap, BTreeSet};

use assay_tests::service::{Caller, Service, plugins, shelf_copy};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const ONE: &str = "0x0000000000000000000000000000000000000001";
const FOUR: &str = "0x0000000000000000000000000000000000000004";
const VITALIK: &str = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

/// Object keys, sorted.
fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn range_of(score: u64) -> &'static str {
    match score {
        920..=1000 => "excellent",
        840..=919 => "very_good",
        750..=839 => "good",
        640..=749 => "fair",
        300..=639 => "low",
        _ => panic!("{score} is no score"),
    }
}

fn assert_score(body: &Value) {
    assert_eq!(keys(body), ["address", "decile", "model_version", "range", "score", "timestamp"]);
    let score = body["score"].as_u64().expect("an integer score");
    assert_eq!(body["range"], range_of(score));
    assert!((1..=10).contains(&body["decile"].as_u64().expect("an integer decile")));
    assert_eq!(body["model_version"], "1.1");
    assert_timestamp(&body["timestamp"]);
}

fn assert_timestamp(value: &Value) {
    let text = value.as_str().expect("a timestamp");
    assert!(chrono::DateTime::parse_from_rfc3339(text).is_ok() && text.ends_with('Z'), "{text}");
}

#[tokio::test]
async fn scores_have_the_contracts_shape_and_the_four_addresses_reach_their_bands() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    for (last, range) in [(1, "excellent"), (2, "good"), (3, "fair"), (4, "low")] {
        let body = api.get(&format!("/api/v2/sandbox/score/address/0x{last:040x}")).await.ok();
        assert_score(&body);
        assert_eq!(body["range"], range);
    }
    let lower = api.get(&format!("/api/v2/sandbox/score/address/{}", VITALIK.to_lowercase())).await.ok();
    assert_eq!(lower["address"], VITALIK, "the answer carries the checksummed address");
}

#[tokio::test]
async fn the_boost_is_half_the_gap_at_a_hundred_thousand_dollars() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let path = format!("/api/v2/sandbox/score/address/{FOUR}");
    let base = api.get(&path).await.ok()["score"].as_u64().unwrap();
    for (assets, share) in [(0.0, 0.0), (25_000.0, 0.25), (100_000.0, 1.0), (5_000_000.0, 1.0)] {
        let body = api.post(&path, &json!({ "total_asset_usd": assets })).await.ok();
        assert_score(&body);
        let expected = base + (0.5 * (1000 - base) as f64 * share).round() as u64;
        assert_eq!(body["score"], expected, "{assets}");
    }
    assert_eq!(api.post(&path, &json!({})).await.ok()["score"], base, "the figure is optional");
    assert_eq!(api.post_bytes(&path, "").await.ok()["score"], base, "so is the body");
}

#[tokio::test]
async fn several_addresses_are_their_mean_or_a_batch() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    for slash in ["", "/"] {
        let batch = api.get(&format!("/api/v2/sandbox/score/batch{slash}?address={ONE},nonsense,{FOUR}")).await.ok();
        assert_eq!(keys(&batch), ["count", "scores", "skipped"]);
        assert_eq!(batch["count"], 2);
        let scores = batch["scores"].as_array().unwrap();
        scores.iter().for_each(assert_score);
        let sum: u64 = scores.iter().map(|score| score["score"].as_u64().unwrap()).sum();

        let mut mean = api.get(&format!("/api/v2/sandbox/score{slash}?address={ONE},nonsense,{FOUR}")).await.ok();
        assert_eq!(mean.as_object_mut().unwrap().remove("skipped").unwrap(), batch["skipped"]);
        assert_score(&mean);
        assert_eq!(mean["address"], json!([ONE, FOUR]));
        assert_eq!(mean["score"], sum.div_ceil(2));
    }
}

/// A generator states counts and times; the events and positions of production are made from them.
#[tokio::test]
async fn the_events_of_a_mock_report_are_those_that_its_pools_count() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let mut liquidated = 0;
    for last in 1..=40 {
        let report = api.get(&format!("/api/v2/sandbox/report/address/0x{last:040x}")).await.ok();
        let events = &report["credit_events"];
        let list = |name: &str| events[name].as_array().unwrap().clone();
        let sum: u64 = events["totals"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(list("events").len() as u64, sum.min(200), "{last}");
        for pool in list("pools") {
            let own = |event: &&Value| {
                ["protocol", "market_address", "chain_id"].iter().all(|field| event[field] == pool[field])
            };
            let dated = list("events");
            let times: Vec<_> = dated.iter().filter(own).map(|event| event["at"].clone()).collect();
            // A report has the newest 200 of all pools.
            if let (Some(newest), Some(oldest), ..=200) = (times.first(), times.last(), sum) {
                assert_eq!((newest, oldest), (&pool["last_event_at"], &pool["first_event_at"]), "{last} {pool}");
            }
        }
        let newest_first = list("events").windows(2).all(|two| two[0]["at"].as_str() >= two[1]["at"].as_str());
        assert!(newest_first, "{last}");
        let was_liquidated = events["totals"]["liquidation"] != 0;
        assert_eq!(events["last_liquidation_at"].is_string(), was_liquidated, "{last}");
        liquidated += u32::from(was_liquidated);
        let cents = |value: &Value| (value.as_f64().unwrap() * 100.0).round() as i64;
        let borrowed: i64 = list("positions").iter().map(|position| cents(&position["borrowed"])).sum();
        assert_eq!(borrowed, cents(&report["defi"]["total_borrowed"]), "{last}");
        for position in list("positions") {
            let has_factor = cents(&position["borrowed"]) > 0 && position["protocol"] != "lenderB_v2";
            assert_eq!(position["health_factor"].is_f64(), has_factor, "{last} {position}");
        }
        let counted = |totals: &Value| totals["borrow"].as_u64().unwrap();
        assert!(counted(&events["score_totals"]) <= counted(&events["totals"]), "{last}");
    }
    assert!(liquidated > 0);
    let list = api.get(&format!("/api/v2/sandbox/score/batch/?address={ONE},nonsense")).await.ok();
    assert_eq!(list["skipped"], json!([{ "address": "nonsense", "reason": "invalid" }]));
}

#[tokio::test]
async fn reports_and_portfolios_have_the_contracts_shape() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let report = api.get(&format!("/api/v2/sandbox/report/address/{VITALIK}")).await.ok();
    assert_eq!(
        keys(&report),
        ["activity", "address", "assets", "cached", "credit_events", "defi", "sandbox", "score", "timestamp"]
    );
    assert_eq!(report["sandbox"], true);
    assert_eq!(report["address"], VITALIK);
    let score = api.get(&format!("/api/v2/sandbox/score/address/{VITALIK}")).await.ok();
    let slash = api.get(&format!("/api/v2/sandbox/score/address/{VITALIK}/")).await.ok();
    assert_eq!((&slash["score"], &slash["address"]), (&score["score"], &score["address"]));
    assert_eq!(report["score"], json!({ "value": score["score"], "classification": score["range"] }));
    assert_eq!(keys(&report["assets"]), ["nfts", "tokens", "total_value_usd"]);
    let tokens = report["assets"]["tokens"].as_array().unwrap();
    for token in tokens {
        let mut fields = keys(token);
        fields.retain(|field| *field != "address");
        assert_eq!(fields, ["balance", "chain_id", "name", "price_source", "priced", "symbol", "value_usd"]);
        assert!(token["balance"].is_string() && token["chain_id"].is_u64());
        let native = ["ETH", "POL", "AVAX", "BNB", "FTM", "CELO"].contains(&token["symbol"].as_str().unwrap());
        assert!(!native || token["address"].is_null(), "{token}");
    }
    for nft in report["assets"]["nfts"].as_array().unwrap() {
        assert_eq!(keys(nft), ["chain_id", "collection", "name"]);
    }
    for protocol in report["defi"]["protocols"].as_array().unwrap() {
        assert_eq!(keys(protocol), ["borrowed", "chain_id", "name", "supplied"]);
    }
    assert_eq!(keys(&report["defi"]), ["protocols", "total_borrowed", "total_supplied"]);
    assert_eq!(keys(&report["activity"]), ["active_chains", "first_transaction", "total_transactions"]);
    assert_timestamp(&report["activity"]["first_transaction"]);
    let events = &report["credit_events"];
    let mut fields = keys(events);
    fields.retain(|field| *field != "last_liquidation_at");
    let expected = [
        "coverage",
        "defaults",
        "delinquencies",
        "events",
        "feeds_score",
        "not_covered",
        "pools",
        "positions",
        "remarks",
        "score_totals",
        "totals",
    ];
    assert_eq!(fields, expected);
    for kind in ["supply", "withdraw", "borrow", "repay", "liquidation"] {
        let sum: u64 =
            events["pools"].as_array().unwrap().iter().filter_map(|pool| pool["counts"][kind].as_u64()).sum();
        assert_eq!(events["totals"][kind], sum, "{kind}");
    }
    for pool in events["pools"].as_array().unwrap() {
        let expected = [
            "chain_id",
            "counts",
            "coverage",
            "feeds_score",
            "first_event_at",
            "last_event_at",
            "market",
            "market_address",
            "protocol",
            "synced_to_block",
        ];
        assert_eq!(keys(pool), expected);
    }

    let total = api.get(&format!("/api/v2/sandbox/report/address/{VITALIK}/total/usd")).await.ok();
    assert_eq!(keys(&total), ["address", "timestamp", "total_asset_usd"]);
    assert!(
        (total["total_asset_usd"].as_f64().unwrap() - report["assets"]["total_value_usd"].as_f64().unwrap()).abs()
            < 0.05
    );
    let mut sum = 0.0;
    for chain in [1, 10, 56, 137, 250, 324, 8453, 42161, 42220, 43114, 534352, 59144] {
        let body = api.get(&format!("/api/v2/sandbox/report/address/{VITALIK}/chain/{chain}/total/usd")).await.ok();
        assert_eq!(keys(&body), ["address", "chain_id", "chain_name", "timestamp", "total_asset_usd"]);
        assert_eq!(body["chain_id"], chain);
        sum += body["total_asset_usd"].as_f64().unwrap();
    }
    assert!((sum - total["total_asset_usd"].as_f64().unwrap()).abs() < 0.1, "{sum} {total}");
}

/// Address number `n` of a fixed random sequence.
fn random_address(n: u64) -> String {
    format!("0x{}", hex::encode(&Sha256::digest(n.to_be_bytes())[..20]))
}

async fn scores(api: &Caller, count: u64) -> BTreeMap<String, (u64, String)> {
    let batches: Vec<Vec<String>> =
        (0..count).map(random_address).collect::<Vec<_>>().chunks(100).map(<[_]>::to_vec).collect();
    let answers = stream::iter(batches).map(|batch| async move {
        let body = api.get(&format!("/api/v2/sandbox/score/batch/?address={}", batch.join(","))).await.ok();
        body["scores"].as_array().unwrap().clone()
    });
    let all: Vec<Vec<Value>> = answers.buffer_unordered(8).collect().await;
    all.into_iter()
        .flatten()
        .map(|score| {
            (
                score["address"].as_str().unwrap().to_lowercase(),
                (score["score"].as_u64().unwrap(), score["range"].as_str().unwrap().to_owned()),
            )
        })
        .collect()
}

#[tokio::test]
async fn ten_thousand_addresses_answer_alike_across_a_restart_and_on_a_second_host() {
    let shelf = shelf_copy();
    let first = Service::sandbox(shelf.path());
    let before = scores(&first.keyed(), 10_000).await;
    assert_eq!(before.len(), 10_000);
    let ranges: BTreeSet<&str> = before.values().map(|(_, range)| range.as_str()).collect();
    assert_eq!(ranges.len(), 5, "{ranges:?}");
    let second = Service::sandbox(&plugins());
    assert_eq!(scores(&second.keyed(), 10_000).await, before);
    let folder = first.kill();
    let restarted = Service::start_in(folder, &assay_tests::service::sandbox_config(shelf.path()), &[]);
    assert_eq!(scores(&restarted.keyed(), 10_000).await, before);
}

#[tokio::test]
async fn the_model_version_is_the_champions_also_after_a_swap() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let path = format!("/api/v2/sandbox/score/address/{ONE}");
    let before = api.get(&path).await.ok();
    api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.0" })).await.ok();
    let after = api.get(&path).await.ok();
    assert_eq!((&before["model_version"], &after["model_version"]), (&json!("1.1"), &json!("1.0")));
    assert_eq!(before["score"], after["score"], "the generator is another model");
    let restarted = Service::start_in(host.kill(), &assay_tests::service::sandbox_config(&plugins()), &[]);
    assert_eq!(restarted.keyed().get(&path).await.ok()["model_version"], "1.0", "a role outlives a restart");
}

#[tokio::test]
async fn sandbox_mode_answers_the_production_paths_from_the_generator() {
    let folder = tempfile::tempdir().unwrap();
    let host = Service::start_in(folder, &assay_tests::service::sandbox_config(&plugins()), &["--sandbox"]);
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

/// A server in sandbox mode.
fn rehearsing() -> Service {
    Service::start(&format!("sandbox = true\n{}", assay_tests::service::sandbox_config(&plugins())))
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
    // Some agents were burned, and some documents are unavailable.
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
    assert_eq!(one.anonymous().get("/api/v2/agents").await.expect(401)["detail"], "Invalid or missing API key");
}

/// Every status that is observed for a submission, and the last answer.
async fn followed(api: &Caller, status_url: &str) -> (Vec<String>, Value) {
    let mut seen = Vec::<String>::new();
    for _ in 0..600 {
        let answer = api.get(status_url).await;
        assert_eq!(answer.headers["x-assay-sandbox"], "true");
        let body = answer.ok();
        assert_eq!(
            keys(&body),
            [
                "agent_id",
                "created_at",
                "error",
                "feedback_uri",
                "scores",
                "status",
                "submission_id",
                "transactions",
                "updated_at"
            ]
        );
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
        assay_tests::service::sandbox_config(&plugins())
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
