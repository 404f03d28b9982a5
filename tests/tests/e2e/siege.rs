//! Strangers who make transactions of the operator revert, again and again: what it costs the operator, what it costs
//! them, and what an honest caller waits meanwhile. `ASSAY_SOAK=1` makes a siege take 40 seconds.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use alloy::{
    primitives::{Address, B256, U256},
    signers::local::PrivateKeySigner,
};
use assay_tests::{
    devnet::actors,
    payment::{Dollar, PRICE, Till, USDC},
    reputation::World,
    service::{Answer, Caller, Service},
    until::{PATIENCE, until},
};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    reputation::{ahead, confirmed, ended, registerCall, reverted, setApprovalForAllCall, subject},
    run,
    x402::{PATH, dollars, pay, pay_until_settled, with_gas},
};

const ATTACKER: &str = "assay_siege_attacker";
/// What the attacker's key may spend, and what a submission costs.
const UNITS: u64 = 100;
const COST: u64 = 10;
const TAGS: u64 = 3;

pub(crate) fn is_soak() -> bool {
    std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1")
}

/// How long a siege lasts.
fn length() -> Duration {
    Duration::from_secs(if is_soak() { 40 } else { 8 })
}

/// Seconds from an honest submission to its confirmation.
pub(crate) async fn submission(api: &Caller, n: usize) -> f64 {
    let started = Instant::now();
    let body = json!({ "address": subject(n), "tags": ["sybilRisk"] });
    let accepted = api.post(PATH, &body).await.expect(202);
    confirmed(api, accepted["status_url"].as_str().expect("a path")).await;
    started.elapsed().as_secs_f64()
}

pub(crate) fn median(mut waits: Vec<f64>) -> f64 {
    waits.sort_by(f64::total_cmp);
    waits[waits.len() / 2]
}

/// The medians of honest waits, undisturbed and while `attack` goes on, with what the attack returns.
async fn besieged<T>(mut honest: impl AsyncFnMut(usize) -> f64, attack: impl Future<Output = T>) -> (f64, f64, T) {
    let mut undisturbed = Vec::new();
    for n in 0..5 {
        undisturbed.push(honest(n).await);
    }
    let over = AtomicBool::new(false);
    let attacking = async {
        let result = attack.await;
        over.store(true, Ordering::Relaxed);
        result
    };
    let meanwhile = async {
        let mut waits = Vec::new();
        while waits.len() < 5 || !over.load(Ordering::Relaxed) {
            waits.push(honest(10 + waits.len()).await);
        }
        waits
    };
    let (result, meanwhile) = tokio::join!(attacking, meanwhile);
    (median(undisturbed), median(meanwhile), result)
}

/// Waits until the server's call of `to` with `first` as its first argument is in the pool, or until the siege ends.
pub(crate) async fn in_the_pool(world: &World, to: Address, first: B256, end: Instant) -> bool {
    let first = first.to_string();
    let account = world.signer.address().to_string();
    let waits = |pool: &Value| {
        let queues = ["pending", "queued"].into_iter().filter_map(|name| pool[name].as_object());
        let ours = queues.flatten().filter(|(from, _)| from.eq_ignore_ascii_case(&account));
        let mut transactions = ours.flat_map(|(_, by_nonce)| by_nonce.as_object().into_iter().flatten());
        let to = to.to_string();
        let has_first = |input: &str| input.get(10..).is_some_and(|arguments| arguments.starts_with(&first[2..]));
        transactions.any(|(_, one)| {
            one["to"].as_str().is_some_and(|of| of.eq_ignore_ascii_case(&to))
                && one["input"].as_str().is_some_and(has_first)
        })
    };
    until(async || world.rpc("txpool_content", json!([])).await, |pool| waits(pool) || Instant::now() > end).await;
    Instant::now() < end
}

/// The answers that refused, by their code.
#[derive(Debug, Default)]
struct Refusals(std::collections::BTreeMap<String, usize>);

impl Refusals {
    fn count(&mut self, answer: &Answer) {
        let code = answer.json()["code"].as_str().unwrap_or("none").to_owned();
        *self.0.entry(format!("{} {code}", answer.status)).or_default() += 1;
    }
}

/// Submits for a new agent, and approves the service while the feedback waits for a block. No block comes in between
/// at the first attempt, so that it succeeds on any machine.
async fn make_feedback_revert(world: &World, api: &Caller, n: u64, end: Instant, refusals: &mut Refusals) -> u64 {
    let owner = Address::from_word(alloy::primitives::keccak256(format!("owner {n}")));
    // Every second attempt uses the same owner.
    let owner = if n.is_multiple_of(2) { owner } else { actors::address("stranger") };
    let registered = ahead(world, owner, world.identity, &registerCall { uri: String::new() }).await;
    until(async || world.rpc("eth_getTransactionReceipt", json!([registered])).await, |r| !r.is_null()).await;
    world.mining(n > 0).await;
    // The first three agents are the world's.
    let answer = api.post(&format!("/api/v2/agents/{}/reputation", 3 + n), &json!({ "address": subject(0) })).await;
    if answer.status != 202 {
        world.mining(true).await;
        refusals.count(&answer);
        return 0;
    }
    let accepted = answer.json();
    let operator = world.signer.address();
    let end = if n == 0 { Instant::now() + PATIENCE } else { end };
    if in_the_pool(world, world.reputation, B256::left_padding_from(&(3 + n).to_be_bytes()), end).await {
        ahead(world, owner, world.identity, &setApprovalForAllCall { operator, approved: true }).await;
    }
    world.mining(true).await;
    ended(api, accepted["status_url"].as_str().expect("a path")).await;
    ahead(world, owner, world.identity, &setApprovalForAllCall { operator, approved: false }).await;
    COST
}

#[test]
fn owners_who_make_feedback_revert_pay_for_every_attempt_and_hold_up_nobody() {
    run(async {
        let world = World::start().await;
        let key = format!(
            "[[access.keys]]\nname = \"siege\"\nkey = \"{ATTACKER}\"\nscopes = [\"read\", \"submit\"]\n\
             units = {UNITS}\n"
        );
        let gas = "feedback_usd = 0.2, party_usd = 0.1";
        let service = Service::start(&(with_gas(&world.config(world.chain.url(), ""), gas) + &key));
        let (attacker, honest) = (service.with_key(ATTACKER), service.keyed());
        let attack = async {
            let (mut spent, mut refusals, end) = (0, Refusals::default(), Instant::now() + length());
            for n in 0.. {
                if Instant::now() > end {
                    break;
                }
                spent += make_feedback_revert(&world, &attacker, n, end, &mut refusals).await;
            }
            (spent, refusals)
        };
        let (undisturbed, meanwhile, (spent, refusals)) =
            besieged(async |n| submission(&honest, n).await, attack).await;
        let (gas, count) = reverted(&world).await;
        println!(
            "reverted feedback in {:?}: the attacker spends {spent} units, the operator ${:.4} for {gas} gas in \
             {count} reverted transactions; refused {refusals:?}; an honest submission takes \
             {undisturbed:.1} s undisturbed and {meanwhile:.1} s meanwhile",
            length(),
            dollars(gas)
        );
        assert!(spent <= UNITS && count as u64 <= spent / COST * TAGS, "{count} for {spent} units");
        assert!(count > 0 && dollars(gas) <= 0.2, "the budget: {gas}");
    });
}

/// Eight payments of a new account, which is emptied when the first transfer waits for a block. No block comes in
/// between at the first attempt, so that it succeeds on any machine.
async fn pay_and_empty(till: &Till, api: &Caller, n: usize, end: Instant) -> Vec<Answer> {
    let payer = PrivateKeySigner::random();
    till.mint(payer.address(), 8 * PRICE).await;
    let headers: Vec<String> = (0..8)
        .map(|_| {
            let mut order = till.order();
            (order.authorization.from, order.signer) = (payer.address(), payer.clone());
            order.header()
        })
        .collect();
    till.world.mining(n > 0).await;
    let paying = join_all(headers.iter().enumerate().map(|(at, header)| pay(api, header, 100 + 8 * n + at)));
    let emptying = async {
        let end = if n == 0 { Instant::now() + PATIENCE } else { end };
        if in_the_pool(&till.world, USDC, payer.address().into_word(), end).await {
            let value = U256::from(till.balance_of(payer.address()).await);
            ahead(&till.world, payer.address(), USDC, &Dollar::transferCall { to: Address::repeat_byte(9), value })
                .await;
        }
        till.world.mining(true).await;
    };
    tokio::join!(paying, emptying).0
}

#[test]
fn accounts_that_are_emptied_cost_the_budget_at_most_and_hold_up_nobody() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 2_000");
        let service = Service::start(&with_gas(&config, "accounts_usd = 0.1"));
        let api = service.anonymous();
        let honest = async |n: usize| {
            let started = Instant::now();
            let accepted = pay_until_settled(&api, &till.order().header(), n).await.expect(202);
            confirmed(&api, accepted["status_url"].as_str().expect("a path")).await;
            started.elapsed().as_secs_f64()
        };
        let attack = async {
            let (mut payers, mut refusals, end) = (0_u64, Refusals::default(), Instant::now() + length());
            for n in 0.. {
                if Instant::now() > end {
                    break;
                }
                let answers = pay_and_empty(&till, &api, n, end).await;
                payers += u64::from(answers.iter().any(|answer| answer.status == 202));
                answers.iter().filter(|answer| answer.status != 202).for_each(|answer| refusals.count(answer));
            }
            (payers, refusals)
        };
        let (undisturbed, meanwhile, (payers, refusals)) = besieged(honest, attack).await;
        let (gas, count) = reverted(&till.world).await;
        println!(
            "emptied accounts in {:?}: {payers} of them paid, the operator loses ${:.4} for {gas} gas in {count} \
             reverted transactions; refused {refusals:?}; an honest paid submission takes \
             {undisturbed:.1} s undisturbed and {meanwhile:.1} s meanwhile",
            length(),
            dollars(gas)
        );
        let returned = 0.1 * length().as_secs_f64() / 3_600.0;
        let most = 0.1 + returned + payers as f64 * 0.1;
        assert!(count > 0 && dollars(gas) <= most, "{gas} with {payers} that paid");
    });
}
