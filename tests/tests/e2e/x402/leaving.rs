//! Callers who leave before the answer: each call ends with a submission, or without a payment.

use std::time::Duration;

use alloy::primitives::{Address, Bytes};
use assay_tests::{
    lenders::stubs,
    payment::{PRICE, Till, impatient_pypi_client, npm_client},
    service::{Caller, Service, answer},
    until::until,
};
use serde_json::{Value, json};

use super::{PATH, pay_until_settled, serve};
use crate::{
    reputation::{confirmed, subject, waiting},
    run,
};

fn request(api: &Caller, header: &str, n: usize) -> reqwest::RequestBuilder {
    let body = json!({ "address": subject(n), "tags": ["sybilRisk"] });
    api.request(reqwest::Method::POST, PATH).header("x-payment", header).json(&body)
}

/// Sends the request, and leaves once its transfer waits for a block.
async fn leave(till: &Till, request: reqwest::RequestBuilder) {
    let asked = tokio::spawn(request.send());
    waiting(&till.world, 1).await;
    asked.abort();
    assert!(asked.await.is_err_and(|error| error.is_cancelled()));
}

/// Waits until the registry holds this many feedbacks.
async fn held(till: &Till, count: usize) {
    until(async || till.world.held().await.len(), |held| *held >= count).await;
}

#[test]
fn who_leaves_while_the_payment_is_settled_has_a_submission() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "").await;
        for n in 0..3 {
            // No block comes before the caller has left.
            till.world.mining(false).await;
            let header = till.order().header();
            leave(&till, request(&api, &header, n)).await;
            till.world.mining(true).await;
            held(&till, n + 1).await;
            // Another payment for the same request finds the submission and is not taken.
            let again = pay_until_settled(&api, &till.order().header(), n).await;
            let again = again.expect(202);
            confirmed(&api, again["status_url"].as_str().expect("a path")).await;
            assert_eq!((till.balance().await, till.transfers().await.len()), ((n as u64 + 1) * PRICE, n + 1));
        }
        assert_eq!(till.world.held().await.len(), 3);
    });
}

#[test]
fn a_killed_server_creates_the_submission_of_a_payment_whose_caller_is_gone() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "");
        let service = Service::start(&config);
        till.world.mining(false).await;
        leave(&till, request(&service.anonymous(), &till.order().header(), 1)).await;
        let dir = service.kill();
        till.world.mining(true).await;
        let _service = Service::start_in(dir, &config, &[]);
        held(&till, 1).await;
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
    });
}

#[test]
fn a_contract_with_one_idempotency_key_pays_once() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "contract_signatures = true").await;
        let wallet = Address::repeat_byte(0x71);
        let code = stubs("Dollar.sol").await.expect("the stubs compile")["WalletStub"].clone();
        let code = [code.as_ref(), till.payer.address().into_word().as_slice()].concat();
        let made = till.world.rpc("eth_call", json!([{ "data": Bytes::from(code) }, "latest"])).await;
        till.world.rpc("anvil_setCode", json!([wallet, made])).await;
        till.mint(wallet, 3 * PRICE).await;
        let mut ids = std::collections::BTreeSet::new();
        for _ in 0..3 {
            let mut order = till.order();
            order.authorization.from = wallet;
            let signature: Bytes = [order.signature().as_ref(), &[7]].concat().into();
            let body = json!({ "address": subject(3), "tags": ["sybilRisk"] });
            let request = api.request(reqwest::Method::POST, PATH).header("idempotency-key", "one");
            let said = answer(request.header("x-payment", order.signed(signature)).json(&body)).await.expect(202);
            ids.insert(said["submission_id"].to_string());
        }
        println!("three payments with one key: {} submissions, {} transfers", ids.len(), till.transfers().await.len());
        assert_eq!((ids.len(), till.balance().await), (1, PRICE));
    });
}

#[test]
fn a_payment_for_feedback_that_must_fail_is_not_settled() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "").await;
        // Agent 2 is the account's own; another owner's agent for which it may act is the same.
        let operate = ISetApproval::setApprovalForAllCall { operator: till.world.signer.address(), approved: true };
        let owner = assay_tests::devnet::actors::address("owner");
        let refused = async |agent: u64| {
            let path = format!("/api/v2/agents/{agent}/reputation");
            let asked = api.request(reqwest::Method::POST, &path).header("x-payment", till.order().header());
            answer(asked.json(&json!({ "address": subject(1), "tags": ["sybilRisk"] }))).await
        };
        assert_eq!(refused(2).await.expect(422)["code"], "own_agent");
        till.send(owner, till.world.identity, &operate).await;
        assert_eq!(refused(1).await.expect(422)["code"], "own_agent");
        assert_eq!(till.balance().await, 0);
    });
}

alloy::sol! {
    interface ISetApproval {
        function setApprovalForAll(address operator, bool approved) external;
    }
}

#[test]
fn a_public_client_at_its_default_timeout_ends_with_a_submission() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 29_000");
        let service = Service::start(&config.replace("confirmations = 1", "confirmations = 3"));
        // Blocks of two seconds, and confirmations on top: longer than the five seconds of the client.
        till.world.mining(false).await;
        let rpc = till.world.chain.rpc.clone();
        let miner = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(2)).await;
                let _: Result<Value, _> = rpc.request("evm_mine", json!([])).await;
            }
        });
        let calls = if std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1") { 6 } else { 2 };
        // The client from npm has no timeout that is this short.
        let waiting = json!({ "address": subject(100), "tags": ["sybilRisk"] });
        let said = npm_client(2, &format!("{}{PATH}", service.base()), &till.payer, &waiting).await;
        assert_eq!(said["status"], 202, "{said}");
        let (mut answered, mut gone) = (0, 0);
        for n in 0..calls {
            let url = format!("{}{PATH}", service.base());
            let body = json!({ "address": subject(n), "tags": ["sybilRisk"] });
            let said = impatient_pypi_client(2, &url, &till.payer, &body).await;
            if said["status"] == 202 { answered += 1 } else { gone += 1 }
        }
        held(&till, calls + 1).await;
        let paid = till.transfers().await.len();
        println!(
            "{calls} calls at the default timeout of httpx: {answered} answered, {gone} left; one from npm answered; \
             {paid} payments, as many submissions"
        );
        assert_eq!(paid, calls + 1);
        miner.abort();
    });
}
