//! Submissions and payments of one account, mixed, under everything at once: kills, a node that loses or doubles sends,
//! reorganisations, a chain without blocks, an empty account that is refilled. One transfer for each payment, one event
//! for each tag, none lost. `ASSAY_SOAK=1` raises the numbers to the promised ones.

use std::{collections::BTreeSet, time::Duration};

use alloy::primitives::U256;
use assay_tests::{
    devnet::Rpc,
    payment::{PRICE, Till, now},
    proxy::{Call, Proxy, Reply},
    service::{Caller, Service, try_answer},
    until::until,
};
use serde_json::{Value, json};

use super::{confirmed, fees::most_paid, subject};
use crate::run;

const PATH: &str = "/api/v2/agents/1/reputation";

/// The numbers of submissions, of which every second is paid for by x402, and of kills; and the time without blocks.
fn numbers() -> (usize, usize, Duration) {
    match std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1") {
        true => (60, 40, Duration::from_secs(60)),
        false => (8, 4, Duration::from_secs(1)),
    }
}

/// Requests submission `n`, each with its own key or payment; `None` if there was no final answer.
async fn ask(api: Caller, n: usize, payment: Option<String>) -> Option<Value> {
    let body = json!({ "address": subject(n), "tags": ["creditScore", "sybilRisk"] });
    let request = api.request(reqwest::Method::POST, PATH).json(&body);
    let answer = match payment {
        Some(payment) => try_answer(request.header("x-payment", payment)).await.ok()?,
        None => try_answer(request.header("idempotency-key", format!("mixed {n}"))).await.ok()?,
    };
    (answer.status == 202).then(|| answer.json())
}

/// Every seventh send is lost before the node, of others every fifth is answered by an error after it arrived, and
/// every third arrives twice; some receipts are not answered.
fn faulty(seed: u64, node: Rpc) -> impl FnMut(&Call) -> Reply + Send {
    let mut calls = seed;
    let arrives = move |call: &Call| {
        let (node, params) = (node.clone(), call.params.clone());
        tokio::spawn(async move { node.request::<Value>("eth_sendRawTransaction", params).await.ok() });
    };
    move |call| {
        calls += 1;
        let mixed = calls.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        match call.method.as_str() {
            // Swallowed: the node never has it, and the answer says that it has.
            "eth_sendRawTransaction" if mixed.is_multiple_of(7) => Reply::Result(json!(format!("0x{:064x}", mixed))),
            "eth_sendRawTransaction" if mixed.is_multiple_of(5) => {
                arrives(call);
                Reply::Error { code: -32000, message: "the backend is away".into() }
            }
            "eth_sendRawTransaction" if mixed.is_multiple_of(3) => {
                arrives(call);
                Reply::Pass
            }
            "eth_getTransactionReceipt" | "eth_getTransactionByHash" if mixed.is_multiple_of(6) => {
                Reply::Result(Value::Null)
            }
            "eth_getTransactionCount" if mixed.is_multiple_of(11) => Reply::Status(503, None),
            _ => Reply::Pass,
        }
    }
}

/// A pseudorandom duration from 50 to 949 ms, by a seed.
fn moment(seed: usize) -> Duration {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    Duration::from_millis(50 + mixed % 900)
}

/// What happens around a kill: a reorganisation, a chain without blocks, an empty account.
async fn trouble(till: &Till, life: usize, kills: usize, silence: Duration) {
    match life {
        _ if life == kills / 2 => {
            till.world.mining(false).await;
            tokio::time::sleep(silence).await;
            till.world.mining(true).await;
        }
        _ if life == kills / 4 => {
            till.world.fund(U256::ZERO).await;
            tokio::time::sleep(silence / 4).await;
            till.world.fund(U256::from(10).pow(U256::from(20))).await;
        }
        _ if life % 3 == 1 => {
            till.world.mining(false).await;
            let depth = 1 + life as u64 % 2;
            till.world.rpc("anvil_rollback", json!([depth])).await;
            till.world.mining(true).await;
        }
        _ => {}
    }
}

#[test]
fn whatever_happens_each_payment_is_one_transfer_and_each_tag_one_event() {
    run(async {
        let (submissions, kills, silence) = numbers();
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let config = till.config(&proxy.url, "settle_ms = 29_000").replace("confirmations = 1", "confirmations = 3");
        // They are valid for as long as a slow machine takes.
        let payment = || {
            let mut order = till.order();
            order.authorization.valid_before = U256::from(now() + 3_600);
            order.header()
        };
        let payments: Vec<Option<String>> = (0..submissions).map(|n| (n % 2 == 1).then(payment)).collect();
        let mut service = Service::start(&config);
        for life in 0..kills {
            proxy.rule(faulty(life as u64 * 1_000, till.world.chain.rpc.clone()));
            let (keyed, anonymous) = (service.keyed(), service.anonymous());
            let mine = submissions * life / kills..submissions * (life + 1) / kills;
            let asked: Vec<_> = mine
                .map(|n| {
                    let api = if payments[n].is_some() { &anonymous } else { &keyed };
                    tokio::spawn(ask(api.clone(), n, payments[n].clone()))
                })
                .collect();
            trouble(&till, life, kills, silence).await;
            tokio::time::sleep(moment(life)).await;
            let dir = service.kill();
            for asked in asked {
                asked.await.expect("the caller is told");
            }
            service = Service::start_in(dir, &config, &[]);
        }
        proxy.rule(|_| Reply::Pass);
        let (keyed, anonymous) = (service.keyed(), service.anonymous());
        let (mut ids, mut urls) = (BTreeSet::new(), Vec::new());
        for (n, payment) in payments.iter().enumerate() {
            let api = if payment.is_some() { &anonymous } else { &keyed };
            let answered = until(async || ask(api.clone(), n, payment.clone()).await, Option::is_some).await;
            let body = answered.expect("an answer");
            ids.insert(body["submission_id"].to_string());
            urls.push(body["status_url"].as_str().expect("a path").to_owned());
        }
        futures::future::join_all(urls.iter().map(|url| confirmed(&keyed, url))).await;
        let (paid, transfers) = (submissions / 2, till.transfers().await.len());
        let (held, most) = (till.world.held().await, most_paid(&till.world).await);
        let events = held.len();
        let tags: BTreeSet<_> = held.iter().map(|held| (&held.uri, &held.tag1)).collect();
        println!(
            "{submissions} submissions and payments mixed, {kills} kills: {} submissions, {transfers} transfers for \
             {paid} payments, {events} events, the most paid is {most:.2} times the market",
            ids.len()
        );
        assert_eq!((ids.len(), transfers, till.balance().await), (submissions, paid, paid as u64 * PRICE));
        assert_eq!((events, tags.len()), (2 * submissions, 2 * submissions));
        assert!(most <= 3.0, "{most}");
    });
}
