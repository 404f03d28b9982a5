//! Debt that transfers of the base asset move: what receipts and old state show of it, and what is said without them.

use alloy::primitives::keccak256;
use assay_domain::Coverage;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::Small;
use assay_tests::lenders::comet;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::proxy::{Call, Proxy, Reply};

use super::super::super::lies::first_of;
use super::super::super::wallets::counted;
use super::super::super::{RUNTIME, Reader, one_log};
use super::super::{pool, reader};
use super::{Comet, DOLLARS, ETHER_USD, On, uncached, units, with};

/// The wallets with a change of debt of which no log tells, not even the other wallet's.
const HIDDEN: [&str; 4] = ["emil", "gina", "iris", "jack"];

#[test]
fn debt_that_a_transfer_moved_is_found_in_old_state() {
    with(async |world| {
        let mut reader = world.reader().with(uncached).started().await;
        for name in HIDDEN {
            // Where there are logs, old state is compared at once, elsewhere because the position contradicts the
            // history.
            let at_once = if name == "gina" || name == "jack" { Coverage::Complete } else { Coverage::Partial };
            assert_eq!(reader.read(wallet(name)).await.events_coverage(), at_once, "{name}");
            for when in ["at the next read", "later"] {
                let snapshot = reader.read(wallet(name)).await;
                assert_eq!(snapshot.events_coverage(), Coverage::Complete, "{name} {when}");
                world.compare(name, &snapshot.chains[0]).await;
            }
        }
        reader.restart().await;
        for name in HIDDEN {
            let snapshot = reader.read(wallet(name)).await;
            assert_eq!(snapshot.events_coverage(), Coverage::Complete, "{name} after a restart");
            world.compare(name, &snapshot.chains[0]).await;
        }
    });
}

#[test]
fn debt_that_was_moved_and_moved_back_is_found_by_the_index_of_rewards() {
    with(async |world| {
        let reader = world.reader().with(uncached).started().await;
        for name in ["mona", "nils"] {
            let snapshot = reader.read(wallet(name)).await;
            let market = pool(&snapshot.chains[0], world.dollars.comet);
            assert_eq!(
                (market.coverage, market.counts.borrow, market.counts.repay),
                (Coverage::Complete, Some(2), Some(1))
            );
            assert_eq!(market.remark, None);
            world.compare(name, &snapshot.chains[0]).await;
        }
    });
}

#[test]
fn without_rewards_it_is_said_that_such_changes_would_not_be_found() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let market = comet::deploy(&mut chain, &[(6, DOLLARS.0, DOLLARS.1)]).await.unwrap().remove(0);
        chain.call(wallet("anybody"), market.comet, &Comet::payRewardsCall { pays: false }).await.unwrap();
        let mut on = On(&mut chain, &market);
        on.supply("ben", "ben", units(900.0, 6)).await.unwrap();
        for name in ["mona", "nils"] {
            on.withdraw(name, units(300.0, 6)).await.unwrap();
        }
        on.transfer("mona", "nils", market.base, units(50.0, 6)).await.unwrap();
        on.transfer("nils", "mona", market.base, units(50.0, 6)).await.unwrap();
        let setup = Setup { native_feed, markets: vec![("lenderB_v3", "USD", market.comet)], ..Setup::default() };
        let reader = reader(&setup, &chain).with(uncached).started().await;
        for (name, is_said) in [("mona", true), ("ben", false)] {
            let snapshot = reader.read(wallet(name)).await;
            let read = pool(&snapshot.chains[0], market.comet);
            assert_eq!(read.coverage, Coverage::Complete, "{name}");
            let said = read.remark.as_ref().is_some_and(|remark| remark.contains("would leave no trace"));
            assert_eq!(said, is_said, "{name}: {:?}", read.remark);
        }
    });
}

#[test]
fn a_supply_takes_no_amount_of_another_action() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("lena")).await;
        assert_eq!(snapshot.events_coverage(), Coverage::Complete);
        world.compare("lena", &snapshot.chains[0]).await;
        assert_eq!(pool(&snapshot.chains[0], world.dollars.comet).counts.repay, Some(1));
    });
}

#[test]
fn debt_beside_a_log_is_found_in_old_state_at_once() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("kate")).await;
        assert_eq!(snapshot.events_coverage(), Coverage::Complete);
        world.compare("kate", &snapshot.chains[0]).await;
        assert_eq!(pool(&snapshot.chains[0], world.dollars.comet).counts.repay, Some(2));
    });
}

#[test]
fn debt_that_the_other_side_of_a_transfer_tells_of_needs_no_old_state() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        proxy.rule(no_old_state);
        let snapshot = world.reader().through(&[&proxy]).started().await.read(wallet("hugo")).await;
        assert_eq!(snapshot.events_coverage(), Coverage::Complete);
        world.compare("hugo", &snapshot.chains[0]).await;
        let counts = pool(&snapshot.chains[0], world.dollars.comet).counts;
        assert_eq!((counts.borrow, counts.repay), (Some(1), Some(1)));
    });
}

/// A node without old state: it refuses calls in the state of a block by number.
fn no_old_state(call: &Call) -> Reply {
    if is_in_old_state(call) {
        return Reply::Error { code: -32000, message: "missing trie node 00ff (path )".into() };
    }
    Reply::Pass
}

fn is_in_old_state(call: &Call) -> bool {
    call.method == "eth_call" && call.params[1].is_string()
}

#[test]
fn without_old_state_it_is_said_and_not_tried_at_every_read() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        proxy.rule(no_old_state);
        let mut reader = world.reader().through(&[&proxy]).with(uncached).started().await;
        let read = async |reader: &Reader| {
            let snapshot = reader.read(wallet("gina")).await;
            let pool = pool(&snapshot.chains[0], world.dollars.comet).clone();
            (pool.coverage, pool.counts.repay, pool.remark.unwrap_or_default())
        };
        assert_eq!(read(&reader).await.0, Coverage::Partial);
        proxy.take();
        let (coverage, repaid, remark) = read(&reader).await;
        assert_eq!((coverage, repaid), (Coverage::Partial, Some(1)));
        assert!(remark.contains("archive endpoint"), "{remark}");
        assert!(proxy.take().iter().any(is_in_old_state));
        for _ in 0..3 {
            assert_eq!(read(&reader).await, (coverage, repaid, remark.clone()));
            let calls = proxy.take();
            let old: Vec<_> = calls.iter().filter(|call| is_in_old_state(call)).collect();
            assert!(old.is_empty(), "{old:?}");
            let first = calls.iter().filter_map(Call::span).map(|(from, _)| from).min();
            assert!(first > Some(1), "the history is not read again from its beginning");
        }
        // The endpoint keeps old state now.
        proxy.rule(|_| Reply::Pass);
        reader.restart().await;
        assert_eq!(read(&reader).await, (coverage, repaid, remark));
        assert_eq!(read(&reader).await, (Coverage::Complete, Some(2), String::new()));
    });
}

#[test]
fn without_old_state_a_transfer_to_a_wallet_that_owes_is_not_taken_for_whole() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        proxy.rule(no_old_state);
        let mut reader = world.reader().through(&[&proxy]).with(uncached).started().await;
        for _ in 0..3 {
            let snapshot = reader.read(wallet("kate")).await;
            let market = pool(&snapshot.chains[0], world.dollars.comet);
            assert_eq!((market.coverage, market.counts.repay), (Coverage::Partial, Some(1)));
            assert!(market.remark.as_ref().unwrap().contains("archive endpoint"));
            // A transfer of which nothing is known changes nothing for a wallet that owes nothing.
            assert_eq!(reader.read(wallet("ben")).await.events_coverage(), Coverage::Complete);
        }
        proxy.rule(|_| Reply::Pass);
        reader.restart().await;
        reader.read(wallet("kate")).await;
        let snapshot = reader.read(wallet("kate")).await;
        assert_eq!(snapshot.events_coverage(), Coverage::Complete);
        world.compare("kate", &snapshot.chains[0]).await;
    });
}

#[test]
fn a_history_that_was_explained_once_goes_on_complete() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let market = comet::deploy(&mut chain, &[(6, DOLLARS.0, DOLLARS.1)]).await.unwrap().remove(0);
        let mut on = On(&mut chain, &market);
        on.supply("ben", "ben", units(900.0, 6)).await.unwrap();
        on.pledge("emil", 0, 1.0).await.unwrap();
        on.transfer("emil", "ben", market.base, units(50.0, 6)).await.unwrap();
        let setup = Setup { native_feed, markets: vec![("lenderB_v3", "USD", market.comet)], ..Setup::default() };
        let reader = reader(&setup, &chain).with(uncached).started().await;
        assert_eq!(reader.read(wallet("emil")).await.events_coverage(), Coverage::Partial);
        // In blocks that are not final yet, then in final ones, then in both.
        for blocks in [0, 20, 3] {
            let on = On(&mut chain, &market);
            for _ in 0..blocks {
                on.0.mine().await.unwrap();
            }
            for amount in [7.0, 3.0] {
                On(&mut chain, &market).transfer("ben", "emil", market.base, units(amount, 6)).await.unwrap();
            }
            let snapshot = reader.read(wallet("emil")).await;
            let read = pool(&snapshot.chains[0], market.comet);
            let lived = market.lived(&chain, wallet("emil")).await.unwrap();
            assert_eq!((read.coverage, counted(read)), (Coverage::Complete, lived), "{blocks}");
        }
    });
}

#[test]
fn a_log_that_is_left_out_for_long_never_makes_a_wrong_history_complete() {
    with(async |world| {
        for (name, event, named) in [
            ("ada", "Supply(address,address,uint256)", 2),
            ("ada", "Withdraw(address,address,uint256)", 1),
            ("ben", "Supply(address,address,uint256)", 2),
            ("cleo", "Withdraw(address,address,uint256)", 1),
            ("dora", "AbsorbDebt(address,address,uint256,uint256)", 2),
            ("dora", "AbsorbCollateral(address,address,address,uint256,uint256)", 2),
            ("gina", "Withdraw(address,address,uint256)", 1),
        ] {
            let proxy = Proxy::start(world.chain.url()).await;
            proxy.forget(first_of(keccak256(event), named, wallet(name)));
            let reader = world.reader().through(&[&proxy]).with(uncached).started().await;
            for _ in 0..3 {
                let read = reader.read(wallet(name)).await;
                if pool(&read.chains[0], world.dollars.comet).coverage == Coverage::Complete {
                    world.compare(name, &read.chains[0]).await;
                }
            }
        }
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        let names =
            ["ada", "ben", "cleo", "dora", "emil", "gina", "hugo", "iris", "jack", "kate", "lena", "mona", "nils"];
        let wallets = names.map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Comet", world).await;
    });
}
