//! Callers who cost the operator gas or hold up the others: what they cost, and what an honest caller waits meanwhile.
//! `ASSAY_SOAK=1` raises the numbers.

use std::time::{Duration, Instant};

use alloy::{
    primitives::{Address, Bytes, U256, keccak256},
    signers::local::PrivateKeySigner,
};
use assay_tests::{
    facilitator::{Facilitator, Manner},
    lenders::stubs,
    payment::{Order, PRICE, Till},
    service::{Caller, Service},
    until::until,
};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{pay, pay_until_settled, serve};
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
    let (service, api) = serve(&till, x402).await;
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
        let budget = "contract_signatures = true\npayer_reverted_gas = 500_000\nreverted_gas = 1_000_000";
        let (gas, count) = attack(&format!("settle_ms = 29_000\n{budget}")).await;
        assert!(count <= 4 && gas <= 1_000_000, "{count} {gas}");
    });
}

#[test]
fn a_replaced_transfer_of_a_contract_may_take_no_more_gas_than_the_first() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "contract_signatures = true\npayer_reverted_gas = 200_000");
        let service = Service::start(&config.replace("poll_ms = 50", "poll_ms = 50\nmax_fee_gwei = 500.0"));
        let stubs = stubs("Dollar.sol").await.expect("the stubs compile");
        let wallet = Address::repeat_byte(0x71);
        let owned = [stubs["WalletStub"].as_ref(), till.payer.address().into_word().as_slice()].concat();
        create(&till, wallet, owned.into()).await;
        till.mint(wallet, PRICE).await;
        till.world.mining(false).await;
        let mut order = till.order();
        order.authorization.from = wallet;
        let signature: Bytes = [order.signature().as_ref(), &[7]].concat().into();
        let (api, header) = (service.anonymous(), order.signed(signature));
        let paying = tokio::spawn(async move { pay(&api, &header, 1).await });
        waiting(&till.world, 1).await;
        // From now on its transfer takes more gas, and the waiting one is below the price.
        create(&till, wallet, stubs["TrapStub"].clone()).await;
        let price = U256::from(100_000_000_000_u64);
        till.world.rpc("anvil_setNextBlockBaseFeePerGas", json!([price])).await;
        till.world.rpc("evm_mine", json!([])).await;
        let number = |transaction: &Value, name: &str| transaction[name].as_str()?.parse::<U256>().ok();
        let pooled = async || {
            let pool = till.world.rpc("txpool_content", json!([])).await;
            let all = ["pending", "queued"].map(|part| pool[part].as_object().cloned().unwrap_or_default());
            let of_account = all.into_iter().flatten().flat_map(|(_, nonces)| nonces.as_object().cloned());
            let replaces = |fee: U256| fee >= price;
            of_account.flatten().map(|(_, one)| one).find(|one| number(one, "maxFeePerGas").is_some_and(replaces))
        };
        let replacement = until(pooled, Option::is_some).await.expect("it is replaced");
        println!("the replacement after a wallet began to take more gas: {replacement}");
        assert!(number(&replacement, "gas").is_some_and(|gas| gas <= U256::from(200_000)), "{replacement}");
        paying.abort();
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
fn two_servers_with_one_account_do_not_both_sell_for_one_transfer() {
    run(async {
        let till = Till::start().await;
        // Each has a store and a sending account of its own.
        let config = till.config(till.world.chain.url(), "");
        let other = PrivateKeySigner::random();
        till.world.rpc("anvil_setBalance", json!([other.address(), U256::from(10).pow(U256::from(20))])).await;
        let key = |signer: &PrivateKeySigner| signer.to_bytes().to_string();
        let servers =
            [Service::start(&config), Service::start(&config.replace(&key(&till.world.signer), &key(&other)))];
        let header = till.order().header();
        let callers: Vec<Caller> = servers.iter().map(Service::anonymous).collect();
        let answers = join_all(callers.iter().map(|api| pay_until_settled(api, &header, 1))).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
        println!("one payment at two servers: {statuses:?}, {} transfer", till.transfers().await.len());
        assert_eq!(till.transfers().await.len(), 1);
        assert_eq!(statuses.iter().filter(|status| **status == 202).count(), 1, "{statuses:?}");
    });
}
