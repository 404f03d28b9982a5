//! Aave v2 with the real contracts: the figures of every wallet equal the receipts and the data provider, beside a
//! market of another lender.

use alloy::primitives::{Address, U256};
use alloy::sol_types::SolEvent;
use assay_domain::{ChainSnapshot, Coverage, Protocol};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::Small;
use assay_tests::lenders::aave_v2::{self, Gateway, Market, Pool, Reserve, Token};
use assay_tests::lenders::comet::{self, Comet};
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::proxy::{Call, Proxy};
use tokio::sync::OnceCell;

use super::super::lies::first_of;
use super::super::wallets::counted;
use super::super::{RUNTIME, Reader, one_log};
use super::{Done, once, pool, position};

const ETHER_USD: f64 = 2_500.0;
/// Stablecoin for one ether, at the start, when it is worth a dollar. Later it is half a dollar for a day, and two
/// dollars at the end.
pub(super) const USDC_PER_ETHER: u64 = 2_500;
const LOW_USDC_PER_ETHER: u64 = 5_000;
const LAST_USDC_PER_ETHER: u64 = 1_250;

pub(super) struct World {
    pub chain: Small,
    pub market: Market,
    /// A market of another lender on the same chain.
    comet: Address,
    setup: Setup,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

pub(super) fn with(test: impl AsyncFnOnce(&World)) {
    once(&WORLD, World::start, test);
}

fn units(amount: u64, reserve: Reserve) -> U256 {
    U256::from(amount) * U256::from(10).pow(U256::from(reserve.decimals))
}

/// Calls of the pool on a chain.
pub(super) struct On<'a>(pub &'a mut Small, pub &'a Market);

impl On<'_> {
    pub(super) async fn deposit(&mut self, from: &str, to: &str, reserve: Reserve, amount: u64) -> Done {
        let (asset, amount) = (reserve.asset, units(amount, reserve));
        self.1.queue_tokens(self.0, wallet(from), reserve, amount);
        let call = Pool::depositCall { asset, amount, onBehalfOf: wallet(to), referralCode: 0 };
        self.0.call(wallet(from), self.1.pool, &call).await
    }

    pub(super) async fn withdraw(&mut self, from: &str, reserve: Reserve, amount: u64) -> Done {
        let call = Pool::withdrawCall { asset: reserve.asset, amount: units(amount, reserve), to: wallet(from) };
        self.0.call(wallet(from), self.1.pool, &call).await
    }

    /// Mode 1 is stable, mode 2 variable.
    pub(super) async fn borrow(&mut self, from: &str, reserve: Reserve, amount: u64, mode: u64) -> Done {
        let (amount, mode) = (units(amount, reserve), U256::from(mode));
        let call = Pool::borrowCall {
            asset: reserve.asset,
            amount,
            interestRateMode: mode,
            referralCode: 0,
            onBehalfOf: wallet(from),
        };
        self.0.call(wallet(from), self.1.pool, &call).await
    }

    async fn repay(&mut self, from: &str, to: &str, reserve: Reserve, amount: u64, mode: u64) -> Done {
        let (asset, amount) = (reserve.asset, units(amount, reserve));
        self.1.queue_tokens(self.0, wallet(from), reserve, amount);
        let call = Pool::repayCall { asset, amount, rateMode: U256::from(mode), onBehalfOf: wallet(to) };
        self.0.call(wallet(from), self.1.pool, &call).await
    }
}

/// The stablecoin loses half of its value, and the liquidator repays a quarter of one ether of `user`'s debt.
pub(super) async fn liquidate(on: &mut On<'_>, user: &str) -> Done {
    let (weth, usdc) = (on.1.weth, on.1.usdc);
    on.1.queue_price(on.0, LOW_USDC_PER_ETHER);
    on.1.queue_tokens(on.0, wallet("liquidator"), weth, units(1, weth));
    let (user, debt) = (wallet(user), units(1, weth) / U256::from(4));
    let call = Pool::liquidationCallCall {
        collateralAsset: usdc.asset,
        debtAsset: weth.asset,
        user,
        debtToCover: debt,
        receiveAToken: false,
    };
    on.0.call(wallet("liquidator"), on.1.pool, &call).await
}

async fn live(chain: &mut Small, market: &Market) -> Done {
    let (weth, usdc) = (market.weth, market.usdc);
    let mut on = On(chain, market);
    on.deposit("bank", "bank", usdc, 1_000_000).await?;
    on.deposit("bank", "bank", weth, 1_000).await?;
    on.deposit("ada", "ada", weth, 20).await?;
    on.borrow("ada", usdc, 9_000, 2).await?;
    on.repay("ada", "ada", usdc, 2_000, 2).await?;
    on.repay("bank", "ada", usdc, 1_000, 2).await?;
    on.withdraw("ada", weth, 3).await?;
    on.deposit("bank", "ada", weth, 1).await?;
    on.borrow("ada", usdc, 500, 1).await?;
    on.deposit("ben", "ben", usdc, 4_000).await?;
    on.borrow("ben", weth, 1, 2).await?;
    on.deposit("ivan", "ivan", usdc, 4_000).await?;
    on.borrow("ivan", weth, 1, 2).await?;
    // The stablecoin loses half of its value, and a wallet with it as collateral is liquidated.
    liquidate(&mut on, "ben").await?;
    // Another one is liquidated by a liquidator that takes aTokens.
    let user = wallet("ivan");
    let call = Pool::liquidationCallCall {
        collateralAsset: usdc.asset,
        debtAsset: weth.asset,
        user,
        debtToCover: units(1, weth) / U256::from(4),
        receiveAToken: true,
    };
    market.queue_tokens(on.0, wallet("liquidator"), weth, units(1, weth));
    on.0.call(wallet("liquidator"), market.pool, &call).await?;
    market.queue_price(on.0, LAST_USDC_PER_ETHER);
    on.0.mine().await?;
    // Supplies that leave without a call of the pool: withdrawn as ether, and transferred to another wallet.
    on.deposit("gwen", "gwen", weth, 5).await?;
    on.0.call(wallet("gwen"), market.a_weth, &Token::approveCall { spender: market.gateway, amount: U256::MAX })
        .await?;
    on.0.call(wallet("gwen"), market.gateway, &Gateway::withdrawETHCall { amount: units(2, weth), to: wallet("gwen") })
        .await?;
    on.0.call(wallet("gwen"), market.a_weth, &Token::transferCall { to: wallet("hugo"), amount: units(1, weth) })
        .await?;
    // Debt at a fixed rate, repaid in part, by less than its interest, and whole.
    on.deposit("lea", "lea", weth, 10).await?;
    on.borrow("lea", usdc, 2_000, 1).await?;
    on.borrow("lea", usdc, 700, 1).await?;
    on.repay("lea", "lea", usdc, 400, 1).await?;
    let micro = |amount: u64| U256::from(amount);
    for amount in [micro(1), U256::MAX] {
        market.queue_tokens(on.0, wallet("lea"), usdc, units(100, usdc));
        let call = Pool::repayCall { asset: usdc.asset, amount, rateMode: U256::ONE, onBehalfOf: wallet("lea") };
        on.0.call(wallet("lea"), market.pool, &call).await?;
    }
    // A wallet that closes its whole position.
    on.deposit("kay", "kay", weth, 4).await?;
    on.borrow("kay", usdc, 100, 2).await?;
    market.queue_tokens(on.0, wallet("kay"), usdc, units(50, usdc));
    let (asset, amount) = (usdc.asset, U256::MAX);
    let call = Pool::repayCall { asset, amount, rateMode: U256::from(2), onBehalfOf: wallet("kay") };
    on.0.call(wallet("kay"), market.pool, &call).await?;
    let call = Pool::withdrawCall { asset: weth.asset, amount, to: wallet("kay") };
    on.0.call(wallet("kay"), market.pool, &call).await
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let market = aave_v2::deploy(&mut chain, USDC_PER_ETHER).await?;
        let comet = comet::deploy(&mut chain, &[(6, 0.9, [2.0, 3.0])]).await?.remove(0);
        live(&mut chain, &market).await?;
        let call = Comet::supplyToCall { dst: wallet("ada"), asset: comet.base, amount: U256::from(5_000_000) };
        chain.call(wallet("ada"), comet.comet, &call).await?;
        let setup = Setup {
            native_feed,
            wrapped: Some(market.weth.asset),
            markets: vec![("lenderA_v2", "Main", market.pool), ("lenderB_v3", "USD", comet.comet)],
            ..Setup::default()
        };
        Ok(Self { chain, market, comet: comet.comet, setup })
    }

    pub(super) fn reader(&self) -> Reader {
        super::reader(&self.setup, &self.chain)
    }

    async fn compare(&self, name: &str, read: &ChainSnapshot) -> LendingEvents {
        let market = &self.market;
        let lived = market.lived(&self.chain, wallet(name)).await.unwrap();
        assert_eq!(counted(pool(read, market.pool)), lived, "{name}");
        let (weth, usdc) =
            (market.held(&self.chain, wallet(name), market.weth), market.held(&self.chain, wallet(name), market.usdc));
        let (weth, usdc) = (weth.await.unwrap(), usdc.await.unwrap());
        let dollars = |weth: f64, usdc: f64| weth * ETHER_USD + usdc * ETHER_USD / LAST_USDC_PER_ETHER as f64;
        let (supplied, borrowed) = (dollars(weth.0, usdc.0), dollars(weth.1, usdc.1));
        let told = position(read, market.pool)
            .map(|p| (p.supplied_usd, p.borrowed_usd, p.supplied_assets))
            .unwrap_or_default();
        assert!(
            (told.0 - supplied).abs() < 1e-4 && (told.1 - borrowed).abs() < 1e-4,
            "{name}: {told:?} {supplied} {borrowed}"
        );
        assert_eq!(told.2, [weth.0, usdc.0].iter().filter(|held| **held > 0.0).count() as u32, "{name}");
        lived
    }
}

#[test]
fn every_wallet_is_what_receipts_and_the_data_provider_say() {
    with(async |world| {
        let reader = world.reader().started().await;
        for name in ["bank", "ada", "ben", "ivan", "gwen", "hugo", "kay", "lea", "cleo", "liquidator"] {
            let snapshot = reader.read(wallet(name)).await;
            assert_eq!(snapshot.coverage(), Coverage::Complete, "{name}");
            let lived = world.compare(name, &snapshot.chains[0]).await;
            let told = (lived.supply, lived.withdraw, lived.borrow, lived.repay, lived.liquidation);
            match name {
                "bank" => assert_eq!(told, (2, 0, 0, 0, 0)),
                "ada" => assert_eq!(told, (2, 1, 2, 2, 0)),
                "ben" | "ivan" => assert_eq!(told, (1, 0, 1, 0, 1), "{name}"),
                "gwen" => assert_eq!(told, (1, 1, 0, 0, 0)),
                "kay" => assert_eq!(told, (1, 1, 1, 1, 0)),
                "lea" => assert_eq!(told, (1, 0, 2, 3, 0)),
                _ => assert_eq!(told, (0, 0, 0, 0, 0), "{name}"),
            }
        }
    });
}

#[test]
fn what_a_gateway_withdraws_is_the_wallets() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(world.market.gateway).await;
        let told = pool(&snapshot.chains[0], world.market.pool);
        assert_eq!((told.coverage, counted(told)), (Coverage::Complete, LendingEvents::default()));
    });
}

#[test]
fn two_lenders_are_read_with_one_query_for_each_topic() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().through(&[&proxy]).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        let read = &snapshot.chains[0];
        world.compare("ada", read).await;
        assert_eq!(
            (pool(read, world.comet).counts.supply, pool(read, world.comet).protocol),
            (Some(1), Protocol::LenderBV3)
        );
        assert!((position(read, world.comet).unwrap().supplied_usd - 4.5).abs() < 1e-9);
        assert_eq!(proxy.take().iter().filter_map(Call::span).count(), 3);
    });
}

#[test]
fn a_log_that_is_left_out_is_found() {
    with(async |world| {
        for (name, kind, named) in [
            ("ada", Pool::Deposit::SIGNATURE_HASH, 2),
            ("ada", Pool::Withdraw::SIGNATURE_HASH, 2),
            ("ada", Pool::Borrow::SIGNATURE_HASH, 2),
            ("ada", Pool::Repay::SIGNATURE_HASH, 2),
            ("ben", Pool::LiquidationCall::SIGNATURE_HASH, 3),
            ("ivan", Pool::LiquidationCall::SIGNATURE_HASH, 3),
            ("gwen", Token::Transfer::SIGNATURE_HASH, 1),
            ("hugo", Token::Transfer::SIGNATURE_HASH, 2),
        ] {
            let proxy = Proxy::start(world.chain.url()).await;
            proxy.forget(first_of(kind, named, wallet(name)));
            let read = world.reader().through(&[&proxy]).started().await.read(wallet(name)).await;
            // Another log of the same transaction leads to its receipt.
            assert_eq!(read.events_coverage(), Coverage::Complete, "{name}");
            world.compare(name, &read.chains[0]).await;
        }
    });
}

#[test]
fn a_history_without_any_log_does_not_pass_where_there_was_one() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        proxy.forget(|_| true);
        let reader = world.reader().through(&[&proxy]).started().await;
        for name in ["bank", "ada", "ben", "ivan", "gwen", "hugo", "kay", "cleo"] {
            let read = reader.read(wallet(name)).await;
            let read = pool(&read.chains[0], world.market.pool);
            let expected = if name == "cleo" { Coverage::Complete } else { Coverage::Partial };
            assert_eq!((read.coverage, counted(read)), (expected, LendingEvents::default()), "{name}");
        }
    });
}

#[test]
fn without_a_price_of_ether_a_position_is_not_guessed() {
    with(async |world| {
        let reader = world.reader().with(|config| config.chains[0].native.wrapped = None).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        assert_eq!((snapshot.chains[0].coverage, snapshot.events_coverage()), (Coverage::Partial, Coverage::Partial));
        assert!(position(&snapshot.chains[0], world.market.pool).is_none());
        assert_eq!(reader.read(wallet("cleo")).await.chains[0].coverage, Coverage::Complete);
    });
}

#[test]
fn a_pool_without_its_data_provider_has_events_and_no_positions() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let market = aave_v2::deploy(&mut chain, USDC_PER_ETHER).await.unwrap();
        market.queue_no_data_provider(&mut chain);
        On(&mut chain, &market).deposit("ada", "ada", market.weth, 2).await.unwrap();
        let setup = Setup {
            native_feed,
            wrapped: Some(market.weth.asset),
            markets: vec![("lenderA_v2", "Main", market.pool)],
            ..Setup::default()
        };
        let reader = super::reader(&setup, &chain).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        let read = &snapshot.chains[0];
        assert_eq!((read.coverage, read.positions.len()), (Coverage::Partial, 0));
        assert_eq!(counted(pool(read, market.pool)), market.lived(&chain, wallet("ada")).await.unwrap());
    });
}

#[test]
fn the_index_says_what_the_node_says() {
    with(async |world| {
        let names = ["bank", "ada", "ben", "ivan", "gwen", "hugo", "kay", "cleo", "liquidator", "nobody"];
        super::super::index::agrees(&world.setup, &world.chain, &names.map(wallet)).await;
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        let names = ["bank", "ada", "ben", "ivan", "gwen", "hugo", "kay", "lea", "cleo"];
        let wallets = names.map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Aave v2", world).await;
    });
}
