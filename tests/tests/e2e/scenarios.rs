//! The scenarios of the sandbox: each answers as its description says, with the bytes of a real server under the real
//! condition. A tester's own generator has its own scenarios.

use std::collections::BTreeMap;

use alloy::primitives::{Bytes, U256};
use assay_tests::{
    payment::{Dollar, Order, PRICE, Till, USDC, now},
    scripted::{self, Scripted},
    service::{Answer, Caller, Service, answer, plugins, sandbox_config, shelf_copy},
};
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    reputation::{ended, subject},
    run,
    unread::gone,
};

fn sandbox(more: &str) -> Service {
    let config = sandbox_config(&plugins()) + more;
    Service::start_in(tempfile::tempdir().expect("a temporary folder"), &config, &["--sandbox"])
}

/// The addresses and agents of the scenarios by their ids.
async fn listed(api: &Caller) -> (BTreeMap<String, String>, BTreeMap<String, u64>) {
    let body = api.get("/api/v2/sandbox/scenarios").await.ok();
    let all = body["scenarios"].as_array().expect("a list");
    assert_eq!(body["count"], all.len());
    let id = |one: &Value| one["id"].as_str().expect("an id").to_owned();
    let addresses = all.iter().filter_map(|one| Some((id(one), one["address"].as_str()?.to_owned())));
    let agents = all.iter().filter_map(|one| Some((id(one), one["agent_id"].as_u64()?)));
    (addresses.collect(), agents.collect())
}

async fn score(api: &Caller, address: &str) -> Answer {
    api.get(&format!("/api/v2/score/address/{address}")).await
}

async fn report(api: &Caller, address: &str) -> Value {
    api.get(&format!("/api/v2/report/address/{address}")).await.ok()
}

fn pools(report: &Value) -> &Vec<Value> {
    report["credit_events"]["pools"].as_array().expect("pools")
}

#[tokio::test]
async fn every_scenario_of_an_answer_is_as_it_says() {
    let service = sandbox("");
    let api = service.keyed();
    let (at, _) = listed(&api).await;
    for coverage in ["pending", "pending", "complete", "complete"] {
        let body = score(&api, &at["pending"]).await.ok();
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
    let fails = async |(phase, words): (&str, &str)| {
        let path = format!("/api/v2/agents/{}/reputation", agents[&format!("submission-fails-{phase}")]);
        let accepted = api.post(&path, &json!({ "address": subject(1) })).await.expect(202);
        let status = ended(&api, accepted["status_url"].as_str().expect("a path")).await;
        assert_eq!(status["status"], "failed", "{phase}");
        let error = status["error"].as_str().expect("words");
        assert!(error.contains(words) && error.ends_with("; the units were given back"), "{error}");
        (status["scores"].is_null(), status["feedback_uri"].is_null())
    };
    let phases = [
        ("scoring", "everything on chain 10: no endpoint answers"),
        ("uploading", "the last obstacle: the IPFS node cannot be reached"),
        ("submitting", "the Reputation Registry refuses the feedback"),
    ];
    let shown = join_all(phases.map(fails)).await;
    assert_eq!(shown, [(true, true), (false, true), (false, false)]);
}

/// The payments that a real server refuses, by the scenario of each.
async fn bad_orders(till: &Till) -> Vec<(&'static str, Order)> {
    let bent = |edit: &dyn Fn(&mut Order)| {
        let mut order = till.order();
        edit(&mut order);
        order
    };
    let poor = alloy::signers::local::PrivateKeySigner::random();
    let used = till.order();
    let nonce = used.authorization.nonce;
    till.send(till.payer.address(), USDC, &Dollar::cancelAuthorizationCall { nonce }).await;
    vec![
        ("network", bent(&|order| order.network = "base-sepolia".into())),
        ("recipient", bent(&|order| order.authorization.to = USDC)),
        ("value", bent(&|order| order.authorization.value = U256::from(PRICE - 1))),
        ("not-yet-valid", bent(&|order| order.authorization.valid_after = U256::from(now() + 60))),
        ("expired", bent(&|order| order.authorization.valid_before = U256::from(now() - 1))),
        (
            "insufficient-funds",
            bent(&|order| (order.authorization.from, order.signer) = (poor.address(), poor.clone())),
        ),
        ("nonce-used", used),
    ]
}

/// The answer to a payment, without its resource, which names host and agent.
async fn refusal(api: &Caller, agent: u64, header: &str) -> (u16, Value) {
    let body = json!({ "address": subject(1), "tags": ["sybilRisk"] });
    let request = api.request(Method::POST, &format!("/api/v2/agents/{agent}/reputation"));
    let refused = answer(request.header("x-payment", header).json(&body)).await;
    let mut body = refused.json();
    body["accepts"][0]["resource"] = Value::Null;
    (refused.status.as_u16(), body)
}

/// The text without the number of its chain and its number of seconds.
fn neutral(text: &str, chain: &str) -> String {
    let text = text.replace(chain, "chain N").replace(&chain.replace("chain", "Chain"), "Chain N");
    let words: Vec<&str> = text.split(' ').collect();
    let word = |at: usize| if words.get(at + 1) == Some(&"s\"") { "some" } else { words[at] };
    (0..words.len()).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn scenarios_answer_as_a_real_server_does_under_the_real_condition() {
    run(async {
        let till = Till::start().await;
        let slow = "[[access.keys]]\nname = \"slow\"\nkey = \"assay_two_a_minute\"\nscopes = [\"read\"]\nrate = 2\n";
        let config =
            till.config(till.world.chain.url(), "").replace("[reputation]\n", "[reputation]\ncoverage_wait_ms = 200\n");
        let real = Service::start(&(config + &gone() + slow));
        let mock = sandbox(&format!("[access.x402]\npay_to = \"{}\"\n", till.pay_to));
        let (real_api, mock_api) = (real.keyed(), mock.keyed());
        let (at, agents) = listed(&mock_api).await;

        // A submission that cannot be scored.
        let mut errors = Vec::new();
        for (api, agent) in [(&real_api, 1), (&mock_api, agents["submission-fails-scoring"])] {
            let path = format!("/api/v2/agents/{agent}/reputation");
            let accepted = api.post(&path, &json!({ "address": subject(1) })).await.expect(202);
            errors.push(ended(api, accepted["status_url"].as_str().expect("a path")).await["error"].clone());
        }
        assert_eq!(errors[0], errors[1]);

        // A chain that does not answer.
        let down = async |api: &Caller, address: &str, chain: u64| {
            let answer = api.get(&format!("/api/v2/report/address/{address}/chain/{chain}")).await;
            let all = report(api, address).await;
            let whole = all["unread"].as_array().expect("a list")[..]
                .iter()
                .find(|said| said.as_str().is_some_and(|said| said.starts_with("everything")))
                .cloned();
            let text = format!("{} {:?} {} {whole:?}", answer.status, answer.headers.get("retry-after"), answer.text);
            neutral(&text, &format!("chain {chain}"))
        };
        let known = subject(1).to_string();
        assert_eq!(down(&real_api, &known, 10).await, down(&mock_api, &at["chain-unread"], 42_161).await);

        // A key beyond its rate.
        let slow = real.with_key("assay_two_a_minute");
        let mut limited = score(&slow, &known).await;
        while limited.status != 429 {
            limited = score(&slow, &known).await;
        }
        let played = score(&mock_api, &at["rate-limited"]).await;
        let told = |answer: &Answer| {
            (neutral(&answer.text.replace(" s\"", " s\" "), "no chain"), answer.headers["ratelimit-policy"].clone())
        };
        assert_eq!(told(&limited), told(&played));

        // Payments.
        let (payer, mocked) = (real.anonymous(), mock.anonymous());
        for (why, order) in bad_orders(&till).await {
            let agent = agents[&format!("payment-refused-{why}")];
            assert_eq!(
                refusal(&mocked, agent, &order.header()).await,
                refusal(&payer, 1, &order.header()).await,
                "{why}"
            );
        }
        let forged = till.order().signed(Bytes::from(vec![7; 65]));
        let shown = |(status, mut body): (u16, Value)| {
            // The words name the account of the order, so only their length is the same.
            body["detail"] = json!(body["detail"].as_str().map(|words| words.len()));
            (status, body)
        };
        let agent = agents["payment-refused-signature"];
        assert_eq!(shown(refusal(&mocked, agent, &forged).await), shown(refusal(&payer, 1, &forged).await));
        for (why, reason) in
            [("transaction-reverted", "invalid_transaction_state"), ("settlement-failed", "unexpected_settle_error")]
        {
            let (status, body) =
                refusal(&mocked, agents[&format!("payment-refused-{why}")], &till.order().header()).await;
            assert_eq!((status, &body["error"]), (402, &json!(reason)));
        }
        assert_eq!(till.balance().await, 0);
    });
}

#[tokio::test]
async fn a_testers_own_generator_scripts_its_own() {
    let shelf = shelf_copy();
    let file = shelf.path().join("mine.wasm");
    std::fs::write(file, scripted::generator("7.0", Scripted::RATE_LIMITED_FOR_SEVEN_SECONDS)).expect("a file");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let service = Service::start_in(dir, &sandbox_config(shelf.path()), &["--sandbox"]);
    let api = service.keyed();
    api.put("/api/v2/admin/models/sandbox/champion", &json!({ "version": "7.0" })).await.ok();
    let (at, agents) = listed(&api).await;
    assert_eq!((at.len(), at["scripted"].as_str(), agents.len()), (1, scripted::ADDRESS, 0));
    let limited = score(&api, scripted::ADDRESS).await;
    assert_eq!((limited.status.as_u16(), &limited.headers["retry-after"]), (429, &"7".parse().expect("a header")));
    let other = "0x0000000000000000000000000000000000000108";
    assert_eq!(score(&api, other).await.ok()["score"], 640, "the first-party scenario is gone with its generator");

    // Another version of it, dropped beside it while the server runs.
    let pending = scripted::generator("7.1", Scripted::PENDING_UNTIL_SECOND);
    api.post_bytes("/api/v2/admin/models", pending).await.expect(201);
    api.put("/api/v2/admin/models/sandbox/champion", &json!({ "version": "7.1" })).await.ok();
    let provisional = async || score(&api, scripted::ADDRESS).await.ok()["credit_events_coverage"].clone();
    assert_eq!((provisional().await, provisional().await), (json!("pending"), json!("complete")));

    // A generator of the first contract has none.
    api.put("/api/v2/admin/models/sandbox/champion", &json!({ "version": "1.1" })).await.ok();
    assert_eq!(api.get("/api/v2/sandbox/scenarios").await.ok(), json!({ "scenarios": [], "count": 0 }));
}
