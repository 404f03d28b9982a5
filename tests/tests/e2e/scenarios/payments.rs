//! Payments that are refused, side by side with a real server under the real condition.

use alloy::{
    primitives::{Address, B256, Bytes, U256},
    signers::local::PrivateKeySigner,
};
use assay_domain::Authorization;
use assay_tests::{
    payment::{Dollar, Order, PRICE, Till, USDC, decode, domain, now, try_npm_client},
    service::{Answer, Caller, Service, answer},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{listed, sandbox};
use crate::{
    reputation::{ended, foreign, nonce, subject, waiting},
    run,
    x402::{trap, trapped},
};

/// The payments that a real server refuses before it sends anything, by the scenario of each.
async fn bad_orders(till: &Till) -> Vec<(&'static str, Order)> {
    let bent = |edit: &dyn Fn(&mut Order)| {
        let mut order = till.order();
        edit(&mut order);
        order
    };
    let poor = PrivateKeySigner::random();
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

async fn pay(api: &Caller, agent: u64, header: &str) -> Answer {
    let body = json!({ "address": subject(1), "tags": ["sybilRisk"] });
    let request = api.request(Method::POST, &format!("/api/v2/agents/{agent}/reputation"));
    answer(request.header("x-payment", header).json(&body)).await
}

/// The answer to a payment, without its resource, which names host and agent; and the receipt.
fn shown(refused: &Answer) -> (u16, Value, Option<Value>) {
    let mut body = refused.json();
    body["accepts"][0]["resource"] = Value::Null;
    let receipt = refused.headers.get("x-payment-response").map(|told| decode(told.to_str().expect("text")));
    (refused.status.as_u16(), body, receipt)
}

/// The answer to a payment whose transfers never come to the chain: another transaction takes each of three nonces.
async fn never_landed(till: &Till, api: &Caller, header: &str) -> Answer {
    let world = &till.world;
    world.mining(false).await;
    let taken = async {
        for _ in 0..3 {
            waiting(world, 1).await;
            world.rpc("eth_sendRawTransaction", json!([foreign(world, nonce(world).await)])).await;
            world.rpc("anvil_mine", json!(["0x2"])).await;
        }
    };
    let (refused, ()) = tokio::join!(pay(api, 1, header), taken);
    world.mining(true).await;
    refused
}

#[test]
fn a_payment_that_meets_the_terms_buys_a_submission_with_the_public_client() {
    run(async {
        for (version, wallet) in [(1, 1), (2, 2)] {
            // A public client of the first version ignores terms next to those of the second.
            let mock = sandbox(&format!("[access.x402]\noffer_v2 = {}\n", version == 2));
            let (url, guest) = (format!("{}/api/v2/agents/114/reputation", mock.base()), mock.anonymous());
            let (payer, body) =
                (PrivateKeySigner::random(), json!({ "address": subject(wallet), "tags": ["creditScore"] }));
            let paid = try_npm_client(version, &url, &payer, &body).await.expect("a client");
            assert_eq!((&paid["status"], &paid["receipt"]["success"]), (&json!(202), &json!(true)), "{paid}");
            assert_eq!(paid["receipt"]["transaction"].as_str().map(str::len), Some(66));
            let status = ended(&guest, paid["body"]["status_url"].as_str().expect("a path")).await;
            assert_eq!(status["status"], "confirmed", "{status}");
            // The same payment again is the same submission; it buys no other.
            let name = if version == 1 { "x-payment" } else { "payment-signature" };
            let again = async |address: Address| {
                let request = guest.request(Method::POST, "/api/v2/agents/114/reputation");
                let header = paid["payment"].as_str().expect("a header");
                answer(request.header(name, header).json(&json!({ "address": address, "tags": ["creditScore"] }))).await
            };
            assert_eq!(again(subject(wallet)).await.expect(202)["submission_id"], paid["body"]["submission_id"]);
            again(subject(9)).await.expect(402);
        }
        // What does not meet the terms is refused as in production, and other agents take no payments.
        let (mock, header) = (sandbox(""), forged_order().header());
        let refused = pay(&mock.anonymous(), 114, &header).await.expect(402);
        assert!(refused["detail"].as_str().is_some_and(|why| why.contains("signature")), "{refused}");
        pay(&mock.anonymous(), 1, &header).await.expect(401);
    });
}

/// A payment that its payer has not signed.
fn forged_order() -> Order {
    let authorization = Authorization {
        from: Address::repeat_byte(0x11),
        to: Address::repeat_byte(0x22),
        value: U256::from(PRICE),
        valid_after: U256::ZERO,
        valid_before: U256::from(now() + 300),
        nonce: B256::repeat_byte(7),
    };
    let (network, scheme) = ("base".into(), "exact".into());
    Order { authorization, domain: domain(), signer: PrivateKeySigner::random(), network, scheme, said: None }
}

#[test]
fn payments_are_refused_as_on_a_real_server() {
    run(async {
        let till = Till::start().await;
        let settings = "contract_signatures = true\nsettle_ms = 29_000";
        let real = Service::start(&till.config(till.world.chain.url(), settings));
        let mock = sandbox(&format!("[access.x402]\npay_to = \"{}\"\n", till.pay_to));
        let (_, agents) = listed(&mock.keyed()).await;
        let (real, mock) = (real.anonymous(), mock.anonymous());
        let played =
            async |why: &str, header: &str| shown(&pay(&mock, agents[&format!("payment-refused-{why}")], header).await);
        for (why, order) in bad_orders(&till).await {
            let header = order.header();
            assert_eq!(played(why, &header).await, shown(&pay(&real, 1, &header).await), "{why}");
        }
        let forged = till.order().signed(Bytes::from(vec![7; 65]));
        assert_eq!(played("signature", &forged).await, shown(&pay(&real, 1, &forged).await));

        let wallet = Address::repeat_byte(0x80);
        trap(&till, wallet).await;
        let reverts = trapped(&till, wallet);
        assert_eq!(played("transaction-reverted", &reverts).await, shown(&pay(&real, 1, &reverts).await));

        let lost = till.order().header();
        let refused = never_landed(&till, &real, &lost).await;
        assert_eq!(played("settlement-failed", &lost).await, shown(&refused));
        assert_eq!(till.balance().await, 0);
    });
}
