//! Accounts that spend their balance between the signature of a transfer and its block: what that costs the operator,
//! and who can pay meanwhile.

use alloy::{
    primitives::{Address, U256},
    signers::local::PrivateKeySigner,
};
use assay_tests::{
    payment::{Dollar, PRICE, Till, USDC},
    proxy::Proxy,
    service::{Answer, Caller, Service},
    until::until,
};
use futures::future::join_all;

use super::{pay, pay_until_settled};
use crate::{
    early_in_the_hour,
    reputation::{ahead, confirmed, reverted, waiting},
    run,
};

/// A payment of `payer`.
fn order(till: &Till, payer: &PrivateKeySigner) -> String {
    let mut order = till.order();
    (order.authorization.from, order.signer) = (payer.address(), payer.clone());
    order.header()
}

/// Moves all of the payer's dollars, before any other transaction of the block.
async fn drain(till: &Till, payer: &PrivateKeySigner) {
    let value = U256::from(till.balance_of(payer.address()).await);
    let away = Dollar::transferCall { to: Address::repeat_byte(9), value };
    ahead(&till.world, payer.address(), USDC, &away).await;
}

/// Waits until this many payments are open and the worker has looked at the chain ten times since.
async fn looked(api: &Caller, proxy: &Proxy, open: usize) {
    let line = format!("assay_payments_open {open}");
    api.until("/metrics", |metrics| metrics.text.lines().any(|found| found == line)).await;
    proxy.take();
    let mut seen = 0;
    let looks = async || {
        seen += proxy.take().iter().filter(|call| call.method == "eth_feeHistory").count();
        seen
    };
    until(looks, |seen| *seen >= 10).await;
}

#[test]
fn an_account_that_has_not_paid_before_loses_one_transfer_at_most() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let service = Service::start(&till.config(&proxy.url, "settle_ms = 29_000"));
        let api = service.anonymous();
        let payer = PrivateKeySigner::random();
        till.mint(payer.address(), 8 * PRICE).await;
        till.world.mining(false).await;
        let headers: Vec<String> = (0..8).map(|_| order(&till, &payer)).collect();
        let paying = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n)));
        let draining = async {
            looked(&api, &proxy, 8).await;
            waiting(&till.world, 1).await;
            drain(&till, &payer).await;
            till.world.mining(true).await;
        };
        let (answers, ()) = tokio::join!(paying, draining);
        let (gas, count) = reverted(&till.world).await;
        println!("eight payments of an account that is emptied: {count} reverted, {gas} gas");
        assert!(answers.iter().all(|answer| answer.status == 402), "{:?}", answers.iter().map(|a| a.status));
        assert_eq!((count, till.balance().await), (1, 0));
    });
}

#[test]
fn more_payments_than_the_balance_covers_are_refused_at_once() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let service = Service::start(&till.config(&proxy.url, "settle_ms = 500"));
        let api = service.anonymous();
        let payer = PrivateKeySigner::random();
        till.mint(payer.address(), 2 * PRICE).await;
        till.world.mining(false).await;
        let headers: Vec<String> = (0..3).map(|_| order(&till, &payer)).collect();
        for (n, status) in [(0, 503), (1, 503), (2, 402)] {
            let answer = pay(&api, &headers[n], n).await;
            println!("payment {n} of a balance for two: {} {}", answer.status, answer.text);
            answer.expect(status);
        }
        till.world.mining(true).await;
        for (n, header) in headers.iter().enumerate().take(2) {
            pay_until_settled(&api, header, n).await.expect(202);
        }
        assert_eq!((till.balance().await, reverted(&till.world).await.1), (2 * PRICE, 0));
    });
}

#[test]
fn new_accounts_are_paused_when_reverted_transfers_have_cost_enough() {
    run(async {
        early_in_the_hour().await;
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 29_000\nhourly_reverted_gas = 60_000");
        let service = Service::start(&config);
        let api = service.anonymous();
        // This account pays before the attack.
        let first = pay_until_settled(&api, &till.order().header(), 0).await.expect(202);
        confirmed(&api, first["status_url"].as_str().expect("a path")).await;
        let mut attempts = 0;
        let refused = loop {
            let answer = attack(&till, &api, attempts + 1).await;
            if answer.status == 503 {
                break answer;
            }
            assert_eq!(answer.status, 402, "{}", answer.text);
            attempts += 1;
            assert!(attempts < 8, "attempts have no end");
        };
        let (gas, count) = reverted(&till.world).await;
        println!("{attempts} accounts that are emptied: {count} reverted, {gas} gas; then {}", refused.text);
        assert_eq!(refused.json()["code"], "settlement_paused");
        assert!(refused.headers.contains_key("retry-after"));
        assert!(gas < 60_000 + 100_000, "{gas}");
        // It is remembered by the store, and accounts that have paid here still pay.
        let service = Service::start_in(service.kill(), &config, &[]);
        let api = service.anonymous();
        let payer = PrivateKeySigner::random();
        till.mint(payer.address(), PRICE).await;
        let paused = pay(&api, &order(&till, &payer), 40).await;
        assert_eq!(paused.expect(503)["code"], "settlement_paused");
        pay_until_settled(&api, &till.order().header(), 41).await.expect(202);
        assert_eq!((till.balance().await, reverted(&till.world).await), (2 * PRICE, (gas, count)));
    });
}

/// The answer to the payment of a new account, which is emptied while the transfer waits.
async fn attack(till: &Till, api: &Caller, n: usize) -> Answer {
    let payer = PrivateKeySigner::random();
    till.mint(payer.address(), PRICE).await;
    let header = order(till, &payer);
    till.world.mining(false).await;
    let draining = async {
        waiting(&till.world, 1).await;
        drain(till, &payer).await;
        till.world.mining(true).await;
        std::future::pending::<Answer>().await
    };
    let answer = tokio::select! {
        answer = pay_until_paused(api, &header, n) => answer,
        answer = draining => answer,
    };
    till.world.mining(true).await;
    answer
}

/// As [`pay_until_settled`], until payments are paused.
async fn pay_until_paused(api: &Caller, header: &str, n: usize) -> Answer {
    loop {
        let answer = pay(api, header, n).await;
        if answer.status != 503 || answer.json()["code"] == "settlement_paused" {
            return answer;
        }
    }
}
