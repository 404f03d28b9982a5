//! Euler v2 with stubs of its contracts: the events of every wallet equal the receipts of all blocks, and its positions
//! and health factor the views of the vaults.

mod walk;
mod wallets;
mod world;

use std::time::Duration;

use alloy::primitives::Address;
use assay_domain::{Coverage, EventKind, Protocol};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::config::CHAIN;
use assay_tests::lenders::euler::account;
use assay_tests::proxy::{Call, Proxy, Reply};

use super::super::{RUNTIME, index, one_log};
use super::{pool, position, read_after};
use world::with;

/// Wallets whose position is read and priced completely.
const NAMES: [&str; 12] =
    ["bank", "ada", "ben", "cleo", "dora", "emil", "finn", "gus", "hal", "ivy", "kay", "liquidator"];

fn told(lived: &LendingEvents) -> [u64; 5] {
    [lived.supply, lived.withdraw, lived.borrow, lived.repay, lived.liquidation]
}

#[test]
fn every_wallet_is_what_receipts_and_the_vaults_say() {
    with(async |world| {
        let reader = world.reader().started().await;
        let mut all = Vec::new();
        for name in NAMES {
            let snapshot = reader.read(wallet(name)).await;
            assert_eq!(snapshot.coverage(), Coverage::Complete, "{name}: {:?}", snapshot.chains[0].unread);
            let read = &snapshot.chains[0];
            let told = pool(read, world.euler.factory);
            assert_eq!((told.protocol, told.feeds_score), (Protocol::EulerV2, false));
            all.push((name, self::told(&world.compare(name, read, world.chain.head).await)));
        }
        let expected = [
            ("bank", [3, 0, 0, 0, 0]),
            // Another wallet took over some of its debt.
            ("ada", [2, 0, 2, 2, 0]),
            ("ben", [1, 0, 1, 0, 0]),
            // A stranger gave to one of its accounts.
            ("cleo", [2, 0, 1, 1, 0]),
            ("dora", [1, 0, 1, 0, 1]),
            ("emil", [1, 0, 1, 0, 1]),
            ("finn", [2, 1, 0, 0, 0]),
            ("gus", [0, 0, 0, 0, 0]),
            ("hal", [1, 0, 0, 0, 0]),
            ("ivy", [2, 1, 1, 1, 0]),
            ("kay", [1, 0, 1, 1, 0]),
            ("liquidator", [0, 0, 2, 0, 0]),
        ];
        assert_eq!(all, expected);
    });
}

#[test]
fn assets_have_their_account_and_what_a_debt_may_reach() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("ben")).await;
        let held = position(&snapshot.chains[0], world.euler.factory).unwrap();
        let of = |number| account(wallet("ben"), number).into_word();
        let found: Vec<_> = held.assets.iter().map(|one| (one.account, one.liquidation_threshold)).collect();
        let mut expected: Vec<_> = [1, 2].into_iter().flat_map(|n| [(of(n), None), (of(n), Some(0.85))]).collect();
        let mut found = found;
        let key = |one: &(_, Option<f64>)| (one.0, one.1.is_some());
        expected.sort_by_key(key);
        found.sort_by_key(key);
        assert_eq!(found, expected);
    });
}

#[test]
fn events_have_dollars_if_the_feed_knows_the_token() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("ada")).await;
        let events = &pool(&snapshot.chains[0], world.euler.factory).events;
        let of = |kind| -> Vec<_> {
            let of_kind = events.events.iter().rev().filter(|event| event.kind == kind);
            of_kind.map(|event| event.usd).collect()
        };
        assert_eq!(of(EventKind::Borrow), [Some(4_000.0), Some(500.0)]);
        assert_eq!(of(EventKind::Repay), [Some(1_000.0), Some(300.0)]);
    });
}

#[test]
fn a_token_without_a_price_is_in_no_sum() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("odo")).await;
        let read = &snapshot.chains[0];
        assert_eq!(read.coverage, Coverage::Complete, "anybody can supply such a token for a wallet");
        world.compare("odo", read, world.chain.head).await;
        let remark = pool(read, world.euler.factory).remark.clone().unwrap();
        assert!(remark.contains(&format!("{}", world.euler.odd.token)), "{remark}");
    });
}

#[test]
fn an_account_of_another_wallet_says_so() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(account(wallet("ben"), 1)).await;
        let read = &snapshot.chains[0];
        let told = pool(read, world.euler.factory);
        assert_eq!(told.coverage, Coverage::Partial);
        assert!(told.remark.as_ref().unwrap().contains("account of another wallet"), "{:?}", told.remark);
        assert!(position(read, world.euler.factory).is_none());
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        let names = ["ada", "ben", "cleo", "dora", "emil", "finn", "gus", "hal", "ivy", "kay", "liquidator", "odo"];
        let wallets = names.map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Euler v2", world).await;
    });
}

#[test]
fn the_index_says_what_the_node_says() {
    with(async |world| {
        let names = [&NAMES[..], &["odo", "operator", "somebody"]].concat();
        let wallets: Vec<Address> = names.into_iter().map(wallet).collect();
        // Withdrawals name the owner in the third topic.
        super::super::index::agrees_within(3, &world.setup, &world.chain, &wallets).await;
    });
}

#[test]
fn a_past_block_is_read_as_it_was() {
    with(async |world| {
        let names = ["bank", "ada", "ben", "dora", "emil", "kay"];
        let wallets: Vec<Address> = names.into_iter().map(wallet).collect();
        let mut seen = LendingEvents::default();
        for block in [12, 17, 22, 26, 30, 38] {
            let time = world.blocks[block as usize].0;
            for (name, snapshot) in names.iter().zip(read_after(&world.reader(), (block, time), &wallets).await) {
                let read = &snapshot.chains[0];
                let told = pool(read, world.euler.factory);
                assert_eq!(told.coverage, Coverage::Complete, "{name} at {block}: {:?}", told.remark);
                seen.liquidation += world.compare(name, read, block).await.liquidation;
            }
        }
        assert!(seen.liquidation > 0);
    });
}

/// The calls and the log queries of the first read of `name`, with two endpoints.
async fn cost(world: &world::World, name: &str, has_market: bool) -> [usize; 2] {
    let proxies = [Proxy::start(world.chain.url()).await, Proxy::start(world.chain.url()).await];
    let both = [&proxies[0], &proxies[1]];
    let reader = world.reader().through(&both).with(|config| {
        if !has_market {
            config.chains[0].markets.clear();
        }
    });
    let reader = reader.started().await;
    // The vaults are listed once.
    reader.read(wallet("nobody")).await;
    both.iter().for_each(|proxy| _ = proxy.take());
    reader.read(wallet(name)).await;
    let calls: Vec<Call> = both.iter().flat_map(|proxy| proxy.take()).collect();
    [calls.len(), calls.iter().filter_map(Call::span).count()]
}

#[test]
fn a_wallet_that_never_used_it_costs_two_calls_and_its_log_queries() {
    with(async |world| {
        let [without, with] = [cost(world, "stranger", false).await, cost(world, "stranger", true).await];
        println!("calls and log queries of a wallet: {without:?} without the market, {with:?} with it");
        // One for each topic at one endpoint, and the same at the other before it is saved that there is no history.
        assert_eq!(with[1] - without[1], 6);
        // The owner of its accounts, the number of vaults, and for the first market of a chain the settled block.
        assert_eq!((with[0] - with[1]) - (without[0] - without[1]), 3);
    });
}

#[test]
fn a_vault_that_is_not_listed_yet_makes_no_history_complete() {
    RUNTIME.block_on(async {
        let mut world = world::World::of(async |_, _| Ok(())).await.unwrap();
        let uncached = |config: &mut assay::config::Config| {
            (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = (Duration::ZERO, Duration::ZERO);
        };
        let reader = world.reader().with(uncached).started().await;
        let finn = wallet("finn");
        assert_eq!(reader.read(finn).await.coverage(), Coverage::Complete);
        let euler = world.euler.clone();
        let vault = euler.another_vault(&mut world.chain, euler.usdc).await.unwrap();
        wallets::supply(&mut world.chain, &euler, "finn", vault, finn, 5_000).await.unwrap();
        let read = reader.read(finn).await;
        assert_ne!(pool(&read.chains[0], euler.factory).coverage, Coverage::Complete);
        // The list is read again.
        let read = reader.read(finn).await;
        let told = pool(&read.chains[0], euler.factory);
        assert_eq!((told.coverage, told.counts.supply), (Coverage::Complete, Some(1)));
    });
}

/// Anybody can have the factory make a vault at any time, and a node may keep no old state that shows when.
#[test]
fn a_new_vault_makes_an_index_forget_nothing() {
    RUNTIME.block_on(async {
        let mut world = world::World::of(wallets::live).await.unwrap();
        let proxy = Proxy::start(world.chain.url()).await;
        proxy.rule(|call| match call.method.as_str() {
            "eth_getCode" => Reply::Error { code: -32000, message: "missing trie node 00ff (path )".into() },
            _ => Reply::Pass,
        });
        let uncached = |config: &mut assay::config::Config| {
            (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = (Duration::ZERO, Duration::ZERO);
        };
        let reader = world.reader().through(&[&proxy]).with(uncached).with(index::indexed).started().await;
        reader.in_step(CHAIN, &world.chain.rpc).await;
        let (euler, finn) = (world.euler.clone(), wallet("finn"));
        let vault = euler.another_vault(&mut world.chain, euler.usdc).await.unwrap();
        wallets::supply(&mut world.chain, &euler, "finn", vault, finn, 5_000).await.unwrap();
        for _ in 0..index::FINALITY {
            world.chain.mine().await.unwrap();
        }
        reader.in_step(CHAIN, &world.chain.rpc).await;
        let read = async || pool(&reader.read(finn).await.chains[0], euler.factory).coverage;
        assert_ne!(read().await, Coverage::Complete);
        assert_eq!(read().await, Coverage::Complete);
        // The index reads it with the list of now.
        world.chain.mine().await.unwrap();
        reader.in_step(CHAIN, &world.chain.rpc).await;
        let (found, folder) = reader.kept(CHAIN).await;
        let progress = index::opened(folder.path()).await.progress(CHAIN).unwrap().unwrap();
        assert_eq!(progress.rewinds, 1, "it goes back to a block before the vault");
        let whole = world.reader().with(index::indexed).started().await;
        whole.in_step(CHAIN, &world.chain.rpc).await;
        assert_eq!(found, whole.kept(CHAIN).await.0);
    });
}

#[test]
fn what_is_not_the_factory_has_no_complete_history() {
    with(async |world| {
        let nobody = Address::repeat_byte(0x77);
        for change in [true, false] {
            let reader = world.reader().with(|config| {
                let market = &mut config.chains[0].markets[0];
                if change { market.address = nobody } else { market.evc = Some(nobody) }
            });
            let snapshot = reader.started().await.read(wallet("ada")).await;
            assert_eq!(snapshot.chains[0].pools[0].coverage, Coverage::Failed);
        }
    });
}
