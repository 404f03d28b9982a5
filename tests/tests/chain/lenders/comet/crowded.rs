//! Blocks with several changes of the same wallets, some of which no log shows: each history is what was done, with or
//! without any one of its logs.

use std::collections::BTreeMap;

use alloy::primitives::{B256, U256};
use alloy::sol_types::SolCall;
use assay_domain::{Coverage, EventCounts, PoolHistory};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::dice::Dice;
use assay_tests::lenders::Small;
use assay_tests::lenders::comet::{self, Comet, Market, Together};
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::proxy::Proxy;
use tokio::sync::OnceCell;

use super::super::super::lies::topic;
use super::super::super::{Reader, one_log};
use super::super::{once, pool};
use super::{DOLLARS, ETHER_USD, uncached};

const NAMES: [&str; 8] = ["abel", "bela", "carl", "dana", "elsa", "fred", "gary", "hope"];
/// Has supply, and transfers it to others.
const RICH: &str = "rich";
/// Blocks, and the most actions in one.
const BLOCKS: usize = 60;
const AT_ONCE: usize = 4;

/// What was done, without interest: a supply is positive, a debt negative.
#[derive(Default)]
struct Lives(BTreeMap<&'static str, (i64, EventCounts)>);

impl Lives {
    fn add(&mut self, name: &'static str, amount: i64) {
        let (held, counts) = self.0.entry(name).or_insert((0, EventCounts::ZERO));
        let (before, after) = (*held, *held + amount);
        let supplied = after.max(0) - before.max(0);
        let owed = before.min(0) - after.min(0);
        for (count, is_one) in [
            (&mut counts.supply, supplied > 0),
            (&mut counts.withdraw, supplied < 0),
            (&mut counts.borrow, owed > 0),
            (&mut counts.repay, owed < 0),
        ] {
            *count = count.map(|count| count + u64::from(is_one));
        }
        *held = after;
    }
}

struct World {
    chain: Small,
    market: Market,
    setup: Setup,
    lives: Lives,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

fn with(test: impl AsyncFnOnce(&World)) {
    once(&WORLD, World::start, test);
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let market = comet::deploy(&mut chain, &[(6, DOLLARS.0, DOLLARS.1)]).await?.remove(0);
        let together = comet::together(&mut chain).await?;
        let (mut lives, mut dice) = (Lives::default(), Dice(7));
        let amount = |thousands: u64| U256::from(thousands * 1_000);
        let supply = |dst, thousands| Comet::supplyToCall { dst, asset: market.base, amount: amount(thousands) };
        chain.queue(wallet(RICH), market.comet, &supply(wallet(RICH), 90_000_000));
        chain.mine().await?;
        for _ in 0..BLOCKS {
            for _ in 0..=dice.place(AT_ONCE) {
                let [from, to] = [0, 1].map(|_| NAMES[dice.place(NAMES.len())]);
                let size = 10 + dice.below(500);
                let signed = size as i64 * 1_000;
                let transfer = |dst: &str, size| Comet::transferAssetCall {
                    dst: wallet(dst),
                    asset: market.base,
                    amount: amount(size),
                };
                match dice.below(6) {
                    0 => {
                        chain.queue(wallet(RICH), market.comet, &supply(wallet(to), size));
                        lives.add(to, signed);
                    }
                    1 => {
                        let call = Comet::withdrawToCall { to: wallet(from), asset: market.base, amount: amount(size) };
                        chain.queue(wallet(from), market.comet, &call);
                        lives.add(from, -signed);
                    }
                    2 => {
                        chain.queue(wallet(RICH), market.comet, &transfer(to, size));
                        lives.add(to, signed);
                    }
                    // Another contract, which owes what it moves, asks the market.
                    3 => {
                        let calls = vec![transfer(to, size).abi_encode().into()];
                        let call = Together::runCall { target: market.comet, calls };
                        chain.queue(wallet("anybody"), together, &call);
                        lives.add(to, signed);
                    }
                    _ if from != to => {
                        chain.queue(wallet(from), market.comet, &transfer(to, size));
                        lives.add(from, -signed);
                        lives.add(to, signed);
                    }
                    _ => {}
                }
            }
            chain.mine().await?;
        }
        let setup = Setup { native_feed, markets: vec![("lenderB_v3", "USD", market.comet)], ..Setup::default() };
        Ok(Self { chain, market, setup, lives })
    }

    /// Whether the market logged something about the wallet `named` in `block`.
    async fn has_log(&self, block: u64, named: B256) -> bool {
        let (_, logs) = self.chain.block(block).await.unwrap();
        logs.iter()
            .any(|log| log.address == self.market.comet && log.topics.iter().skip(1).any(|topic| *topic == named))
    }

    fn reader(&self) -> Reader {
        super::super::reader(&self.setup, &self.chain)
    }

    /// Whether a complete history is what `name` did.
    fn is_true(&self, name: &str, read: &PoolHistory) -> bool {
        read.coverage != Coverage::Complete || read.counts == self.lives.0[name].1
    }
}

#[test]
fn several_changes_in_one_block_are_counted_one_by_one() {
    with(async |world| {
        let reader = world.reader().with(uncached).started().await;
        let mut named = 0;
        for name in NAMES {
            let snapshot = reader.read(wallet(name)).await;
            let read = pool(&snapshot.chains[0], world.market.comet);
            assert_eq!((read.coverage, read.counts), (Coverage::Complete, world.lives.0[name].1), "{name}");
            // Another contract may have asked for two of them.
            named += usize::from(read.remark.as_ref().is_some_and(|remark| remark.contains("count as one")));
        }
        assert!((1..NAMES.len()).contains(&named), "{named}");
    });
}

#[test]
fn a_log_that_is_left_out_of_a_crowded_block_makes_no_history_wrong_and_complete() {
    with(async |world| {
        let wallets = NAMES.map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let one = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Comet, crowded", one).await;
    });
}

/// All logs of a market that name a wallet in one block, left out at once by the only endpoint.
#[test]
fn logs_that_cancel_and_are_all_left_out_make_no_history_wrong_and_complete() {
    with(async |world| {
        let (mut wrong, mut whole, mut all) = (Vec::new(), 0, 0);
        let few = if std::env::var_os("ASSAY_SOAK").is_some() { NAMES.len() } else { 1 };
        for name in &NAMES[..few] {
            let named = wallet(name).into_word();
            for block in 1..=world.chain.head {
                let is_of = move |log: &serde_json::Value| {
                    let number = log["blockNumber"].as_str().and_then(|n| u64::from_str_radix(&n[2..], 16).ok());
                    number == Some(block) && (1..3).any(|at| topic(log, at) == Some(named))
                };
                if !world.has_log(block, named).await {
                    continue;
                }
                let proxy = Proxy::start(world.chain.url()).await;
                proxy.forget_wholly(is_of);
                let reader = world.reader().through(&[&proxy]).with(uncached).started().await;
                for _ in 0..2 {
                    let snapshot = reader.read(wallet(name)).await;
                    let read = pool(&snapshot.chains[0], world.market.comet);
                    all += 1;
                    whole += usize::from(read.coverage == Coverage::Complete);
                    if !world.is_true(name, read) {
                        wrong.push(format!("{name} without block {block}: {:?}", read.counts));
                    }
                }
            }
        }
        println!("{all} reads, {whole} complete, {} wrong and complete", wrong.len());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
