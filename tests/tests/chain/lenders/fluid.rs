//! Fluid on stubs with the logs, the views and the storage of the original: the positions of every wallet are what the
//! stubs' own view and an independent book say, now and in the past, however they were liquidated and whoever had them
//! before; and no history of a wallet that had a position is complete.

mod walk;

use std::collections::BTreeSet;

use alloy::primitives::{Address, B256, U256};
use alloy::sol_types::SolEvent;
use assay_domain::{AssetClass, AssetSide, ChainSnapshot, Coverage, PositionAsset, Protocol};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::Small;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::fluid::{self, Fluid, Kind, NATIVE, Share, VaultFactory};
use assay_tests::proxy::Proxy;
use tokio::sync::OnceCell;

use super::super::index::{FINALITY, indexed};
use super::super::lies::first_of;
use super::super::one_log;
use super::super::{RUNTIME, Reader};
use super::{pool, position, read_after, reader};
use walk::{Book, Numbers, Place, WALKERS, governor, name, walk};

const ETHER_USD: f64 = 2_000.0;
const ETHER: f64 = 1e18;
/// Pools whose shares are collateral or debt.
const POOLS: [Address; 2] = [Address::repeat_byte(0xd1), Address::repeat_byte(0xd2)];
/// Two wallets with deposits that never have a position.
const DEPOSITORS: [&str; 3] = ["walker 8", "walker 9", "walker 10"];

struct World {
    chain: Small,
    fluid: Fluid,
    places: Vec<Place>,
    setup: Setup,
    book: Book,
    /// The book after some blocks, with the block and its time.
    past: Vec<((u64, u64), Book)>,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

fn with(test: impl AsyncFnOnce(&World)) {
    RUNTIME.block_on(async { test(WORLD.get_or_init(async || World::start().await.unwrap()).await).await });
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let (native_feed, dollar) = (price_feed(&mut chain, ETHER_USD), price_feed(&mut chain, 1.0));
        let mut fluid = fluid::deploy(&mut chain).await?;
        let (usdc, weth) = ((fluid.usdc, 6), (fluid.weth, 18));
        let pools = POOLS.map(|pool| (pool, 18));
        let mut places = Vec::new();
        // A share of the first pool is worth three dollars, and an ether 800 of the second.
        for (kind, sides, rate, is_early, deposit) in [
            (Kind::Tokens, (weth, usdc), 1_950.0, false, 5.0 * ETHER),
            (Kind::Tokens, ((NATIVE, 18), usdc), 1_900.0, true, 2.0 * ETHER),
            (Kind::Tokens, (usdc, weth), 0.0005, false, 4e9),
            (Kind::PoolSupply, (pools[0], usdc), 3.0, false, 1_000.0 * ETHER),
            (Kind::PoolBorrow, (weth, pools[1]), 800.0, false, ETHER),
        ] {
            let vault = fluid.vault(&mut chain, kind, sides, rate, is_early).await?;
            places.push(Place { vault, rate, deposit });
        }
        let both = fluid.vault(&mut chain, Kind::Pools, (pools[0], pools[1]), 1.0, false).await?;
        let (mut book, mut numbers, mut past) = (Book::default(), Numbers(0x9e37_79b9_7f4a_7c15), Vec::new());
        for round in 0..4 {
            walk(&mut chain, &fluid, &places, &mut book, &mut numbers, 45).await?;
            past.push(((chain.head, chain.now()), book.clone()));
            if round == 2 {
                // Interest, by governance of the stubs.
                places[2].vault.queue_prices(&mut chain, 1_004_000_000_000, 1_007_000_000_000);
                chain.queue(
                    governor(),
                    fluid.shares[0],
                    &Share::setPriceCall { price: U256::from(1_020_000_000_000_u64) },
                );
                places[0].vault.queue_rate(&mut chain, 1_700.0);
                places[0].rate = 1_700.0;
                chain.mine().await?;
                break;
            }
        }
        // A wallet with shares of pools on both sides.
        both.queue(&mut chain, wallet("pools"), 0, ETHER as i128, 1_000_000);
        for _ in 0..=FINALITY {
            chain.mine().await?;
        }
        let setup = Setup {
            native_feed,
            wrapped: Some(fluid.weth),
            tokens: vec![(fluid.usdc, 6, dollar)],
            markets: vec![("fluid", "All", fluid.factory)],
            lending_factory: Some(fluid.lending),
            ..Setup::default()
        };
        Ok(Self { chain, fluid, places, setup, book, past })
    }

    fn reader(&self) -> Reader {
        let stablecoin = |config: &mut assay::config::Config| config.chains[0].tokens[0].class = AssetClass::Stablecoin;
        reader(&self.setup, &self.chain).with(stablecoin)
    }

    /// Compares the positions of a wallet with the stubs' view after `block`, and with the book if prices are one.
    async fn compare(&self, walker: usize, read: &ChainSnapshot, (block, book): (u64, &Book), rates: &[f64]) {
        let told = position(read, self.fluid.factory);
        let assets = told.map(|told| told.assets.as_slice()).unwrap_or_default();
        let amount = |account: B256, is_debt: bool| {
            let own = |asset: &&PositionAsset| asset.account == account && (asset.side == AssetSide::Debt) == is_debt;
            assets.iter().find(own).map_or(U256::ZERO, |asset| asset.amount)
        };
        let (mut health, mut count) = (None::<f64>, 0);
        for booked in book.of(walker) {
            let place = &self.places[booked.vault];
            let (collateral, debt) = place.vault.position(&self.chain, booked.id, block).await.unwrap();
            let account = B256::from(U256::from(booked.id));
            let held = (amount(account, false), amount(account, true));
            assert_eq!(held, (collateral, debt), "{walker} at {block}: {booked:?}");
            count += usize::from(!collateral.is_zero()) + usize::from(!debt.is_zero());
            for (held, booked_amount) in [(collateral, booked.collateral), (debt, booked.debt)] {
                let close = (f64::from(held) - booked_amount).abs() <= 1e-6 * booked_amount.abs() + 1e4;
                assert!(close || rates.is_empty(), "{walker} at {block}: {held} {booked:?}");
            }
            if !debt.is_zero() {
                let rate = rates.get(booked.vault).copied().unwrap_or(place.rate);
                let own = place.vault.most_debt(collateral, rate) / f64::from(debt);
                health = Some(health.map_or(own, |least| least.min(own)));
            }
        }
        for (share, expected) in self.fluid.shares.into_iter().zip(book.shares(walker)) {
            let (shares, worth) = self.fluid.deposit(&self.chain, share, wallet(&name(walker)), block).await.unwrap();
            assert_eq!(shares, U256::from(expected), "{walker}");
            assert_eq!(amount(share.into_word(), false), worth, "{walker}");
            count += usize::from(!worth.is_zero());
        }
        assert_eq!(assets.len(), count, "{walker} at {block}: {assets:?}");
        let stated = told.and_then(|told| told.health_factor);
        let is_close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other;
        assert!(
            stated.zip(health).map_or(stated == health, |(one, other)| is_close(one, other)),
            "{walker} at {block}: {stated:?} {health:?}"
        );
    }

    /// Compares what is said of the history of a wallet with the book.
    async fn compare_history(&self, walker: usize, read: &ChainSnapshot, (block, book): (u64, &Book)) -> bool {
        let told = pool(read, self.fluid.factory);
        let did = book.deposits.get(&walker).copied().unwrap_or_default();
        let counts = told.counts;
        assert_eq!((counts.supply, counts.withdraw), (Some(did.supplied), Some(did.withdrawn)), "{walker}");
        assert_eq!((counts.borrow, counts.repay, counts.liquidation), (None, None, None), "{walker}");
        if book.owners.contains(&walker) {
            assert_eq!(told.coverage, Coverage::Partial, "{walker}");
            let mut is_liquidated = false;
            for booked in book.of(walker) {
                let vault = &self.places[booked.vault].vault;
                is_liquidated |= vault.is_liquidated(&self.chain, booked.id, block).await.unwrap();
            }
            let said = if is_liquidated { "was liquidated since it was last used" } else { "positions in vaults" };
            assert!(told.remark.as_ref().unwrap().contains(said), "{walker}: {:?}", told.remark);
            return is_liquidated;
        }
        assert_eq!((told.coverage, &told.remark), (Coverage::Complete, &None), "{walker}");
        false
    }
}

#[test]
fn every_position_is_what_the_protocol_states_of_it() {
    with(async |world| {
        let reader = world.reader().started().await;
        let (mut liquidated, mut is_said) = (0, false);
        for walker in 0..WALKERS {
            let snapshot = reader.read(wallet(&name(walker))).await;
            let read = &snapshot.chains[0];
            let told = pool(read, world.fluid.factory);
            assert_eq!((told.protocol, told.feeds_score), (Protocol::Fluid, false));
            world.compare(walker, read, (world.chain.head, &world.book), &[]).await;
            is_said |= world.compare_history(walker, read, (world.chain.head, &world.book)).await;
            liquidated += world.book.of(walker).filter(|booked| booked.is_liquidated).count();
        }
        let wallets = world.book.owners.iter().collect::<BTreeSet<_>>().len();
        assert!(world.book.positions.len() > 30 && liquidated > 5 && wallets == WALKERS - 4, "{liquidated} {wallets}");
        assert!(is_said, "no position was liquidated and not used since");
    });
}

#[test]
fn the_index_counts_what_was_done_with_positions_while_a_wallet_had_them() {
    with(async |world| {
        let reader = world.reader().with(indexed).started().await;
        reader.in_step(CHAIN, &world.chain.rpc).await;
        let mut all = [0; 4];
        for walker in 0..WALKERS {
            let snapshot = reader.read(wallet(&name(walker))).await;
            let read = &snapshot.chains[0];
            world.compare(walker, read, (world.chain.head, &world.book), &[]).await;
            let (told, did) = (pool(read, world.fluid.factory), world.book.deposits.get(&walker).copied());
            let (counts, did) = (told.counts, did.unwrap_or_default());
            assert_eq!(counts.liquidation, None, "{walker}");
            let Some(used) = world.book.operations.get(&walker) else {
                assert_eq!((counts.supply, counts.withdraw), (Some(did.supplied), Some(did.withdrawn)), "{walker}");
                continue;
            };
            let expected = [did.supplied + used.supplied, did.withdrawn + used.withdrawn, used.borrowed, used.repaid];
            let counted = [counts.supply, counts.withdraw, counts.borrow, counts.repay];
            assert_eq!(counted, expected.map(Some), "{walker}");
            all.iter_mut().zip(expected).for_each(|(sum, one)| *sum += one);
            assert_eq!(told.coverage, Coverage::Partial, "{walker}");
            assert!(told.remark.as_ref().unwrap().contains("as far as the index has read"), "{:?}", told.remark);
            assert!(told.first_event_at.is_some() && told.first_event_at <= told.last_event_at, "{walker}");
        }
        assert!(all.iter().all(|count| *count > 10), "{all:?}");
        // No address reads as a position: neither its number, nor what stands for it in the index.
        let number = Address::from(*b"a position #\0\0\0\0\0\0\0\x05");
        for nobody in [Address::with_last_byte(5), number] {
            let read = reader.read(nobody).await;
            let told = pool(&read.chains[0], world.fluid.factory);
            assert_eq!((told.coverage, told.counts.supply, told.counts.borrow), (Coverage::Complete, Some(0), None));
        }
    });
}

#[test]
fn positions_of_the_past_are_those_of_its_state() {
    with(async |world| {
        let reader = world.reader();
        let rates = [1_950.0, 1_900.0, 0.0005, 3.0, 800.0];
        let wallets: Vec<Address> = (0..WALKERS).map(|walker| wallet(&name(walker))).collect();
        for (at, book) in &world.past {
            let read = read_after(&reader, *at, &wallets).await;
            for (walker, snapshot) in read.iter().enumerate() {
                world.compare(walker, &snapshot.chains[0], (at.0, book), &rates).await;
                world.compare_history(walker, &snapshot.chains[0], (at.0, book)).await;
            }
        }
    });
}

#[test]
fn values_are_by_the_prices_of_the_chain_and_of_the_vaults_oracle() {
    with(async |world| {
        let reader = world.reader().started().await;
        for walker in 0..WALKERS {
            let snapshot = reader.read(wallet(&name(walker))).await;
            let told = position(&snapshot.chains[0], world.fluid.factory);
            for asset in told.iter().flat_map(|told| &told.assets) {
                let price = match asset.token {
                    None => ETHER_USD,
                    Some(token) if token == world.fluid.weth => ETHER_USD,
                    Some(token) if token == world.fluid.usdc => 1.0,
                    Some(token) if token == POOLS[0] => 3.0,
                    Some(token) if token == POOLS[1] => ETHER_USD / 800.0,
                    token => panic!("{token:?}"),
                };
                let usd = f64::from(asset.amount) / 10_f64.powi(asset.decimals.into()) * price;
                assert!((asset.usd - usd).abs() <= 1e-9 * usd, "{walker}: {asset:?} {usd}");
                let is_collateral = asset.side == AssetSide::Collateral;
                assert_eq!(asset.liquidation_threshold, is_collateral.then_some(0.9), "{walker}: {asset:?}");
            }
        }
    });
}

#[test]
fn shares_of_pools_on_both_sides_are_said_to_be_unread() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("pools")).await;
        let read = &snapshot.chains[0];
        let told = pool(read, world.fluid.factory);
        assert!(position(read, world.fluid.factory).is_none());
        assert_eq!((read.coverage, told.coverage), (Coverage::Partial, Coverage::Partial));
        assert!(told.remark.as_ref().unwrap().contains("shares of pools"), "{:?}", told.remark);
    });
}

#[test]
fn a_wallet_without_anything_here_is_complete_and_asks_for_nothing_more() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().through(&[&proxy]).started().await;
        let mut asked = Vec::new();
        // The first read looks up what all share.
        for name in ["nobody", "stranger", "walker 0"] {
            proxy.take();
            let snapshot = reader.read(wallet(name)).await;
            let calls = proxy.take();
            asked.push(calls.iter().map(|call| call.request).collect::<BTreeSet<_>>().len());
            let told = pool(&snapshot.chains[0], world.fluid.factory);
            let is_owner = name == "walker 0";
            assert_eq!(told.coverage == Coverage::Complete, !is_owner, "{name}: {:?}", told.remark);
        }
        // The steps from the list of positions to what a liquidation left, and decimals.
        assert!((4..=6).contains(&(asked[2] - asked[1])), "{asked:?}");
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        let names = DEPOSITORS;
        let wallets = names.map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Fluid", world).await;
    });
}

#[test]
fn a_transfer_that_is_left_out_hides_no_position() {
    with(async |world| {
        let walkers: Vec<usize> = (0..WALKERS - 4).collect();
        for walker in walkers {
            for topic in [1, 2] {
                let proxy = Proxy::start(world.chain.url()).await;
                proxy.forget(first_of(VaultFactory::Transfer::SIGNATURE_HASH, topic, wallet(&name(walker))));
                let snapshot = world.reader().through(&[&proxy]).started().await.read(wallet(&name(walker))).await;
                let read = &snapshot.chains[0];
                world.compare(walker, read, (world.chain.head, &world.book), &[]).await;
                assert_eq!(pool(read, world.fluid.factory).coverage, Coverage::Partial, "{walker} {topic}");
            }
        }
    });
}
