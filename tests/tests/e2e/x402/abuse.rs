//! Callers who cost the operator gas or hold up the others: what they cost, and what an honest caller waits meanwhile.
//! `ASSAY_SOAK=1` raises the numbers.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use alloy::{
    primitives::{Address, Bytes, U256, keccak256},
    signers::local::PrivateKeySigner,
};
use assay_tests::{
    facilitator::{Facilitator, Manner},
    lenders::stubs,
    payment::{Order, PRICE, Till},
    proxy::Proxy,
    service::{Caller, Service},
    until::until,
};
use futures::future::join_all;
use serde_json::json;

use super::{dollars, pay, pay_until_settled, serve, with_gas};
use crate::{
    reputation::{reverted, waiting},
    run,
    siege::{is_soak, median, submission},
};

/// Gives `at` the code that this creation code returns.
async fn create(till: &Till, at: Address, creation: Bytes) {
    let made = till.world.rpc("eth_call", json!([{ "data": creation }, "latest"])).await;
    till.world.rpc("anvil_setCode", json!([at, made])).await;
}

/// A contract at `at` that confirms signatures in simulations alone, with money.
pub(crate) async fn trap(till: &Till, at: Address) {
    let code = stubs("Dollar.sol").await.expect("the stubs compile")["TrapStub"].clone();
    create(till, at, code).await;
    till.mint(at, PRICE * 100).await;
}

/// A payment by the contract `from`, with any signature.
pub(crate) fn trapped(till: &Till, from: Address) -> String {
    let mut order = till.order();
    order.authorization.from = from;
    order.signed(Bytes::from(vec![7; 65]))
}

/// The median wait of five honest submissions.
async fn honest_median(api: &Caller, from: usize) -> f64 {
    let mut waits = Vec::new();
    for n in from..from + 5 {
        waits.push(submission(api, n).await);
    }
    median(waits)
}

async fn attack(x402: &str) -> (u64, usize) {
    let till = Till::start().await;
    let config = till.config(till.world.chain.url(), x402);
    let service = Service::start(&with_gas(&config, "contracts_usd = 0.2, party_usd = 0.04"));
    let api = service.anonymous();
    let keyed = service.keyed();
    let undisturbed = honest_median(&keyed, 200).await;
    let requests = if is_soak() { 100 } else { 24 };
    let wallets: Vec<Address> = (0..4).map(|n| Address::repeat_byte(0x80 + n)).collect();
    for wallet in &wallets {
        trap(&till, *wallet).await;
    }
    let headers: Vec<String> = (0..requests).map(|n| trapped(&till, wallets[n % wallets.len()])).collect();
    let attacking = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n)));
    let (answers, meanwhile) = tokio::join!(attacking, honest_median(&keyed, 210));
    assert!(answers.iter().all(|answer| answer.status == 402), "{:?}", answers.iter().find(|a| a.status != 402));
    let (gas, count) = reverted(&till.world).await;
    println!(
        "{requests} payments of contracts that fail on the chain: {count} reverted transactions, {gas} gas; an honest \
         submission takes {undisturbed:.1} s undisturbed and {meanwhile:.1} s meanwhile"
    );
    assert_eq!(till.balance().await, 0);
    (gas, count)
}

#[test]
fn a_contract_that_fails_on_the_chain_alone_burns_no_gas_unless_contracts_may_pay() {
    run(async {
        assert_eq!(attack("settle_ms = 29_000").await, (0, 0));
    });
}

#[test]
fn contracts_that_may_pay_burn_no_more_gas_than_is_allowed() {
    run(async {
        let (gas, count) = attack("settle_ms = 29_000\ncontract_signatures = true").await;
        assert!((1..=4).contains(&count) && dollars(gas) <= 0.2, "{count} {gas}");
    });
}

#[test]
fn a_replacement_beyond_the_budget_is_not_signed() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let config = till.config(&proxy.url, "settle_ms = 29_000");
        let service = Service::start(&with_gas(&config, "accounts_usd = 0.1"));
        let base_fee = async |wei: u64| {
            till.world.rpc("anvil_setNextBlockBaseFeePerGas", json!([U256::from(wei)])).await;
            till.world.rpc("evm_mine", json!([])).await;
        };
        till.world.mining(false).await;
        let (api, header) = (service.anonymous(), till.order().header());
        let paying = tokio::spawn(async move { pay_until_settled(&api, &header, 1).await });
        waiting(&till.world, 1).await;
        let sent = || {
            let calls = proxy.take();
            let looks = calls.iter().filter(|call| call.method == "eth_estimateGas").count();
            let raw = calls.into_iter().filter(|call| call.method == "eth_sendRawTransaction");
            (looks, raw.map(|call| call.params[0].to_string()).collect::<BTreeSet<_>>())
        };
        let (_, first) = sent();
        assert_eq!(first.len(), 1);
        // A replacement could cost more than two dollars.
        base_fee(100_000_000).await;
        let (mut looks, mut others) = (0, BTreeSet::new());
        let considered = async || {
            let (more, raw) = sent();
            looks += more;
            others.extend(raw.difference(&first).cloned());
            (looks, others.len())
        };
        // The gas of a replacement is estimated before its cost is compared.
        until(considered, |(looks, others)| *looks >= 3 || *others > 0).await;
        println!("a replacement beyond the budget was considered {looks} times: {others:?}");
        assert!(others.is_empty(), "{others:?}");
        // One of seven cents fits.
        base_fee(2_500_000).await;
        until(async || sent().1.difference(&first).count(), |replacements| *replacements > 0).await;
        till.world.mining(true).await;
        paying.await.expect("it is answered").expect(202);
    });
}

#[test]
fn payments_that_never_settle_leave_room_for_the_others() {
    run(held_up(Manner::Broken));
}

#[test]
fn payments_on_which_the_facilitator_hangs_leave_room_for_the_others() {
    run(held_up(Manner::Stalled));
}

/// Pays while the facilitator treats the payments of many other payers in this manner.
async fn held_up(manner: Manner) {
    let till = Till::start().await;
    let facilitator = Facilitator::start(&till.world.chain.rpc).await;
    let keys = format!(
        "facilitator = \"{}\"\nfacilitator_timeout_ms = 60_000\nsettle_ms = 1_000\nvalid_seconds = 60",
        facilitator.url
    );
    let (_service, api) = serve(&till, &keys).await;
    let mut n = 1_000;
    let mut median = async |of: usize| {
        let mut waits = Vec::new();
        for _ in 0..of {
            n += 1;
            let started = Instant::now();
            let paid = async { pay_until_settled(&api, &till.order().header(), n).await.expect(202) };
            // One place alone would be held for the minute of the facilitator.
            tokio::time::timeout(Duration::from_secs(50), paid).await.expect("it is not held up");
            waits.push(started.elapsed().as_secs_f64());
        }
        waits.sort_by(f64::total_cmp);
        waits[of / 2]
    };
    let undisturbed = median(5).await;
    let stuck = if is_soak() { 64 } else { 40 };
    let payers: Vec<PrivateKeySigner> = (0..stuck).map(|_| PrivateKeySigner::random()).collect();
    for payer in &payers {
        till.mint(payer.address(), PRICE).await;
    }
    facilitator.be_towards(payers.iter().map(PrivateKeySigner::address).collect(), manner);
    let asked = facilitator.asked("settle");
    let orders = payers.iter().map(|payer| {
        let mut order: Order = till.order();
        (order.authorization.from, order.signer) = (payer.address(), payer.clone());
        order.authorization.nonce = keccak256(payer.address());
        order.header()
    });
    let headers: Vec<String> = orders.collect();
    let answers = join_all(headers.iter().enumerate().map(|(n, header)| pay(&api, header, n))).await;
    assert!(answers.iter().all(|answer| answer.status == 503), "{:?}", answers.iter().map(|a| a.status));
    let meanwhile = median(5).await;
    println!(
        "{stuck} payments that never settle ({manner:?}, asked {} times): another one takes {undisturbed:.1} s \
         undisturbed and {meanwhile:.1} s meanwhile",
        facilitator.asked("settle") - asked
    );
    assert_eq!(till.balance().await, 10 * PRICE);
}

#[test]
fn contracts_that_used_their_budget_keep_no_other_account_waiting() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 29_000\ncontract_signatures = true");
        // A week until the budget of contracts returns.
        let gas = "contracts_usd = 0.05, party_usd = 0.05, period_seconds = 604_800";
        let service = Service::start(&with_gas(&config, gas));
        let api = service.anonymous();
        let contract = Address::repeat_byte(0x80);
        trap(&till, contract).await;
        pay_until_settled(&api, &trapped(&till, contract), 1).await.expect(402);
        assert_eq!(reverted(&till.world).await.1, 1);
        // Another contract waits for its turn, or is refused with the time when it can pay; an account pays.
        let other = Address::repeat_byte(0x81);
        trap(&till, other).await;
        let waits = pay(&api, &trapped(&till, other), 2).await;
        println!("another contract, while the budget of contracts is spent: {} {}", waits.status, waits.text);
        assert!([429, 503].contains(&waits.status.as_u16()) && waits.headers.contains_key("retry-after"));
        pay_until_settled(&api, &till.order().header(), 3).await.expect(202);
        assert_eq!((till.balance().await, reverted(&till.world).await.1), (PRICE, 1));
    });
}
