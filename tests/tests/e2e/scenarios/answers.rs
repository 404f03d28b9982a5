//! Each scenario answers as its description says.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{listed, pools, report, sandbox, score};
use crate::reputation::{ended, subject};

#[tokio::test]
async fn every_scenario_of_an_answer_is_as_it_says() {
    let service = sandbox("");
    let api = service.keyed();
    let (at, _) = listed(&api).await;
    let counted = |body: &Value| {
        let texts = body["factors"].as_array().expect("factors").iter().map(|factor| factor["description"].to_string());
        texts.filter(|text| text.contains("repayment") || text.contains("lending markets")).count()
    };
    for coverage in ["pending", "pending", "complete", "complete"] {
        let body = score(&api, &format!("{}?include_factors=true", at["pending"])).await.ok();
        assert_eq!(counted(&body), if coverage == "pending" { 0 } else { 2 }, "{}", body["factors"]);
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
    for (id, status, retry) in [
        ("not-found", 404, None),
        ("rate-limited", 429, Some("30")),
        ("upstream-failed", 502, Some("10")),
        ("unavailable", 503, Some("1")),
    ] {
        for path in ["score/address/{}", "report/address/{}", "report/address/{}/total/usd", "score/?address={}"] {
            let answer = api.get(&format!("/api/v2/{}", path.replace("{}", &at[id]))).await;
            assert_eq!(answer.status.as_u16(), status, "{id} {path}: {}", answer.text);
            let header = answer.headers.get("retry-after").map(|value| value.to_str().expect("text"));
            assert_eq!(header, retry, "{id} {path}");
        }
        // The paths of the sandbox stay as they are.
        api.get(&format!("/api/v2/sandbox/score/address/{}", at[id])).await.ok();
    }
    // A client that waits for less gives up.
    let url = format!("/api/v2/score/address/{}", at["slow"]);
    let hurried = api.request(Method::GET, &url).timeout(std::time::Duration::from_secs(4)).send().await;
    assert!(hurried.is_err_and(|error| error.is_timeout()));
    api.get(&url).await.ok();
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
