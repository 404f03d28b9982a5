//! Comet, as a stub: the figures of every wallet equal the market's balances before and after each transaction.

mod crowded;
mod debt;

use std::time::Duration;

use alloy::primitives::{Address, U256, keccak256};
use alloy::providers::bindings::IMulticall3;
use alloy::sol_types::SolCall;
use assay_domain::{ChainSnapshot, Coverage};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::Small;
use assay_tests::lenders::comet::{self, Comet, Market, Together};
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::proxy::{Call, Proxy};
use tokio::sync::OnceCell;

use super::super::Reader;
use super::super::lies::first_of;
use super::super::wallets::counted;
use super::{Done, once, pool, position};

const ETHER_USD: f64 = 2_000.0;
/// The price of a base token of each market, and of its collateral in the quote currency of the market.
const DOLLARS: (f64, [f64; 2]) = (0.5, [2_000.0, 30.0]);
const ETHER: (f64, [f64; 2]) = (ETHER_USD, [1.25, 0.5]);

pub(super) struct World {
    pub chain: Small,
    /// Quotes in dollars.
    pub dollars: Market,
    /// Quotes in its base asset, which is wrapped ether.
    pub ether: Market,
    multicall: Address,
    setup: Setup,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

pub(super) fn with(test: impl AsyncFnOnce(&World)) {
    once(&WORLD, World::start, test);
}

fn uncached(config: &mut assay::config::Config) {
    (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = (Duration::ZERO, Duration::ZERO);
}

fn units(amount: f64, decimals: u8) -> U256 {
    U256::from((amount * 1e6) as u128) * U256::from(10).pow(U256::from(decimals)) / U256::from(1_000_000)
}

/// Calls of one market on a chain.
struct On<'a>(&'a mut Small, &'a Market);

impl On<'_> {
    async fn supply(&mut self, from: &str, to: &str, amount: U256) -> Done {
        let call = Comet::supplyToCall { dst: wallet(to), asset: self.1.base, amount };
        self.0.call(wallet(from), self.1.comet, &call).await
    }

    async fn withdraw(&mut self, from: &str, amount: U256) -> Done {
        let call = Comet::withdrawToCall { to: wallet(from), asset: self.1.base, amount };
        self.0.call(wallet(from), self.1.comet, &call).await
    }

    async fn pledge(&mut self, from: &str, asset: usize, amount: f64) -> Done {
        let call =
            Comet::supplyToCall { dst: wallet(from), asset: self.1.collateral[asset], amount: units(amount, 18) };
        self.0.call(wallet(from), self.1.comet, &call).await
    }

    async fn release(&mut self, from: &str, asset: usize, amount: f64) -> Done {
        let call =
            Comet::withdrawToCall { to: wallet(from), asset: self.1.collateral[asset], amount: units(amount, 18) };
        self.0.call(wallet(from), self.1.comet, &call).await
    }

    async fn transfer(&mut self, from: &str, to: &str, asset: Address, amount: U256) -> Done {
        let call = Comet::transferAssetCall { dst: wallet(to), asset, amount };
        self.0.call(wallet(from), self.1.comet, &call).await
    }

    /// In one transaction, a contract without any position supplies `repaid` for `to` and transfers `moved` to it.
    async fn supply_and_transfer(&mut self, by: Address, to: &str, repaid: U256, moved: U256) -> Done {
        let (dst, asset) = (wallet(to), self.1.base);
        let calls = vec![
            Comet::supplyToCall { dst, asset, amount: repaid }.abi_encode().into(),
            Comet::transferAssetCall { dst, asset, amount: moved }.abi_encode().into(),
        ];
        self.0.call(wallet("anybody"), by, &Together::runCall { target: self.1.comet, calls }).await
    }

    /// Interest: supply and debt grow to this many millionths of the initial amounts.
    async fn accrue(&mut self, supply: u64, debt: u64) -> Done {
        let index = |millionths: u64| U256::from(millionths) * U256::from(1_000_000_007_u64);
        let call = Comet::accrueCall { supplyIndex: index(supply), borrowIndex: index(debt) };
        self.0.call(wallet("anybody"), self.1.comet, &call).await
    }
}

/// Every kind of position change, by ada, ben, cleo, dora and emil; finn has no position.
async fn live(chain: &mut Small, market: &Market) -> Done {
    let (base, usd) = (market.base, |amount| units(amount, market.decimals));
    let mut on = On(chain, market);
    on.supply("ben", "ben", usd(90_000.0)).await?;
    on.pledge("ada", 0, 10.0).await?;
    on.withdraw("ada", usd(1_000.0)).await?;
    on.accrue(1_013_571, 1_047_113).await?;
    on.supply("ben", "ada", usd(300.0)).await?;
    on.accrue(1_020_939, 1_061_507).await?;
    on.supply("ada", "ada", usd(2_000.000_007)).await?;
    on.withdraw("ada", usd(100.000_001)).await?;
    on.withdraw("ada", usd(5_000.0)).await?;
    on.accrue(1_031_011, 1_083_989).await?;
    on.supply("ada", "ada", U256::MAX).await?;
    on.release("ada", 0, 1.5).await?;
    on.supply("ada", "ada", usd(70.0)).await?;
    on.transfer("ada", "ben", base, usd(20.0)).await?;
    on.withdraw("ben", usd(12_345.678_901)).await?;

    on.pledge("cleo", 1, 500.0).await?;
    on.pledge("cleo", 0, 1.0).await?;
    on.transfer("cleo", "ada", market.collateral[1], units(100.0, 18)).await?;
    on.withdraw("cleo", usd(3_000.0)).await?;
    on.supply("cleo", "cleo", usd(0.0)).await?;
    on.accrue(1_040_003, 1_101_019).await?;
    on.supply("cleo", "cleo", usd(1_234.5)).await?;

    on.pledge("dora", 0, 2.0).await?;
    on.withdraw("dora", usd(400.0)).await?;
    on.0.call(wallet("ben"), market.comet, &Comet::absorbCall { account: wallet("dora") }).await?;
    on.withdraw("dora", U256::MAX).await?;

    // A debt without a log of a borrowing.
    on.pledge("emil", 0, 1.0).await?;
    on.transfer("emil", "ben", base, usd(50.0)).await
}

/// Every way in which a transfer of the base asset moves debt.
async fn transfer_debt(chain: &mut Small, market: &Market, together: Address) -> Done {
    let (base, usd) = (market.base, |amount| units(amount, market.decimals));
    let mut on = On(chain, market);
    // Repaid in part by a transfer, and the rest by a supply: nothing is owed at the end.
    on.pledge("gina", 0, 1.0).await?;
    on.withdraw("gina", usd(400.0)).await?;
    on.accrue(1_043_007, 1_109_083).await?;
    on.transfer("ben", "gina", base, usd(150.25)).await?;
    on.accrue(1_046_021, 1_117_009).await?;
    on.supply("gina", "gina", U256::MAX).await?;
    // A transfer of more than the supply, and one of more than the debt.
    on.pledge("hugo", 0, 1.0).await?;
    on.supply("hugo", "hugo", usd(30.0)).await?;
    on.transfer("hugo", "ben", base, usd(100.0)).await?;
    on.accrue(1_047_001, 1_121_003).await?;
    on.transfer("ben", "hugo", base, usd(500.0)).await?;
    // From debt to debt: the market logs nothing at all.
    on.pledge("jack", 0, 1.0).await?;
    on.withdraw("jack", usd(200.0)).await?;
    on.pledge("iris", 0, 1.0).await?;
    on.transfer("iris", "jack", base, usd(120.0)).await?;
    on.transfer("iris", "jack", base, usd(30.0)).await?;
    // From debt to debt and back again, between two logs of both.
    for (name, owed) in [("mona", 300.0), ("nils", 250.0)] {
        on.pledge(name, 0, 1.0).await?;
        on.withdraw(name, usd(owed)).await?;
    }
    on.transfer("mona", "nils", base, usd(50.0)).await?;
    on.transfer("nils", "mona", base, usd(50.0)).await?;
    // Anybody can have this done to anyone.
    on.0.call(wallet("anybody"), market.comet, &Comet::accrueAccountCall { account: wallet("nils") }).await?;
    // A supply beside a transfer to the same wallet.
    for (name, repaid, moved) in [("kate", 100.0, 20_000.0), ("lena", 300.0, 500.0)] {
        on.pledge(name, 0, 1.0).await?;
        on.withdraw(name, usd(300.0)).await?;
        on.supply_and_transfer(together, name, usd(repaid), usd(moved)).await?;
    }
    on.accrue(1_048_001, 1_123_019).await
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let base_feed = price_feed(&mut chain, DOLLARS.0);
        let multicall = chain.create(IMulticall3::BYTECODE.clone(), "Multicall3");
        let markets = comet::deploy(&mut chain, &[(6, DOLLARS.0, DOLLARS.1), (18, 1.0, ETHER.1)]).await?;
        let [dollars, ether] = markets.try_into().unwrap_or_else(|_| unreachable!());
        let together = comet::together(&mut chain).await?;
        live(&mut chain, &dollars).await?;
        transfer_debt(&mut chain, &dollars, together).await?;
        let mut on = On(&mut chain, &ether);
        on.pledge("ada", 0, 2.0).await?;
        on.supply("ada", "ada", units(3.0, 18)).await?;
        on.pledge("ben", 1, 40.0).await?;
        on.withdraw("ben", units(7.5, 18)).await?;
        let setup = Setup {
            native_feed,
            wrapped: Some(ether.base),
            tokens: vec![(dollars.base, 6, base_feed)],
            markets: vec![("lenderB_v3", "USD", dollars.comet), ("lenderB_v3", "ETH", ether.comet)],
            ..Setup::default()
        };
        Ok(Self { chain, dollars, ether, multicall, setup })
    }

    pub(super) fn reader(&self) -> Reader {
        super::reader(&self.setup, &self.chain)
    }

    /// What the events of `name` are, where more than one of a kind can be in a block.
    async fn lived(&self, market: &Market, name: &str) -> LendingEvents {
        let mut lived = market.lived(&self.chain, wallet(name)).await.unwrap();
        if name == "kate" && market.comet == self.dollars.comet {
            // One repayment by the supply and one by the transfer, in one transaction.
            lived.repay += 1;
        }
        lived
    }

    async fn compare(&self, name: &str, read: &ChainSnapshot) {
        for (market, (base, prices)) in
            [(&self.dollars, (DOLLARS.0, DOLLARS.1)), (&self.ether, (ETHER.0, ETHER.1.map(|price| price * ETHER.0)))]
        {
            assert_eq!(counted(pool(read, market.comet)), self.lived(market, name).await, "{name}");

            let held = market.balances(&self.chain, wallet(name), self.chain.head).await.unwrap();
            let whole = |amount: U256, decimals: u8| f64::from(amount) / 10_f64.powi(decimals.into());
            let pledged: Vec<_> = held.collateral.iter().map(|amount| whole(*amount, 18)).collect();
            let supplied =
                whole(held.supplied, market.decimals) * base + pledged[0] * prices[0] + pledged[1] * prices[1];
            let borrowed = whole(held.borrowed, market.decimals) * base;
            let assets = [held.supplied].iter().chain(&held.collateral).filter(|amount| !amount.is_zero()).count();
            let told = position(read, market.comet)
                .map(|p| (p.supplied_usd, p.borrowed_usd, p.supplied_assets))
                .unwrap_or_default();
            assert!(
                (told.0 - supplied).abs() < 1e-6 && (told.1 - borrowed).abs() < 1e-6,
                "{name}: {told:?} {supplied} {borrowed}"
            );
            assert_eq!(told.2 as usize, assets, "{name}");
        }
    }
}

#[test]
fn every_wallet_is_what_the_markets_balances_say() {
    with(async |world| {
        let reader = world.reader().with(uncached).started().await;
        let mut total = LendingEvents::default();
        for name in ["ada", "ben", "cleo", "dora", "emil", "finn"] {
            let mut snapshot = reader.read(wallet(name)).await;
            if name == "emil" {
                assert_eq!(snapshot.events_coverage(), Coverage::Partial);
                snapshot = reader.read(wallet(name)).await;
            }
            assert_eq!(snapshot.events_coverage(), Coverage::Complete, "{name}");
            assert_eq!(snapshot.chains[0].coverage, Coverage::Complete, "{name}");
            world.compare(name, &snapshot.chains[0]).await;
            let events = counted(pool(&snapshot.chains[0], world.dollars.comet));
            total.borrow += events.borrow;
            total.repay += events.repay;
            total.liquidation += events.liquidation;
        }
        assert_eq!((total.borrow, total.repay, total.liquidation), (5, 4, 1));
    });
}

#[test]
fn a_debt_that_no_log_tells_of_lowers_the_coverage_of_its_market_alone() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("emil")).await;
        let read = &snapshot.chains[0];
        let market = pool(read, world.dollars.comet);
        assert_eq!((market.coverage, market.counts.borrow), (Coverage::Partial, Some(0)));
        assert_eq!(market.remark.as_deref(), Some("the events do not explain the position"));
        assert!(position(read, world.dollars.comet).unwrap().borrowed_usd > 0.0);
        assert_eq!(pool(read, world.ether.comet).coverage, Coverage::Complete);
        assert!(snapshot.coverage().is_provisional());
    });
}

#[test]
fn a_log_that_is_left_out_is_made_up_for_or_does_not_pass() {
    with(async |world| {
        let mut partial = 0;
        for (name, event, named) in [
            ("ada", "Supply(address,address,uint256)", 2),
            ("ada", "Withdraw(address,address,uint256)", 1),
            ("ada", "SupplyCollateral(address,address,address,uint256)", 2),
            ("ada", "WithdrawCollateral(address,address,address,uint256)", 1),
            ("cleo", "TransferCollateral(address,address,address,uint256)", 1),
            ("ben", "Supply(address,address,uint256)", 2),
            ("cleo", "Withdraw(address,address,uint256)", 1),
            ("dora", "AbsorbDebt(address,address,uint256,uint256)", 2),
            ("dora", "AbsorbCollateral(address,address,address,uint256,uint256)", 2),
            ("dora", "Withdraw(address,address,uint256)", 1),
        ] {
            let proxy = Proxy::start(world.chain.url()).await;
            proxy.forget(first_of(keccak256(event), named, wallet(name)));
            let read = world.reader().through(&[&proxy]).started().await.read(wallet(name)).await;
            if pool(&read.chains[0], world.dollars.comet).coverage == Coverage::Complete {
                // The next log contains the same information.
                world.compare(name, &read.chains[0]).await;
            } else {
                assert_eq!(
                    pool(&read.chains[0], world.dollars.comet).coverage,
                    Coverage::Partial,
                    "{name} without a {event}"
                );
                partial += 1;
            }
        }
        // The others are found in receipts: the log beside one that is left out points at it.
        assert_eq!(partial, 4);
        let proxy = Proxy::start(world.chain.url()).await;
        proxy.forget(|_| true);
        let read = world.reader().through(&[&proxy]).started().await.read(wallet("ben")).await;
        assert!(read.chains[0].pools.iter().all(|pool| pool.coverage == Coverage::Partial));
    });
}

#[test]
fn without_a_price_of_its_base_asset_a_position_is_not_guessed() {
    with(async |world| {
        let reader = world.reader().with(|config| config.chains[0].native.wrapped = None).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        let read = &snapshot.chains[0];
        assert_eq!(read.coverage, Coverage::Partial);
        assert!(position(read, world.ether.comet).is_none() && position(read, world.dollars.comet).is_some());
        assert_eq!(pool(read, world.ether.comet).counts.supply, Some(2));
        // A market that quotes in dollars needs no other price.
        let reader = world.reader().with(|config| config.chains[0].tokens.clear()).started().await;
        assert_eq!(reader.read(wallet("ada")).await.chains[0].coverage, Coverage::Complete);
    });
}

#[test]
fn in_one_aggregated_call_it_is_the_same() {
    with(async |world| {
        let reader = world.reader().with(|config| config.chains[0].multicall = Some(world.multicall)).started().await;
        for name in ["ada", "ben", "finn"] {
            world.compare(name, &reader.read(wallet(name)).await.chains[0]).await;
        }
    });
}

#[test]
fn all_markets_are_read_with_two_queries() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().through(&[&proxy]).started().await;
        world.compare("ada", &reader.read(wallet("ada")).await.chains[0]).await;
        assert_eq!(proxy.take().iter().filter_map(Call::span).count(), 2);
    });
}

#[test]
fn what_is_not_a_market_is_said() {
    with(async |world| {
        let nobody = Address::repeat_byte(0x77);
        let reader = world.reader().with(|config| config.chains[0].markets[1].address = nobody).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        assert_eq!(snapshot.chains[0].coverage, Coverage::Partial);
        assert!(position(&snapshot.chains[0], world.dollars.comet).is_some());
    });
}

#[test]
fn the_index_says_what_the_node_says() {
    with(async |world| {
        let names = ["ada", "ben", "cleo", "dora", "emil", "finn", "gwen", "hugo", "anybody"];
        super::super::index::agrees(&world.setup, &world.chain, &names.map(wallet)).await;
    });
}

#[test]
fn a_market_that_is_new_to_the_index_is_read_from_its_beginning() {
    with(async |world| {
        let all = world.reader().config.chains[0].markets.clone();
        let one = |config: &mut assay::config::Config| config.chains[0].markets.truncate(1);
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().through(&[&proxy]).with(super::super::index::indexed).with(one);
        let mut reader = reader.started().await;
        reader.in_step(CHAIN, &world.chain.rpc).await;
        assert!(all.len() > 1);
        reader.config.chains[0].markets = all;
        reader.restart().await;
        reader.in_step(CHAIN, &world.chain.rpc).await;
        let plain = world.reader().started().await;
        for name in ["ada", "ben", "cleo", "dora"] {
            proxy.take();
            let read = reader.read(wallet(name)).await;
            assert!(super::super::index::log_queries(&proxy.take()) <= 2, "{name}");
            assert_eq!(read.chains, plain.read(wallet(name)).await.chains, "{name}");
        }
    });
}
