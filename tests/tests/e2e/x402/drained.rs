//! Accounts that spend their balance between the signature of a transfer and its block: what that costs the operator,
//! and who can pay meanwhile.

use alloy::{
    primitives::{Address, U256},
    signers::local::PrivateKeySigner,
};
use assay_tests::{
    payment::{Dollar, Order, PRICE, Till, USDC},
    proxy::Proxy,
    service::{Caller, Service},
    until::until,
};
use futures::future::join_all;

use super::{pay, pay_until_settled, with_gas};
use crate::{
    reputation::{ahead, reverted, waiting},
    run,
};

/// A payment of `payer`.
pub(super) fn order(till: &Till, payer: &PrivateKeySigner) -> Order {
    let mut order = till.order();
    (order.authorization.from, order.signer) = (payer.address(), payer.clone());
    order
}

/// Moves all of the payer's dollars, before any other transaction of the block.
pub(super) async fn drain(till: &Till, payer: &PrivateKeySigner) {
    let value = U256::from(till.balance_of(payer.address()).await);
    let away = Dollar::transferCall { to: Address::repeat_byte(9), value };
    ahead(&till.world, payer.address(), USDC, &away).await;
}

/// Waits until this many payments are open and the worker has looked at the chain ten times since.
pub(super) async fn looked(api: &Caller, proxy: &Proxy, open: usize) {
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
        let headers: Vec<String> = (0..8).map(|_| order(&till, &payer).header()).collect();
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
        let headers: Vec<String> = (0..3).map(|_| order(&till, &payer).header()).collect();
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
fn a_payer_whose_transfers_were_reverted_is_refused_and_others_are_not() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 29_000");
        let config = with_gas(&config, "party_usd = 0.004");
        let service = Service::start(&config);
        let api = service.anonymous();
        let payer = PrivateKeySigner::random();
        till.mint(payer.address(), PRICE).await;
        till.world.mining(false).await;
        let header = order(&till, &payer).header();
        let paying = pay_until_settled(&api, &header, 1);
        let draining = async {
            waiting(&till.world, 1).await;
            drain(&till, &payer).await;
            till.world.mining(true).await;
        };
        let (answer, ()) = tokio::join!(paying, draining);
        answer.expect(402);
        let lost = reverted(&till.world).await;
        // It is remembered by the store, and accounts that cost nothing still pay.
        let service = Service::start_in(service.kill(), &config, &[]);
        let api = service.anonymous();
        till.mint(payer.address(), PRICE).await;
        let refused = pay(&api, &order(&till, &payer).header(), 40).await;
        println!("a payer whose transfer was reverted, {} gas: {}", lost.0, refused.text);
        let refused = refused.expect(429);
        assert_eq!(refused["code"], "transfers_reverted");
        assert!(refused["detail"].as_str().is_some_and(|text| text.starts_with("Transfers of this")), "{refused}");
        pay_until_settled(&api, &till.order().header(), 41).await.expect(202);
        assert_eq!((till.balance().await, reverted(&till.world).await), (PRICE, lost));
    });
}
