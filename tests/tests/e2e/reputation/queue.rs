//! The queue of the account: what waits says so, the estimate counts it, and no nonce is left behind.

use std::time::{Duration, Instant};

use alloy::primitives::{Bytes, U256};
use alloy::sol_types::SolCall;
use assay_tests::{
    payment::{Dollar, PRICE, Till, USDC},
    proxy::{Proxy, Reply},
    reputation::World,
    service::{Service, answer},
    until::until,
};
use serde_json::{Value, json};

use super::{confirmed, said, subject, submit};
use crate::run;

#[test]
fn the_estimate_counts_the_queue() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let service = Service::start(&world.config(world.chain.url(), ""));
        let api = service.keyed();
        let mut estimates = Vec::new();
        for n in 0..30 {
            let body = json!({ "address": subject(n), "tags": ["sybilRisk"] });
            let accepted = api.post("/api/v2/agents/1/reputation", &body).await.expect(202);
            estimates.push(accepted["estimated_completion_seconds"].as_u64().expect("a number"));
        }
        println!(
            "estimates of 30 submissions at once: {} s for the first, {} s for the last",
            estimates[0], estimates[29]
        );
        assert_eq!(estimates[0], 45);
        assert!(estimates[29] >= 5 * 45 && estimates.is_sorted(), "{estimates:?}");
    });
}

#[test]
fn what_waits_for_a_nonce_says_so() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let service = Service::start(&world.config(world.chain.url(), "max_transactions = 2"));
        let api = service.keyed();
        let urls = [submit(&api, 1).await, submit(&api, 2).await];
        let status = said(&api, &urls[1], "2 transactions are in progress").await;
        assert_eq!((&status["status"], &status["error"]), (&json!("submitting"), &Value::Null));
        world.mining(true).await;
        for url in &urls {
            let status = confirmed(&api, url).await;
            assert!(status.get("detail").is_none(), "{status}");
        }
    });
}

#[test]
fn a_payment_that_ends_while_its_transaction_waits_leaves_no_nonce_behind() {
    run(async {
        let till = Till::start().await;
        till.world.mining(false).await;
        // A node counts the transactions of its pool, whatever they offer; the local one leaves out what offers too
        // little.
        let proxy = Proxy::start(till.world.chain.url()).await;
        let used = till.world.rpc("eth_getTransactionCount", json!([till.world.signer.address(), "latest"])).await;
        let used = u64::from_str_radix(used.as_str().expect("hex").trim_start_matches("0x"), 16).expect("a number");
        let config = till.config(&proxy.url, "").replace("poll_ms = 50", "poll_ms = 50\nmax_fee_gwei = 500.0");
        let service = Service::start(&config);
        let api = service.anonymous();
        let order = till.order();
        let presented = tokio::spawn({
            let body = json!({ "address": subject(1), "tags": ["sybilRisk"] });
            let asked =
                api.request(reqwest::Method::POST, "/api/v2/agents/1/reputation").header("x-payment", order.header());
            async move { answer(asked.json(&body)).await }
        });
        let pool = async || till.world.rpc("txpool_status", json!([])).await;
        until(pool, |pool| pool["pending"] == "0x1").await;
        proxy.rule(move |call| match call.method == "eth_getTransactionCount" && call.params[1] == "pending" {
            true => Reply::Result(json!(format!("{:#x}", used + 1))),
            false => Reply::Pass,
        });
        // The price rises above the offer of the transfer, and the payer cancels the authorization.
        let payer = till.payer.address();
        till.world.rpc("anvil_setBalance", json!([payer, U256::from(10).pow(U256::from(20))])).await;
        till.world.rpc("anvil_impersonateAccount", json!([payer])).await;
        let call = Dollar::cancelAuthorizationCall { nonce: order.authorization.nonce };
        let high = json!(format!("{:#x}", 300_000_000_000_u64));
        let cancel = json!({ "from": payer, "to": USDC, "data": Bytes::from(call.abi_encode()), "gas": "0x30000",
            "maxFeePerGas": high, "maxPriorityFeePerGas": "0x1" });
        let rpc = till.world.chain.rpc.clone();
        till.world.rpc("eth_sendTransaction", json!([cancel])).await;
        let miner = tokio::spawn(async move {
            loop {
                let price = json!([U256::from(100_000_000_000_u64)]);
                let _: Result<Value, _> = rpc.request("anvil_setNextBlockBaseFeePerGas", price).await;
                let _: Result<Value, _> = rpc.request("evm_mine", json!([])).await;
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
        });
        let refused = presented.await.expect("the caller is told");
        assert_ne!(refused.status, 202, "{}", refused.text);
        let started = Instant::now();
        let url = submit(&service.keyed(), 2).await;
        confirmed(&service.keyed(), &url).await;
        println!(
            "a submission after a payment that ended while its transaction waited: {:.1} s",
            started.elapsed().as_secs_f64()
        );
        assert_eq!((till.balance().await, till.balance_of(payer).await), (0, 100 * PRICE));
        miner.abort();
    });
}
