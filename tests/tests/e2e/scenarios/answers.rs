//! Each scenario answers as its description says.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{listed, pools, report, sandbox, score};
use crate::reputation::{ended, subject};
use assay_tests::service::Caller;

#[tokio::test]
async fn every_scenario_of_an_answer_is_as_it_says() {
    let service = sandbox("");
    let api = service.keyed();
    let (at, _) = listed(&api).await;
    let counted = |body: &Value| {
        let texts = body["factors"].as_array().expect("factors").iter().map(|factor| factor["description"].to_string());
        texts.filter(|text| text.contains("repayment") || text.contains("lending markets")).count()
    };
    let sum = |body: &Value| {
        let points = body["factors"].as_array().expect("factors").iter().filter_map(|factor| factor["points"].as_i64());
        300 + points.sum::<i64>()
    };
    let plain = api.get(&format!("/api/v2/sandbox/score/address/{}", at["pending"])).await.ok()["score"].clone();
    for coverage in ["pending", "pending", "complete", "complete"] {
        let body = score(&api, &format!("{}?include_factors=true", at["pending"])).await.ok();
        assert_eq!(counted(&body), if coverage == "pending" { 0 } else { 2 }, "{}", body["factors"]);
        assert_eq!(body["score"], sum(&body), "{}", body["factors"]);
        assert_eq!(body["score"] == plain, coverage == "complete", "{body}");
        assert_eq!(
            (&body["credit_events_coverage"], &body["provisional"]),
            (&json!(coverage), &json!(coverage != "complete"))
        );
    }
    for (id, coverage) in
        [("partial", "partial"), ("failed-pool", "failed"), ("provisional", "partial"), ("chain-unread", "failed")]
    {
        let body = score(&api, &at[id]).await.ok();
        assert_eq!((&body["credit_events_coverage"], &body["provisional"]), (&json!(coverage), &json!(true)), "{id}");
        assert_eq!(
            body["score"],
            api.get(&format!("/api/v2/sandbox/score/address/{}", at[id])).await.ok()["score"],
            "{id}"
        );
    }
    let failed = report(&api, &at["failed-pool"]).await;
    let (lost, read): (Vec<_>, Vec<_>) = pools(&failed).iter().partition(|pool| pool["coverage"] == "failed");
    assert_eq!((lost.len(), read.is_empty()), (1, false));
    let nulls = json!({ "supply": null, "withdraw": null, "borrow": null, "repay": null, "liquidation": null });
    assert_eq!((&lost[0]["counts"], &lost[0]["synced_to_block"]), (&nulls, &Value::Null));
    assert_eq!(failed["unread"].as_array().map(Vec::len), Some(1), "{}", failed["unread"]);

    let provisional = report(&api, &at["provisional"]).await;
    assert_eq!(provisional["credit_events"]["coverage"], "complete");
    assert!(provisional["unread"][0].as_str().is_some_and(|said| said.contains("no source has a fresh price")));

    let unread = report(&api, &at["chain-unread"]).await;
    let chains = unread["activity"]["active_chains"].as_array().expect("a list");
    assert!(!chains.contains(&json!(42_161)) && !chains.is_empty(), "{chains:?}");
    for path in ["chain/42161", "chain/42161/summary"] {
        let down = api.get(&format!("/api/v2/report/address/{}/{path}", at["chain-unread"])).await;
        assert_eq!(down.expect(502)["detail"], "Chain 42161 could not be read; try again later", "{path}");
    }
    let total = api.get(&format!("/api/v2/report/address/{}/total/usd", at["chain-unread"])).await.ok();
    assert!(total["unread"].as_array().is_some_and(|said| said.len() == 3), "{total}");

    let yesterday = report(&api, &at["liquidated-yesterday"]).await;
    let last = pools(&yesterday).iter().filter_map(|pool| pool["last_event_at"].as_str()).max().expect("an event");
    let last = chrono::DateTime::parse_from_rfc3339(last).expect("a time").to_utc();
    assert_eq!((chrono::Utc::now() - last).num_hours(), 24);
    let plain = api.get(&format!("/api/v2/sandbox/report/address/{}", at["liquidated-yesterday"])).await.ok();
    let liquidations = |report: &Value| report["credit_events"]["totals"]["liquidation"].as_u64().expect("a count");
    assert_eq!(liquidations(&yesterday), liquidations(&plain) + 1);
}

#[tokio::test]
async fn every_scenario_of_a_refusal_is_as_it_says() {
    let service = sandbox("");
    let api = service.keyed();
    let (at, _) = listed(&api).await;
    for (id, status, retry) in
        [("rate-limited", 429, Some("30")), ("upstream-failed", 502, Some("10")), ("unavailable", 503, Some("1"))]
    {
        for path in ["score/address/{}", "report/address/{}", "report/address/{}/total/usd", "score/?address={}"] {
            let answer = api.get(&format!("/api/v2/{}", path.replace("{}", &at[id]))).await;
            assert_eq!(answer.status.as_u16(), status, "{id} {path}: {}", answer.text);
            let header = answer.headers.get("retry-after").map(|value| value.to_str().expect("text"));
            assert_eq!(header, retry, "{id} {path}");
        }
        // The paths of the sandbox stay as they are.
        api.get(&format!("/api/v2/sandbox/score/address/{}", at[id])).await.ok();
    }
    // Faults of the model and of the units have no `Retry-After`; sums need no model.
    for (id, status, code, of_sums) in [
        ("timed-out", 504, None, 504),
        ("model-failed", 500, Some("trap"), 200),
        ("units-used-up", 429, Some("units_used_up"), 429),
        ("not-scored", 404, Some("not_scored"), 200),
    ] {
        let answer = score(&api, &at[id]).await;
        assert_eq!(answer.json()["code"].as_str(), code, "{}", answer.text);
        assert_eq!(answer.headers.contains_key("retry-after"), status == 504, "{id}");
        answer.expect(status);
        api.get(&format!("/api/v2/report/address/{}/total/usd", at[id])).await.expect(of_sums);
    }
    let unscored = report(&api, &at["not-scored"]).await["score"].clone();
    assert_eq!((&unscored["value"], &unscored["refused"]["code"]), (&Value::Null, &json!("not_scored")), "{unscored}");
    // A client that waits for less gives up.
    let url = format!("/api/v2/score/address/{}", at["slow"]);
    let hurried = api.request(Method::GET, &url).timeout(std::time::Duration::from_secs(4)).send().await;
    assert!(hurried.is_err_and(|error| error.is_timeout()));
    api.get(&url).await.ok();
}

#[tokio::test]
async fn a_wallet_without_activity_is_404_and_its_report_is_of_zeros() {
    let service = sandbox("");
    let api = service.keyed();
    let at = listed(&api).await.0["not-found"].clone();
    for path in ["score/address/{}", "score/?address={}"] {
        api.get(&format!("/api/v2/{}", path.replace("{}", &at))).await.expect(404);
    }
    let zeros = report(&api, &at).await;
    assert_eq!(zeros["score"], json!({ "value": 300, "classification": "low", "inactive": true }));
    assert_eq!(zeros["assets"], json!({ "total_value_usd": 0.0, "tokens": [], "nfts": [] }));
    assert_eq!(
        (&zeros["activity"]["total_transactions"], &zeros["activity"]["active_chains"]),
        (&json!(0), &json!([]))
    );
    assert_eq!(zeros["credit_events"]["totals"]["borrow"], 0);
    let total = api.get(&format!("/api/v2/report/address/{at}/total/usd")).await.ok();
    assert_eq!((&total["total_asset_usd"], &total["unread"]), (&json!(0.0), &json!([])));
    let summary = api.get(&format!("/api/v2/report/address/{at}/chain/1/summary")).await.ok();
    assert_eq!(summary["report"]["unread"], json!([]), "{summary}");
}

#[tokio::test]
async fn a_first_read_is_counted_for_each_key_and_begins_again_after_a_reset() {
    let keys = ["one", "two"]
        .map(|name| format!("[[access.keys]]\nname = \"{name}\"\nkey = \"assay_{name}_key_1\"\nscopes = [\"read\"]\n"));
    let service = sandbox(&keys.concat());
    let [one, two] = ["one", "two"].map(|name| service.with_key(&format!("assay_{name}_key_1")));
    let (at, _) = listed(&one).await;
    let coverages = async |api: &Caller, id: &str, count: usize| {
        let mut seen = Vec::new();
        for _ in 0..count {
            let answer = score(api, &at[id]).await;
            seen.push((answer.status.as_u16(), answer.json()["credit_events_coverage"].clone()));
        }
        seen
    };
    let (pending, complete) = ((200, json!("pending")), (200, json!("complete")));
    let first = [pending.clone(), pending.clone(), complete.clone()];
    assert_eq!(coverages(&one, "pending", 3).await, first);
    assert_eq!(coverages(&two, "pending", 3).await, first);
    one.request(Method::POST, "/api/v2/sandbox/reset")
        .send()
        .await
        .expect("an answer")
        .error_for_status()
        .expect("204");
    assert_eq!(coverages(&one, "pending", 3).await, first);
    assert_eq!(coverages(&two, "pending", 1).await, std::slice::from_ref(&complete));
    assert_eq!(coverages(&one, "recovers", 3).await, [(503, Value::Null), (503, Value::Null), complete]);
    // A list counts as well.
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(two.get(&format!("/api/v2/score/batch/?address={}", at["recovers"])).await.status.as_u16());
    }
    assert_eq!(seen, [503, 503, 200]);
}

#[tokio::test]
async fn a_mock_has_a_history_that_ends_at_its_score_and_agrees_with_its_report() {
    let service = sandbox("");
    let api = service.keyed();
    let wallet = "0x0000000000000000000000000000000000000001";
    let url = format!("/api/v2/score/address/{wallet}/history?from=2020-01-01&every=90d");
    let history = api.get(&url).await.ok();
    let points = history["points"].as_array().expect("points");
    let states: Vec<_> = points.iter().filter_map(|point| point["state"].as_str()).collect();
    assert_eq!((states[0], states.last(), &history["pending"]), ("inactive", Some(&"scored"), &json!(false)));
    let first = report(&api, wallet).await["activity"]["first_transaction"].as_str().expect("a time").to_owned();
    for point in points {
        let active = point["as_of"].as_str().expect("a time") >= first.as_str();
        assert_eq!(point["state"], if active { "scored" } else { "inactive" }, "{point}");
    }
    let scores: Vec<_> = points.iter().filter_map(|point| point["score"].as_i64()).collect();
    assert!(scores.iter().max() > scores.iter().min(), "{scores:?}");
    let now = score(&api, wallet).await.ok()["score"].as_i64().expect("a score");
    assert!(scores.last().is_some_and(|last| (last - now).abs() < 20), "{scores:?} {now}");
    for point in points.iter().filter(|point| point["change"].is_object()) {
        let change = &point["change"];
        let factors = change["factors"].as_array().expect("factors").iter().filter_map(|one| one["points"].as_i64());
        assert_eq!(change["score"].as_i64(), change["rest"].as_i64().map(|rest| rest + factors.sum::<i64>()));
    }
    assert_eq!(api.get(&url).await.ok(), history);
    let (at, _) = listed(&api).await;
    for (id, state) in [("not-found", "inactive"), ("pending", "pending"), ("not-scored", "not_scored")] {
        let past = api.get(&format!("/api/v2/score/address/{}/history", at[id])).await.ok();
        assert_eq!(past["points"][0]["state"], state, "{past}");
    }
}

#[tokio::test]
async fn submissions_fail_in_the_phase_that_the_scenario_says() {
    let service = sandbox("");
    let api = service.keyed();
    let (_, agents) = listed(&api).await;
    let fails = async |(phase, words, price): (&str, &str, &str)| {
        let path = format!("/api/v2/agents/{}/reputation", agents[&format!("submission-fails-{phase}")]);
        let accepted = api.post(&path, &json!({ "address": subject(1) })).await.expect(202);
        let status = ended(&api, accepted["status_url"].as_str().expect("a path")).await;
        assert_eq!(status["status"], "failed", "{phase}");
        let error = status["error"].as_str().expect("words");
        assert!(error.contains(words) && error.ends_with(price), "{error}");
        (status["scores"].is_null(), status["feedback_uri"].is_null())
    };
    let phases = [
        ("scoring", "everything on chain 10: no endpoint answers", "; the units were given back"),
        ("uploading", "the last obstacle: the IPFS node cannot be reached", "; the units were given back"),
        ("submitting", "the Reputation Registry refuses the feedback", "so the units stay spent"),
    ];
    let shown = join_all(phases.map(fails)).await;
    assert_eq!(shown, [(true, true), (false, true), (false, false)]);
}
