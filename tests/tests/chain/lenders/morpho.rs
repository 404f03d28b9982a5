//! Morpho Blue with the real contract: the events of every wallet equal the receipts of all blocks, and its positions
//! and health factor what the package's own library says.

mod strangers;
mod wallets;
mod world;

use std::sync::Arc;

use alloy::primitives::{Address, B256, U256};
use alloy::sol_types::SolEvent;
use assay_domain::{Coverage, EventKind, Protocol, Snapshot};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::config::CHAIN;
use assay_tests::lenders::morpho::Blue;
use assay_tests::proxy::{Call, Proxy, Reply};

use super::super::RUNTIME;
use super::super::activity::uncached;
use super::super::lies::first_of;
use super::super::one_log;
use super::super::wallets::counted;
use super::{pool, position, read_after};
use wallets::On;
use world::{World, with};

/// Wallets whose position is read and priced completely.
const NAMES: [&str; 10] = ["bank", "ada", "ben", "cleo", "dora", "finn", "gus", "hal", "ivy", "kay"];

fn told(lived: &LendingEvents) -> [u64; 5] {
    [lived.supply, lived.withdraw, lived.borrow, lived.repay, lived.liquidation]
}

#[test]
fn every_wallet_is_what_receipts_and_the_library_say() {
    with(async |world| {
        let reader = world.reader().started().await;
        let mut all = Vec::new();
        for name in NAMES {
            let snapshot = reader.read(wallet(name)).await;
            assert_eq!(snapshot.coverage(), Coverage::Complete, "{name}: {:?}", snapshot.chains[0].unread);
            let read = &snapshot.chains[0];
            let told = pool(read, world.morpho.blue);
            assert_eq!((told.protocol, told.feeds_score), (Protocol::MorphoBlue, false));
            all.push((name, self::told(&world.compare(name, read, world.chain.head).await)));
        }
        let expected = [
            ("bank", [3, 0, 0, 0, 0]),
            ("ada", [2, 2, 2, 2, 0]),
            ("ben", [1, 1, 0, 0, 0]),
            ("cleo", [1, 0, 1, 0, 1]),
            ("dora", [1, 0, 1, 0, 1]),
            ("finn", [0, 0, 0, 0, 0]),
            ("gus", [1, 0, 1, 0, 0]),
            ("hal", [1, 1, 1, 1, 0]),
            ("ivy", [1, 0, 0, 0, 0]),
            ("kay", [1, 0, 0, 0, 0]),
        ];
        assert_eq!(all, expected);
        // What the collateral did not cover is gone, and so is the position.
        let dora = world.morpho.held(&world.chain, &world.markets.dollars, wallet("dora"), world.chain.head);
        assert_eq!(dora.await.unwrap().borrowed, U256::ZERO);
    });
}

#[test]
fn events_have_dollars_where_the_feed_knows_the_token() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("ada")).await;
        let events = &pool(&snapshot.chains[0], world.morpho.blue).events;
        let of = |kind| -> Vec<_> {
            let of_kind = events.events.iter().rev().filter(|event| event.kind == kind);
            of_kind.map(|event| event.usd).collect()
        };
        assert_eq!(of(EventKind::Supply), [None, Some(5_000.0)], "ether does not follow the dollar");
        assert_eq!(of(EventKind::Borrow), [Some(9_000.0), None]);
        assert_eq!(of(EventKind::Repay), [Some(2_000.0), Some(1_000.0)]);
        assert_eq!(events.dollars.repay, Some(3_000.0));
        let snapshot = world.reader().started().await.read(wallet("cleo")).await;
        let usd = pool(&snapshot.chains[0], world.morpho.blue).events.dollars.liquidation.unwrap();
        // Half an ether at 1,700, less the bonus of the liquidator.
        assert!((800.0..830.0).contains(&usd), "{usd}");
    });
}

#[test]
fn a_token_without_a_price_is_in_no_sum_and_a_debt_against_it_is_unread() {
    with(async |world| {
        let reader = world.reader().started().await;
        let snapshot = reader.read(wallet("emil")).await;
        let read = &snapshot.chains[0];
        assert_eq!(read.coverage, Coverage::Complete, "anybody can supply such a token for a wallet");
        world.compare("emil", read, world.chain.head).await;
        let remark = pool(read, world.morpho.blue).remark.clone().unwrap();
        assert!(remark.contains(&format!("{}", world.morpho.odd.token)), "{remark}");
        let snapshot = reader.read(wallet("frida")).await;
        let read = &snapshot.chains[0];
        let pool = pool(read, world.morpho.blue);
        assert_eq!((read.coverage, pool.coverage), (Coverage::Partial, Coverage::Partial));
        assert!(position(read, world.morpho.blue).is_none());
        assert_eq!(counted(pool), world.morpho.lived(&world.blocks, wallet("frida")));
    });
}

#[test]
fn shares_that_no_log_shows_lower_the_coverage() {
    with(async |world| {
        // Fees are paid in shares, and no log names their owner.
        let reader = world.reader().started().await;
        let snapshot = reader.read(wallet("treasury")).await;
        assert_eq!(pool(&snapshot.chains[0], world.morpho.blue).coverage, Coverage::Partial);
        for (name, kind, named) in [
            ("ada", Blue::SupplyCollateral::SIGNATURE_HASH, 3),
            ("ada", Blue::WithdrawCollateral::SIGNATURE_HASH, 2),
            ("ada", Blue::Borrow::SIGNATURE_HASH, 2),
            ("ada", Blue::Repay::SIGNATURE_HASH, 3),
            ("ben", Blue::Supply::SIGNATURE_HASH, 3),
            ("ben", Blue::Withdraw::SIGNATURE_HASH, 2),
            ("cleo", Blue::Liquidate::SIGNATURE_HASH, 3),
            ("dora", Blue::Liquidate::SIGNATURE_HASH, 3),
            ("hal", Blue::Repay::SIGNATURE_HASH, 3),
        ] {
            let proxy = Proxy::start(world.chain.url()).await;
            proxy.forget(first_of(kind, named, wallet(name)));
            let read = world.reader().through(&[&proxy]).started().await.read(wallet(name)).await;
            let told = pool(&read.chains[0], world.morpho.blue);
            assert_eq!(told.coverage, Coverage::Partial, "{name} {kind}");
            assert!(told.remark.as_ref().unwrap().contains("do not explain the position"), "{name} {kind}");
        }
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        // The last four have only one log in a market.
        let names = ["ada", "ben", "cleo", "dora", "finn", "gus", "hal", "bank", "ivy", "kay", "emil"];
        let wallets = names.map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Morpho Blue", world).await;
    });
}

#[test]
fn the_only_log_of_a_market_is_asked_of_another_endpoint() {
    with(async |world| {
        for (name, kind) in [
            ("kay", Blue::Supply::SIGNATURE_HASH),
            ("emil", Blue::Supply::SIGNATURE_HASH),
            ("emil", Blue::SupplyCollateral::SIGNATURE_HASH),
        ] {
            let (lying, honest) = (Proxy::start(world.chain.url()).await, Proxy::start(world.chain.url()).await);
            lying.forget(first_of(kind, 3, wallet(name)));
            let read = world.reader().through(&[&lying, &honest]).started().await.read(wallet(name)).await;
            assert_eq!(pool(&read.chains[0], world.morpho.blue).coverage, Coverage::Complete, "{name}");
            world.compare(name, &read.chains[0], world.chain.head).await;
        }
    });
}

/// Of each of these logs, no other names the wallet in the same market.
const ONLY_LOGS: [(&str, B256); 4] = [
    ("kay", Blue::Supply::SIGNATURE_HASH),
    ("ivy", Blue::SupplyCollateral::SIGNATURE_HASH),
    ("emil", Blue::Supply::SIGNATURE_HASH),
    ("emil", Blue::SupplyCollateral::SIGNATURE_HASH),
];

#[test]
fn the_only_log_of_a_market_is_missed_by_the_shares_in_all_markets() {
    with(async |world| {
        for (name, kind) in ONLY_LOGS {
            let proxy = Proxy::start(world.chain.url()).await;
            proxy.forget(first_of(kind, 3, wallet(name)));
            let reader = world.reader().through(&[&proxy]).started().await;
            for time in 0..2 {
                let read = reader.read(wallet(name)).await;
                let told = pool(&read.chains[0], world.morpho.blue);
                assert_eq!(told.coverage, Coverage::Partial, "{name}, read {time}");
                assert!(told.remark.as_ref().unwrap().contains("do not explain the position"), "{name}");
            }
        }
    });
}

#[test]
fn without_a_list_of_markets_one_endpoint_makes_no_history_complete() {
    with(async |world| {
        let node = Proxy::start(world.chain.url()).await;
        // One block a query: the list would take more than is asked for.
        node.rule(|call| match call.span() {
            Some((from, to)) if to > from => {
                Reply::Error { code: -32600, message: "query exceeds max block range 1".to_owned() }
            }
            _ => Reply::Pass,
        });
        assert!(world.chain.head > 64);
        let other = Proxy::start(world.chain.url()).await;
        use Coverage::{Complete, Partial};
        // Once the other endpoint has refused, the next read finds the markets by their list.
        for (proxies, coverages) in [
            (&[&node][..], [Partial, Partial]),
            (&[&node, &other], [Complete, Complete]),
            (&[&other, &node], [Partial, Complete]),
        ] {
            for name in ["ada", "finn"] {
                let reader = world.reader().through(proxies).with(uncached).started().await;
                for coverage in coverages {
                    let read = reader.read(wallet(name)).await;
                    let told = pool(&read.chains[0], world.morpho.blue);
                    assert_eq!(told.coverage, coverage, "{name}: {:?}", told.remark);
                    let is_said = told.remark.as_ref().is_some_and(|remark| remark.contains("only one endpoint tells"));
                    assert_eq!(is_said, coverage == Partial, "{name}: {:?}", told.remark);
                }
            }
        }
    });
}

#[test]
fn a_market_used_after_a_read_is_asked_of_another_endpoint() {
    RUNTIME.block_on(async {
        let mut world = World::start().await.unwrap();
        let (lying, honest) = (Proxy::start(world.chain.url()).await, Proxy::start(world.chain.url()).await);
        let narrow = Proxy::start(world.chain.url()).await;
        narrow.rule(|call| match call.span() {
            Some((from, to)) if to > from => {
                Reply::Error { code: -32600, message: "query exceeds max block range 1".to_owned() }
            }
            _ => Reply::Pass,
        });
        let reader = |other| world.reader().through(&[&lying, other]).with(uncached);
        let (checked, unchecked) = (reader(&honest).started().await, reader(&narrow).started().await);
        let (blue, late) = (world.morpho.blue, wallet("late"));
        On(&mut world.chain, &world.morpho, &world.markets.dollars).supply("late", "late", 700).await.unwrap();
        for reader in [&checked, &unchecked] {
            reader.read(late).await;
        }
        lying.forget(first_of(Blue::SupplyCollateral::SIGNATURE_HASH, 3, late));
        On(&mut world.chain, &world.morpho, &world.markets.ether).secure("late", "late", 900).await.unwrap();
        for _ in 0..3 {
            let (read, alone) = (checked.read(late).await, unchecked.read(late).await);
            let told = pool(&read.chains[0], blue);
            assert_eq!((told.coverage, told.counts.supply), (Coverage::Complete, Some(2)), "{:?}", told.remark);
            let told = pool(&alone.chains[0], blue);
            assert!(told.coverage < Coverage::Complete || told.counts.supply == Some(2), "{told:?}");
            // Settles what was read.
            for _ in 0..40 {
                world.chain.mine().await.unwrap();
            }
        }
    });
}

#[test]
fn the_index_says_what_the_node_says() {
    with(async |world| {
        let names = [&NAMES[..], &["emil", "frida", "liquidator", "manager", "somebody"]].concat();
        let wallets: Vec<Address> = names.into_iter().map(wallet).collect();
        super::super::index::agrees(&world.setup, &world.chain, &wallets).await;
    });
}

/// Reads `names` as the chain was after block `block`.
async fn read_at(world: &World, block: u64, names: &[&str]) -> Vec<Arc<Snapshot>> {
    let wallets: Vec<Address> = names.iter().copied().map(wallet).collect();
    read_after(&world.reader(), (block, world.blocks[block as usize].0), &wallets).await
}

#[test]
fn a_past_block_is_read_as_it_was() {
    with(async |world| {
        let names = ["bank", "ada", "cleo", "dora", "hal"];
        let mut seen = LendingEvents::default();
        for block in [10, 17, 23, 26, 36] {
            for (name, snapshot) in names.iter().zip(read_at(world, block, &names).await) {
                let read = &snapshot.chains[0];
                assert_eq!(pool(read, world.morpho.blue).coverage, Coverage::Complete, "{name} at {block}");
                let lived = world.compare(name, read, block).await;
                seen.liquidation += lived.liquidation;
            }
        }
        assert!(seen.liquidation > 0);
    });
}

#[test]
fn it_counts_in_the_score_where_it_is_configured_to() {
    with(async |world| {
        let counts = |config: &mut assay::config::Config| config.chains[0].markets[0].feeds_score = Some(true);
        let snapshot = world.reader().with(counts).started().await.read(wallet("ada")).await;
        assert!(pool(&snapshot.chains[0], world.morpho.blue).feeds_score);
    });
}

#[test]
fn what_is_not_the_contract_has_no_complete_history() {
    with(async |world| {
        let nobody = Address::repeat_byte(0x77);
        let reader = world.reader().with(|config| config.chains[0].markets[0].address = nobody).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        assert_eq!(pool(&snapshot.chains[0], nobody).coverage, Coverage::Partial);
    });
}

#[test]
fn a_wallet_costs_a_query_for_each_topic_and_its_markets_two_requests() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().through(&[&proxy]).started().await;
        // The markets are listed once.
        reader.read(wallet("nobody")).await;
        for name in ["finn", "ada"] {
            proxy.take();
            reader.read(wallet(name)).await;
            assert_eq!(proxy.take().iter().filter_map(Call::span).count(), 2, "{name}");
        }
    });
}
