//! Attacks on the gas of the account, one test for each kind: what they cost the attacker and the operator, and what
//! honest newcomers wait meanwhile. `ASSAY_SOAK=1` makes the siege take 40 seconds.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    time::{Duration, Instant},
};

use alloy::{
    consensus::{SignableTransaction, TxEip7702},
    eips::{eip2718::Encodable2718, eip7702::Authorization},
    primitives::{Address, Bytes, U256},
    signers::{SignerSync, local::PrivateKeySigner},
};
use assay_tests::{
    payment::{Dollar, Order, PRICE, Till, USDC, now},
    proxy::Proxy,
    reputation::CHAIN,
    service::{Answer, Caller, Service, answer},
    until::{PATIENCE, until},
};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{
    abuse::trap,
    dollars,
    drained::{drain, looked, order},
    pay, pay_until_settled, request, with_gas,
};
use crate::{
    reputation::{ahead, cancelled, confirmed, reverted, waiting},
    run,
    siege::{is_soak, median},
};

/// The gas that a mined transaction used.
async fn gas_used(till: &Till, hash: &Value) -> u64 {
    let receipt = async || till.world.rpc("eth_getTransactionReceipt", json!([hash])).await;
    let receipt = until(receipt, |receipt| !receipt.is_null()).await;
    let gas = receipt["gasUsed"].as_str().unwrap_or_default();
    u64::from_str_radix(gas.trim_start_matches("0x"), 16).expect("a number")
}

/// New accounts, each with `payments` payments' worth of dollars.
async fn payers(till: &Till, count: usize, payments: u64) -> Vec<PrivateKeySigner> {
    let payers: Vec<_> = (0..count).map(|_| PrivateKeySigner::random()).collect();
    for payer in &payers {
        till.mint(payer.address(), payments * PRICE).await;
    }
    payers
}

/// Delegates all of `payers` to the contract at `to` with one transaction, before all others of the block (EIP-7702).
async fn delegate(till: &Till, payers: &[PrivateKeySigner], to: Address) -> Value {
    let authorization = Authorization { chain_id: U256::from(CHAIN), address: to, nonce: 0 };
    let signed = payers.iter().map(|payer| {
        let signature = payer.sign_hash_sync(&authorization.signature_hash()).expect("a hash is signed");
        authorization.clone().into_signed(signature)
    });
    let attacker = PrivateKeySigner::random();
    till.world.rpc("anvil_setBalance", json!([attacker.address(), U256::from(10).pow(U256::from(20))])).await;
    let transaction = TxEip7702 {
        chain_id: CHAIN,
        nonce: 0,
        gas_limit: 1_000_000,
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 100_000_000_000,
        to: attacker.address(),
        value: U256::ZERO,
        access_list: Default::default(),
        authorization_list: signed.collect(),
        input: Bytes::new(),
    };
    let signature = attacker.sign_hash_sync(&transaction.signature_hash()).expect("a hash is signed");
    let raw = Bytes::from(transaction.into_signed(signature).encoded_2718());
    till.world.rpc("eth_sendRawTransaction", json!([raw])).await
}

#[test]
fn payers_that_delegate_in_the_block_of_their_transfers_cost_the_budget_at_most() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let config = till.config(&proxy.url, "settle_ms = 29_000");
        let service = Service::start(&with_gas(&config, "accounts_usd = 0.05"));
        let api = service.anonymous();
        let code = Address::repeat_byte(0x77);
        trap(&till, code).await;
        let payers = payers(&till, 8, 1).await;
        let headers: Vec<String> = payers.iter().map(|payer| order(&till, payer).header()).collect();
        till.world.mining(false).await;
        let paying = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n)));
        let attacking = async {
            looked(&api, &proxy, 8).await;
            let hash = delegate(&till, &payers, code).await;
            till.world.mining(true).await;
            gas_used(&till, &hash).await
        };
        let (answers, attacker) = tokio::join!(paying, attacking);
        let (gas, count) = reverted(&till.world).await;
        println!(
            "8 payers delegated in one block: the attacker pays {attacker} gas and 0 USDC, the operator loses ${:.4} \
             for {gas} gas in {count} reverted transactions, of a budget of $0.05",
            dollars(gas)
        );
        assert!(answers.iter().all(|answer| answer.status == 402), "{:?}", answers.iter().map(|a| a.status));
        assert!(count > 0 && dollars(gas) <= 0.05, "{gas} gas in {count}");
    });
}

#[test]
fn a_payer_that_paid_before_costs_what_it_paid_and_the_budget_at_most() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let config = with_gas(&till.config(&proxy.url, "settle_ms = 29_000"), "accounts_usd = 0.035");
        // Gas at three times the price of the other tests: eight reverted transfers cost more than one payment brings.
        let service = Service::start(&config.replace("native_usd = 100_000.0", "native_usd = 300_000.0"));
        let api = service.anonymous();
        let payers = payers(&till, 1, 9).await;
        let accepted = pay_until_settled(&api, &order(&till, &payers[0]).header(), 0).await.expect(202);
        confirmed(&api, accepted["status_url"].as_str().expect("a path")).await;
        let headers: Vec<String> = (0..8).map(|_| order(&till, &payers[0]).header()).collect();
        till.world.mining(false).await;
        let paying = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, 10 + n)));
        let attacking = async {
            looked(&api, &proxy, 8).await;
            drain(&till, &payers[0]).await;
            till.world.mining(true).await;
        };
        let (answers, ()) = tokio::join!(paying, attacking);
        let (gas, count) = reverted(&till.world).await;
        let lost = 3.0 * dollars(gas);
        println!(
            "a payer that paid $0.1 for an item before: the operator loses ${lost:.4} for {gas} gas in {count} \
             reverted transactions of 8, of a budget of $0.035"
        );
        assert!(answers.iter().all(|answer| answer.status == 402), "{:?}", answers.iter().map(|a| a.status));
        assert!(count > 0 && lost <= 0.1 + 0.035, "{gas} gas in {count}");
    });
}

#[test]
fn a_transfer_is_cancelled_before_its_signature_ends() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 29_000");
        let service = Service::start(&with_gas(&config, "accounts_usd = 0.1"));
        let api = service.anonymous();
        let payers = payers(&till, 4, 1).await;
        let ending = |payer: &PrivateKeySigner, seconds: u64| -> Order {
            let mut order = order(&till, payer);
            order.authorization.valid_before = U256::from(now() + seconds);
            order
        };
        let soon = pay(&api, &ending(&payers[0], 10).header(), 0).await;
        println!("a signature that holds for 10 s: {} {}", soon.status, soon.text);
        assert_eq!(soon.expect(402)["error"], "invalid_exact_evm_payload_authorization_valid_before");
        till.world.mining(false).await;
        let last = now() + 24;
        let headers: Vec<String> = payers.iter().map(|payer| ending(payer, 24).header()).collect();
        let paying = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n)));
        let attacking = async {
            waiting(&till.world, 4).await;
            cancelled(&till.world, 4).await;
            // The next block is the first in which no signature holds.
            till.world.rpc("evm_setNextBlockTimestamp", json!([last])).await;
            till.world.mining(true).await;
        };
        let (answers, ()) = tokio::join!(paying, attacking);
        let (gas, count) = reverted(&till.world).await;
        println!("4 transfers held back until their signatures end: {gas} gas in {count} reverted transactions");
        assert!(answers.iter().all(|answer| answer.status == 402), "{:?}", answers.iter().map(|a| a.status));
        assert_eq!((gas, count, till.balance().await), (0, 0, 0));
    });
}

#[test]
fn a_copied_transfer_is_the_payment() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = super::serve(&till, "settle_ms = 29_000").await;
        let payers = payers(&till, 3, 1).await;
        let orders: Vec<Order> = payers.iter().map(|payer| order(&till, payer)).collect();
        let headers: Vec<String> = orders.iter().map(Order::header).collect();
        till.world.mining(false).await;
        let paying = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n)));
        let copying = async {
            waiting(&till.world, 3).await;
            for order in &orders {
                ahead(&till.world, Address::repeat_byte(0x66), USDC, &order.call()).await;
            }
            till.world.mining(true).await;
        };
        let (answers, ()) = tokio::join!(paying, copying);
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
        let (gas, count) = reverted(&till.world).await;
        println!("3 transfers copied out of the pool: {statuses:?}, {gas} gas in {count} reverted transactions");
        for (n, (answer, header)) in answers.iter().zip(&headers).enumerate() {
            let accepted = answer.expect(202);
            confirmed(&api, accepted["status_url"].as_str().expect("a path")).await;
            // One payment buys once.
            assert_eq!(pay(&api, header, n).await.expect(202)["submission_id"], accepted["submission_id"]);
            assert_eq!(pay(&api, header, 10 + n).await.expect(402)["error"], "invalid_exact_evm_nonce_already_used");
        }
        assert_eq!((till.balance().await, till.transfers().await.len()), (3 * PRICE, 3));
    });
}

#[test]
fn a_sale_that_costs_more_gas_than_it_brings_is_refused_before_anything_is_signed() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "");
        // A transfer and one feedback cost about 28 cents.
        let service = Service::start(&config.replace("native_usd = 1.0", "native_usd = 1_000_000.0"));
        let api = service.anonymous();
        let order = till.order();
        let refused = pay(&api, &order.header(), 1).await;
        println!("a sale above its price: {} {}", refused.status, refused.text);
        assert!(refused.headers.contains_key("retry-after"));
        assert_eq!(refused.expect(503)["code"], "gas_above_price");
        assert_eq!((till.transfers().await.len(), till.balance().await), (0, 0));
        // The same payment is taken when gas costs less.
        let service = Service::start_in(service.kill(), &config, &[]);
        pay_until_settled(&service.anonymous(), &order.header(), 1).await.expect(202);
    });
}

/// A payment from this client address, which a trusted proxy forwards.
async fn pay_from(api: &Caller, header: &str, n: usize, address: &str) -> Answer {
    answer(request(api, header, n).header("x-forwarded-for", address)).await
}

/// Pays once as a new account, which is emptied when its transfer is in the pool, if that is before `end`.
async fn attack_once(till: &Till, api: &Caller, n: usize, end: Instant) {
    let payer = PrivateKeySigner::random();
    till.mint(payer.address(), PRICE).await;
    let header = order(till, &payer).header();
    // No block comes in between at the first attempt, so that it succeeds on any machine.
    till.world.mining(n > 0).await;
    let paying = async {
        while pay_from(api, &header, 200 + n % 50, "203.0.113.1").await.status == 503 && Instant::now() < end {}
    };
    let emptying = async {
        if crate::siege::in_the_pool(&till.world, USDC, payer.address().into_word(), end).await {
            let value = U256::from(till.balance_of(payer.address()).await);
            let away = Dollar::transferCall { to: Address::repeat_byte(9), value };
            ahead(&till.world, payer.address(), USDC, &away).await;
        }
        till.world.mining(true).await;
    };
    tokio::join!(paying, emptying);
}

/// Honest newcomers, each from an address of its own.
struct Newcomers<'a> {
    till: &'a Till,
    api: &'a Caller,
    count: Cell<usize>,
    /// How many answers asked a newcomer to come back, by code.
    returns: RefCell<BTreeMap<String, usize>>,
}

impl Newcomers<'_> {
    /// Seconds until one more newcomer has paid.
    async fn pay(&self) -> f64 {
        let n = self.count.get() + 1;
        self.count.set(n);
        let payer = PrivateKeySigner::random();
        self.till.mint(payer.address(), PRICE).await;
        let (header, started) = (order(self.till, &payer).header(), Instant::now());
        loop {
            let answer = pay_from(self.api, &header, n, &format!("198.51.100.{n}")).await;
            if answer.status != 503 {
                answer.expect(202);
                return started.elapsed().as_secs_f64();
            }
            let body = answer.json();
            let (code, detail) = (body["code"].as_str().unwrap_or("none"), body["detail"].as_str().unwrap_or_default());
            assert!(answer.headers.contains_key("retry-after"), "{body}");
            assert!(code != "settlement_queued" || detail.contains("is number "), "{body}");
            *self.returns.borrow_mut().entry(code.to_owned()).or_default() += 1;
        }
    }
}

#[test]
fn newcomers_are_served_in_turn_when_the_budget_is_spent() {
    run(async {
        let till = Till::start().await;
        // One transfer fits at a time.
        let (budget, period) = (0.015, 15.0);
        let config = till.config(till.world.chain.url(), "settle_ms = 700");
        let gas = format!("accounts_usd = {budget}, party_usd = 0.5, period_seconds = {period}");
        let config = with_gas(&config, &gas) + "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n";
        let service = Service::start(&config);
        let api = service.anonymous();
        let newcomers = Newcomers { till: &till, api: &api, count: Cell::default(), returns: RefCell::default() };
        let three = async || join_all((0..3).map(|_| newcomers.pay())).await;
        let undisturbed = three().await;
        newcomers.returns.take();
        let (length, over) = (Duration::from_secs(if is_soak() { 40 } else { 12 }), Cell::new(false));
        let started = Instant::now();
        attack_once(&till, &api, 0, started + PATIENCE).await;
        let attacking = async {
            // Three at once, from one address.
            let attack = async |first: usize| {
                for n in (first..).step_by(3) {
                    if started.elapsed() > length {
                        break;
                    }
                    attack_once(&till, &api, n, started + length).await;
                }
            };
            join_all((1..4).map(attack)).await;
            over.set(true);
        };
        let meanwhile = async {
            let mut waits = Vec::new();
            while !over.get() {
                waits.extend(three().await);
            }
            waits
        };
        let ((), waits) = tokio::join!(attacking, meanwhile);
        let (gas, count) = reverted(&till.world).await;
        let (served, longest) = (waits.len(), waits.iter().copied().fold(0.0, f64::max));
        let returns = newcomers.returns.take();
        println!(
            "a siege of {length:?}: the operator loses ${:.4} for {gas} gas in {count} reverted transactions, of \
             ${budget} that return every {period} s; {served} newcomers paid, three at once, after {:.1} s ({:.1} s \
             undisturbed) and {longest:.1} s at most; asked to come back {returns:?}",
            dollars(gas),
            median(waits),
            median(undisturbed)
        );
        assert!(count > 0 && served > 0, "{count} reverted, {served} served");
        assert!(returns.contains_key("settlement_queued"), "{returns:?}");
        let most = budget * (1.0 + started.elapsed().as_secs_f64() / period);
        assert!(dollars(gas) <= most, "{gas} gas");
    });
}
