//! What the endpoint says of the price of gas: a lie makes a sale wait, and none is made below its cost.

use alloy::primitives::U256;
use assay_tests::{
    payment::Till,
    proxy::{Call, Proxy, Reply},
    service::Service,
};
use serde_json::{Value, json};

use super::{pay, pay_until_settled, with_gas};
use crate::run;

/// Answers each question for the price of gas with this, and passes all others.
fn says(answer: Value) -> impl FnMut(&Call) -> Reply + Send + 'static {
    move |call| match call.method.as_str() {
        "eth_feeHistory" | "eth_maxPriorityFeePerGas" | "eth_gasPrice" => Reply::Result(answer.clone()),
        _ => Reply::Pass,
    }
}

#[test]
fn a_price_of_gas_that_cannot_be_read_sells_nothing_and_takes_nothing() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let service = Service::start(&with_gas(&till.config(&proxy.url, "settle_ms = 700"), "accounts_usd = 0.05"));
        let api = service.anonymous();
        for lie in [
            json!(null),
            json!("0x"),
            json!({}),
            json!({ "oldestBlock": "0x1", "baseFeePerGas": [], "gasUsedRatio": [], "reward": [] }),
            json!({ "oldestBlock": "0x1", "baseFeePerGas": ["-0x1"], "gasUsedRatio": [0.5] }),
            json!({ "oldestBlock": "0x1", "baseFeePerGas": [format!("0x1{}", "0".repeat(64))], "gasUsedRatio": [0.5] }),
        ] {
            proxy.rule(says(lie.clone()));
            let answer = pay(&api, &till.order().header(), 1).await;
            println!("a price of gas of {lie}: {} {}", answer.status, answer.text);
            assert!([502, 503].contains(&answer.status.as_u16()), "{lie}: {}", answer.text);
            assert_eq!((till.balance().await, till.transfers().await.len()), (0, 0), "{lie}");
        }
        proxy.rule(|_| Reply::Pass);
        pay_until_settled(&api, &till.order().header(), 2).await.expect(202);
    });
}

#[test]
fn a_tip_of_the_market_above_the_sale_sells_nothing_below_cost() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let service = Service::start(&with_gas(&till.config(&proxy.url, "settle_ms = 700"), "accounts_usd = 0.05"));
        let api = service.anonymous();
        let tip = U256::from(1_000_000_000_000_u64);
        let fees = json!({ "oldestBlock": "0x1", "baseFeePerGas": ["0x1", "0x1"], "gasUsedRatio": [0.5],
            "reward": [[tip, tip, tip]] });
        proxy.rule(move |call| match call.method.as_str() {
            "eth_feeHistory" => Reply::Result(fees.clone()),
            "eth_maxPriorityFeePerGas" => Reply::Result(json!(tip)),
            _ => Reply::Pass,
        });
        let answer = pay(&api, &till.order().header(), 1).await;
        println!("tips of 1000 gwei: {} {}", answer.status, answer.text);
        assert!(answer.headers.contains_key("retry-after"));
        assert_eq!(answer.expect(503)["code"], "gas_above_price");
        assert_eq!((till.balance().await, till.transfers().await.len()), (0, 0));
    });
}
