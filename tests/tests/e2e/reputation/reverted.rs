//! Owners of agents who make feedback fail after the chain has confirmed that it would not: what that costs the
//! operator, and what it costs them.

use alloy::{
    primitives::{Address, Bytes, U256},
    sol,
    sol_types::SolCall,
};
use assay_tests::{
    devnet::actors,
    payment::Till,
    proxy::{Call, Proxy, Reply},
    reputation::World,
    service::{Caller, Service},
    until::until,
};
use serde_json::{Value, json};

use super::{ALL, check, confirmed, ended, subject, waiting};
use crate::{
    conformance::assert_declared,
    run,
    x402::{dollars, pay, pay_until_settled, with_gas},
};

sol! {
    function setApprovalForAll(address operator, bool approved) external;
    function register(string uri) external returns (uint256 agentId);
}

const METERED: &str = "assay_reputation_reverted";

fn keys(units: u64) -> String {
    format!(
        "[[access.keys]]\nname = \"reverted\"\nkey = \"{METERED}\"\nscopes = [\"read\", \"submit\"]\nunits = {units}\n"
    )
}

/// Sends a transaction that is mined before all others.
pub(crate) async fn ahead<C: SolCall>(world: &World, from: Address, to: Address, call: &C) -> Value {
    world.rpc("anvil_setBalance", json!([from, U256::from(10).pow(U256::from(20))])).await;
    let (data, price) = (Bytes::from(call.abi_encode()), U256::from(100_000_000_000_u64));
    let sent = json!({ "from": from, "to": to, "data": data, "gas": "0x40000", "gasPrice": price });
    world.rpc("eth_sendTransaction", json!([sent])).await
}

/// As [`ahead`], and waits until it is mined.
async fn mined<C: SolCall>(world: &World, from: Address, to: Address, call: &C) {
    let hash = ahead(world, from, to, call).await;
    until(async || world.rpc("eth_getTransactionReceipt", json!([hash])).await, |receipt| !receipt.is_null()).await;
}

/// The owner of agents 0 and 1.
fn owner() -> Address {
    actors::address("owner")
}

fn approval(world: &World, approved: bool) -> setApprovalForAllCall {
    setApprovalForAllCall { operator: world.signer.address(), approved }
}

/// The gas that the account's reverted transactions used, and their number.
pub(crate) async fn reverted(world: &World) -> (u64, usize) {
    let number = |value: &Value| {
        u64::from_str_radix(value.as_str().expect("hex").trim_start_matches("0x"), 16).expect("a number")
    };
    let head = number(&world.rpc("eth_blockNumber", json!([])).await);
    let (mut gas, mut count) = (0, 0);
    let account = world.signer.address();
    for block in 0..=head {
        let receipts = world.rpc("eth_getBlockReceipts", json!([format!("{block:#x}")])).await;
        for receipt in receipts.as_array().into_iter().flatten() {
            let from = receipt["from"].as_str().and_then(|from| from.parse::<Address>().ok());
            if from == Some(account) && receipt["status"] == "0x0" {
                (gas, count) = (gas + number(&receipt["gasUsed"]), count + 1);
            }
        }
    }
    (gas, count)
}

/// Holds the estimates of calls of the reputation registry.
fn estimates_of_feedback(world: &World) -> impl FnMut(&Call) -> Reply + Send + 'static {
    let registry = world.reputation.to_string();
    move |call| {
        let to = call.params[0]["to"].as_str().unwrap_or_default();
        let feedback = call.method == "eth_estimateGas" && to.eq_ignore_ascii_case(&registry);
        if feedback { Reply::Hold } else { Reply::Pass }
    }
}

async fn submit_for(api: &Caller, agent: u64, n: usize) -> assay_tests::service::Answer {
    api.post(&format!("/api/v2/agents/{agent}/reputation"), &json!({ "address": subject(n) })).await
}

#[test]
fn scores_are_not_free_for_an_agent_that_approved_the_service() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let service = Service::start(&(world.config(&proxy.url, "") + &keys(20)));
        let api = service.with_key(METERED);
        mined(&world, owner(), world.identity, &approval(&world, true)).await;
        // More than its units would pay for, and nothing is scored.
        for n in 0..5 {
            let refused = submit_for(&api, 1, n).await;
            println!("for an agent that approved the service: {} {}", refused.status, refused.text);
            assert_eq!(refused.expect(422)["code"], "own_agent");
        }
        assert_eq!(world.ipfs.adds(), 0);
        mined(&world, owner(), world.identity, &approval(&world, false)).await;
        // The owner approves between the scores and the signature.
        proxy.rule(estimates_of_feedback(&world));
        let accepted = submit_for(&api, 1, 1).await.expect(202);
        proxy.held().await;
        mined(&world, owner(), world.identity, &approval(&world, true)).await;
        proxy.rule(|_| Reply::Pass);
        proxy.release(100);
        let status = ended(&api, accepted["status_url"].as_str().expect("a path")).await;
        println!("approved after it was scored: {status}");
        let error = status["error"].as_str().expect("a message");
        assert!(status["scores"].is_object() && error.contains("the units stay spent"), "{status}");
        mined(&world, owner(), world.identity, &approval(&world, false)).await;
        let accepted = submit_for(&api, 1, 2).await.expect(202);
        assert_eq!(submit_for(&api, 1, 3).await.expect(429)["code"], "units_used_up");
        let status = confirmed(&api, accepted["status_url"].as_str().expect("a path")).await;
        check(&world, &world.held().await, &status, &ALL);
        assert_eq!(reverted(&world).await, (0, 0));
    });
}

#[test]
fn an_owner_who_makes_feedback_revert_pays_for_it_and_is_set_aside() {
    run(async {
        let world = World::start().await;
        let config = with_gas(&world.config(world.chain.url(), ""), "party_usd = 0.003") + &keys(100);
        let service = Service::start(&config);
        let api = service.with_key(METERED);
        world.mining(false).await;
        let mut under_way = Vec::new();
        for n in 0..3 {
            under_way.push(submit_for(&api, 1, n).await.expect(202)["status_url"].as_str().expect("a path").to_owned());
        }
        // One feedback can cost more than the owner and the key may lose: there is one at a time.
        waiting(&world, 1).await;
        ahead(&world, owner(), world.identity, &approval(&world, true)).await;
        world.mining(true).await;
        for url in &under_way {
            let status = ended(&api, url).await;
            let error = status["error"].as_str().expect("a message");
            assert!(error.contains("the units stay spent"), "{error}");
        }
        let lost = reverted(&world).await;
        println!("three submissions that revert: {} transactions, {} gas, for 30 units", lost.1, lost.0);
        assert_eq!(lost.1, 1);
        mined(&world, owner(), world.identity, &approval(&world, false)).await;
        let aside = submit_for(&api, 1, 4).await;
        println!("the agent: {}", aside.text);
        assert!(aside.headers.contains_key("retry-after"));
        assert_eq!(aside.expect(422)["code"], "agent_set_aside");
        // It is remembered by the store.
        let service = Service::start_in(service.kill(), &config, &[]);
        let api = service.with_key(METERED);
        assert_eq!(submit_for(&api, 1, 5).await.expect(422)["code"], "agent_set_aside");
        let document = service.anonymous().get("/openapi.json").await.ok();
        // Another agent of the owner, and then an agent of somebody else.
        let stranger = actors::address("stranger");
        for (agent, owner) in [(3, owner()), (4, stranger)] {
            mined(&world, owner, world.identity, &registerCall { uri: String::new() }).await;
            let refused = submit_for(&api, agent, 6).await;
            println!("agent {agent}: {} {}", refused.status, refused.text);
            let (status, code) = if agent == 3 { (422, "agent_set_aside") } else { (429, "feedback_reverted") };
            assert_declared(&document, "POST", "/api/v2/agents/{agent_id}/reputation", &refused);
            assert_eq!(refused.expect(status)["code"], code);
        }
        // Another key is not concerned.
        let api = service.keyed();
        let accepted = submit_for(&api, 4, 7).await.expect(202);
        confirmed(&api, accepted["status_url"].as_str().expect("a path")).await;
        assert_eq!(reverted(&world).await, lost);
    });
}

#[test]
fn submissions_are_served_in_turn_when_reverted_feedback_has_used_the_budget() {
    run(async {
        let world = World::start().await;
        // One feedback fits, and what is lost returns within seconds.
        let gas = "feedback_usd = 0.03, party_usd = 0.03, period_seconds = 20";
        let service = Service::start(&(with_gas(&world.config(world.chain.url(), ""), gas) + &keys(100)));
        let api = service.with_key(METERED);
        world.mining(false).await;
        let accepted = submit_for(&api, 1, 0).await.expect(202);
        waiting(&world, 1).await;
        ahead(&world, owner(), world.identity, &approval(&world, true)).await;
        world.mining(true).await;
        ended(&api, accepted["status_url"].as_str().expect("a path")).await;
        mined(&world, actors::address("stranger"), world.identity, &registerCall { uri: String::new() }).await;
        let started = std::time::Instant::now();
        let api = service.keyed();
        let accepted = submit_for(&api, 3, 1).await.expect(202);
        confirmed(&api, accepted["status_url"].as_str().expect("a path")).await;
        let (gas, count) = reverted(&world).await;
        println!(
            "after {count} reverted feedback, ${:.4} of a budget of $0.03: the next submission is confirmed after \
             {:.1} s",
            dollars(gas),
            started.elapsed().as_secs_f64()
        );
        assert_eq!(count, 1);
    });
}

#[test]
fn a_paid_submission_that_reverts_is_not_retried_for_ever() {
    run(async {
        let till = Till::start().await;
        let world = &till.world;
        let proxy = Proxy::start(world.chain.url()).await;
        let service = Service::start(&till.config(&proxy.url, ""));
        let api = service.anonymous();
        proxy.rule(estimates_of_feedback(world));
        let header = till.order().header();
        let accepted = pay_until_settled(&api, &header, 1).await.expect(202);
        proxy.held().await;
        world.mining(false).await;
        proxy.rule(|_| Reply::Pass);
        proxy.release(100);
        waiting(world, 1).await;
        ahead(world, owner(), world.identity, &approval(world, true)).await;
        world.mining(true).await;
        let url = accepted["status_url"].as_str().expect("a path");
        let status = ended(&api, url).await;
        let error = status["error"].as_str().expect("a message");
        assert!(error.contains("the payment stays spent"), "{error}");
        mined(world, owner(), world.identity, &approval(world, false)).await;
        for _ in 0..3 {
            let again = pay(&api, &header, 1).await.expect(202);
            assert_eq!(again["submission_id"], accepted["submission_id"]);
        }
        // Another payment for the agent is not taken.
        let other = pay(&api, &till.order().header(), 2).await;
        assert_eq!(other.expect(422)["code"], "agent_set_aside");
        let (gas, count) = reverted(world).await;
        println!("a paid submission that reverts: {count} transaction, {gas} gas, for one payment");
        assert_eq!((count, till.transfers().await.len()), (1, 1));
    });
}

#[test]
fn owners_who_make_feedback_revert_keep_no_payment_waiting() {
    run(async {
        let till = Till::start().await;
        let world = &till.world;
        // A week until the budget of feedback returns.
        let gas = "feedback_usd = 0.03, party_usd = 0.03, period_seconds = 604_800";
        let service =
            Service::start(&(with_gas(&till.config(world.chain.url(), "settle_ms = 29_000"), gas) + &keys(100)));
        let api = service.with_key(METERED);
        world.mining(false).await;
        let accepted = submit_for(&api, 1, 0).await.expect(202);
        waiting(world, 1).await;
        ahead(world, owner(), world.identity, &approval(world, true)).await;
        world.mining(true).await;
        ended(&api, accepted["status_url"].as_str().expect("a path")).await;
        mined(world, owner(), world.identity, &approval(world, false)).await;
        mined(world, actors::address("stranger"), world.identity, &registerCall { uri: String::new() }).await;
        // A payment is taken, for it covers the gas of its feedback.
        let anonymous = service.anonymous();
        let request = |header: String| {
            let body = json!({ "address": subject(2), "tags": ["sybilRisk"] });
            let path = "/api/v2/agents/3/reputation";
            anonymous.request(reqwest::Method::POST, path).header("x-payment", header).json(&body)
        };
        let header = till.order().header();
        let settled = async || assay_tests::service::answer(request(header.clone())).await;
        let paid = until(settled, |answer| answer.status != 503).await;
        println!("a payment while the budget of feedback is spent: {} {}", paid.status, paid.text);
        confirmed(&anonymous, paid.expect(202)["status_url"].as_str().expect("a path")).await;
        assert_eq!(reverted(world).await.1, 1);
    });
}
