//! What is paid for a transaction: at most three times the market, whatever it waited for. `ASSAY_SOAK=1` extends the
//! waits to a minute.

use std::time::Duration;

use alloy::primitives::U256;
use assay_tests::{
    proxy::Proxy,
    reputation::World,
    service::{Caller, Service},
    until::until,
};
use serde_json::{Value, json};

use super::{ALL, check, confirmed, submit};
use crate::run;

/// The least tip that the server offers, in wei.
const LEAST_TIP: u64 = 1_000_000;

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().expect("hex").trim_start_matches("0x"), 16).expect("a number")
}

/// The highest price of the account's mined transactions, divided by the price of their block.
pub(super) async fn most_paid(world: &World) -> f64 {
    let head = number(&world.rpc("eth_blockNumber", json!([])).await);
    let account = world.signer.address().to_string().to_lowercase();
    let mut most = 0_f64;
    for block in 0..=head {
        let block = json!(format!("{block:#x}"));
        let base = number(&world.rpc("eth_getBlockByNumber", json!([block, false])).await["baseFeePerGas"]);
        let receipts = world.rpc("eth_getBlockReceipts", json!([block])).await;
        for receipt in receipts.as_array().into_iter().flatten().filter(|receipt| receipt["from"] == account.as_str()) {
            let paid = number(&receipt["effectiveGasPrice"]);
            most = most.max(paid as f64 / (base + LEAST_TIP) as f64);
        }
    }
    most
}

/// A server that compares its offers with the market ten times a second.
fn serve(world: &World, proxy: &Proxy) -> (Service, Caller) {
    let config = world.config(&proxy.url, "").replace("replace_after_ms = 1500", "replace_after_ms = 100");
    let service = Service::start(&config);
    let api = service.keyed();
    (service, api)
}

/// Waits until the server has made this many calls of `method`, and with `ASSAY_SOAK=1` a minute.
async fn calls(proxy: &Proxy, method: &str, count: usize) {
    if std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1") {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let mut seen = 0;
    let seen = async || {
        seen += proxy.take().iter().filter(|call| call.method == method).count();
        seen
    };
    until(seen, |seen| *seen >= count).await;
}

async fn replaced(service: &Service) -> String {
    let metrics = service.anonymous().get("/metrics").await.text;
    let line = metrics.lines().find_map(|line| line.strip_prefix("assay_transactions_replaced_total "));
    line.unwrap_or("0").to_owned()
}

async fn ended(world: &World, api: &Caller, service: &Service, url: &str, what: &str) {
    let status = confirmed(api, url).await;
    check(world, &world.held().await, &status, &ALL);
    let (most, replaced) = (most_paid(world).await, replaced(service).await);
    println!("{what}: {replaced} replacements, the most paid is {most:.2} times the market");
    assert!(most <= 3.0 && replaced == "0", "{most} {replaced}");
}

#[test]
fn an_empty_account_that_is_refilled_pays_the_market() {
    run(async {
        let world = World::start().await;
        world.fund(U256::ZERO).await;
        let proxy = Proxy::start(world.chain.url()).await;
        let (service, api) = serve(&world, &proxy);
        let url = submit(&api, 1).await;
        calls(&proxy, "eth_sendRawTransaction", 60).await;
        world.fund(U256::from(10).pow(U256::from(18))).await;
        ended(&world, &api, &service, &url, "an empty account that is refilled").await;
    });
}

#[test]
fn a_chain_without_blocks_is_waited_for_at_the_same_price() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let proxy = Proxy::start(world.chain.url()).await;
        let (service, api) = serve(&world, &proxy);
        let url = submit(&api, 1).await;
        calls(&proxy, "eth_sendRawTransaction", 3).await;
        calls(&proxy, "eth_feeHistory", 60).await;
        world.mining(true).await;
        ended(&world, &api, &service, &url, "a chain without blocks").await;
    });
}
