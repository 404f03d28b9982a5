//! Health factors and liquidation prices: once the price of a feed is the reported one, each protocol's own view says
//! that the position is about to be liquidated, and not a thousandth before.

use alloy::primitives::{Address, I256, U256};
use alloy::sol;
use alloy::sol_types::SolCall;
use assay_domain::{AssetSide, LendingMode, Position, PositionAsset};
use assay_tests::devnet::actors::{DEPLOYER, address as wallet};
use assay_tests::devnet::feed;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::{Small, aave_v2, comet, ctoken, maker, morpho};
use serde_json::json;

use super::super::{RUNTIME, Reader};
use super::aave_v2::{On as OnV2, USDC_PER_ETHER};
use super::forks::On as OnV3;
use super::{position, reader};

sol! {
    interface Account {
        function getUserAccountData(address user) external view returns (uint256 collateral, uint256 debt,
            uint256 available, uint256 threshold, uint256 ltv, uint256 healthFactor);
        function setUserEMode(uint8 category) external;
        function setUserUseReserveAsCollateral(address asset, bool use) external;
    }
    interface Configuration {
        function getPoolConfigurator() external view returns (address configurator);
        function configureReserveAsCollateral(address asset, uint256 ltv, uint256 threshold, uint256 bonus) external;
        function setEModeCategory(uint8 id, uint16 ltv, uint16 threshold, uint16 bonus, address oracle,
            string label) external;
        function setAssetEModeCategory(address asset, uint8 category) external;
        function setDebtCeiling(address asset, uint256 ceiling) external;
        function setBorrowableInIsolation(address asset, bool borrowable) external;
    }
}

const ETHER_USD: f64 = 2_500.0;
/// A thousandth above and below a liquidation price, and whether the position can be liquidated there.
const AROUND: [(f64, bool); 2] = [(1.001, false), (0.999, true)];

async fn started(setup: &Setup, chain: &Small) -> Reader {
    let uncached = |config: &mut assay::config::Config| {
        (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = Default::default();
    };
    reader(setup, chain).with(uncached).started().await
}

/// The positions of a wallet, and its position in `market`.
async fn read(reader: &Reader, name: &str, market: Address) -> (Vec<Position>, Position) {
    let chain = &reader.read(wallet(name)).await.chains[0];
    (chain.positions.clone(), position(chain, market).unwrap_or_else(|| panic!("{name} has a position")).clone())
}

/// The health factor of the position, and the liquidation price of `token` in it.
async fn told(
    reader: &Reader,
    name: &str,
    market: Address,
    side: AssetSide,
    token: impl Into<Option<Address>>,
) -> (f64, f64) {
    let ((all, own), token) = (read(reader, name, market).await, token.into());
    let asset = own.assets.iter().find(|asset| (asset.side, asset.token) == (side, token)).expect("it has the asset");
    let price = own.liquidation_price(asset, &all).unwrap_or_else(|| panic!("{name}: {own:?}"));
    let health = own.health_factor.expect("a health factor");
    let computed = own.health_factor_at(&all, &|_| 1.0).expect("its assets explain it");
    assert!((computed / health - 1.0).abs() < 3e-4, "{name}: {computed} {health}");
    let change = |of: &PositionAsset| if of.token == token { price / asset.price_usd.unwrap() } else { 1.0 };
    assert!((own.health_factor_at(&all, &change).unwrap() - 1.0).abs() < 1e-9, "{name}");
    (health, price)
}

fn close(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-6
}

fn whole(amount: u64, decimals: u32) -> U256 {
    U256::from(amount) * U256::from(10).pow(U256::from(decimals))
}

async fn pool_health(chain: &Small, pool: Address, name: &str) -> f64 {
    let call = Account::getUserAccountDataCall { user: wallet(name) };
    f64::from(chain.view(pool, &call, chain.head).await.unwrap().healthFactor) / 1e18
}

#[test]
fn aave_v3_liquidates_at_the_reported_price() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let market = chain.aave_v3_market().await.unwrap();
        let (admin, pool) = (wallet(DEPLOYER), market.pool);
        let ask = Configuration::getPoolConfiguratorCall {};
        let configurator = chain.view(market.addresses_provider, &ask, chain.head).await.unwrap();
        let token = |symbol: &str| market.token(symbol).unwrap().clone();
        let (dai, bitcoin, ether, dollar) = (token("DAI"), token("WBTC"), token("WETH"), token("USDC"));
        let thresholds = [7_500, 7_777, 10_500].map(U256::from);
        let [ltv, threshold, bonus] = thresholds;
        let call = Configuration::configureReserveAsCollateralCall { asset: dai.address, ltv, threshold, bonus };
        chain.queue(admin, configurator, &call);
        let call = Configuration::setEModeCategoryCall {
            id: 1,
            ltv: 9_500,
            threshold: 9_700,
            bonus: 10_100,
            oracle: Address::ZERO,
            label: "Stablecoins".to_owned(),
        };
        chain.queue(admin, configurator, &call);
        for asset in [dai.address, dollar.address] {
            chain.queue(admin, configurator, &Configuration::setAssetEModeCategoryCall { asset, category: 1 });
        }
        let call = Configuration::setDebtCeilingCall { asset: ether.address, ceiling: whole(1_000_000, 2) };
        chain.queue(admin, configurator, &call);
        let call = Configuration::setBorrowableInIsolationCall { asset: dollar.address, borrowable: true };
        chain.queue(admin, configurator, &call);
        chain.mine().await.unwrap();
        let mut on = OnV3(&mut chain, &market);
        on.supply("bank", "USDC", 500_000).await.unwrap();
        for name in ["ada", "cleo"] {
            on.supply(name, "WBTC", 1).await.unwrap();
            on.supply(name, "DAI", 20_000).await.unwrap();
        }
        on.supply("dora", "WETH", 10).await.unwrap();
        let call = Account::setUserUseReserveAsCollateralCall { asset: ether.address, r#use: true };
        chain.call(wallet("dora"), pool, &call).await.unwrap();
        chain.call(wallet("cleo"), pool, &Account::setUserEModeCall { category: 1 }).await.unwrap();
        let mut on = OnV3(&mut chain, &market);
        for (name, amount) in [("ada", 30_000), ("cleo", 40_000), ("dora", 9_000)] {
            on.borrow(name, "USDC", amount).await.unwrap();
        }
        chain.mine_before_now(600).await.unwrap();

        let setup = Setup { native_feed, markets: vec![("lenderA_v3", "Core", pool)], ..Setup::default() };
        let reader = started(&setup, &chain).await;
        let thresholds = async |name: &str| {
            let (_, own) = read(&reader, name, pool).await;
            let collateral = own.assets.iter().filter(|asset| asset.side == AssetSide::Collateral);
            let found: Vec<_> =
                collateral.map(|one| (one.symbol.clone().unwrap(), one.liquidation_threshold)).collect();
            (found, own.mode)
        };
        let of = |symbol: &str, threshold| (symbol.to_owned(), Some(threshold));
        assert_eq!(thresholds("ada").await, (vec![of("WBTC", 0.85), of("DAI", 0.7777)], None));
        let mode = LendingMode::EMode { category: 1, label: Some("Stablecoins".to_owned()) };
        assert_eq!(thresholds("cleo").await, (vec![of("WBTC", 0.85), of("DAI", 0.97)], Some(mode)));
        assert_eq!(thresholds("dora").await, (vec![of("WETH", 0.85)], Some(LendingMode::Isolation)));

        let mut before = 599;
        for (name, token) in [("ada", &bitcoin), ("cleo", &bitcoin), ("dora", &ether)] {
            let (health, price) = told(&reader, name, pool, AssetSide::Collateral, token.address).await;
            assert!(close(health, pool_health(&chain, pool, name).await), "{name}: {health}");
            for (factor, is_liquidatable) in AROUND {
                let set = feed::Feed::setCall { answer: feed::answer(price * factor), updatedAt: U256::ZERO };
                chain.queue(admin, token.feed.unwrap(), &set);
                chain.mine_before_now(before).await.unwrap();
                before -= 1;
                let stated = pool_health(&chain, pool, name).await;
                assert_eq!(stated < 1.0, is_liquidatable, "{name} at {price}: {stated}");
                assert!((stated - 1.0).abs() < 2e-3, "{name} at {price}: {stated}");
                let (health, again) = told(&reader, name, pool, AssetSide::Collateral, token.address).await;
                assert!(close(health, stated) && close(again, price), "{name}: {health} {stated}, {again} {price}");
            }
            let first = feed::Feed::setCall { answer: feed::answer(token.asset.dollars), updatedAt: U256::ZERO };
            chain.queue(admin, token.feed.unwrap(), &first);
            chain.mine_before_now(before).await.unwrap();
            before -= 1;
        }
    });
}

#[test]
fn aave_v2_liquidates_at_the_reported_price() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let market = aave_v2::deploy(&mut chain, USDC_PER_ETHER).await.unwrap();
        let (pool, dollar) = (market.pool, market.usdc.asset);
        let mut on = OnV2(&mut chain, &market);
        on.deposit("bank", "bank", market.usdc, 100_000).await.unwrap();
        on.deposit("bank", "bank", market.weth, 1_000).await.unwrap();
        on.deposit("ada", "ada", market.weth, 10).await.unwrap();
        on.borrow("ada", market.usdc, 10_000, 2).await.unwrap();
        on.deposit("ben", "ben", market.usdc, 10_000).await.unwrap();
        on.borrow("ben", market.weth, 2, 2).await.unwrap();
        chain.mine_before_now(600).await.unwrap();
        let setup = Setup {
            native_feed,
            wrapped: Some(market.weth.asset),
            markets: vec![("lenderA_v2", "Main", pool)],
            ..Setup::default()
        };
        let reader = started(&setup, &chain).await;
        let mut before = 599;
        // The oracle quotes in ether, so only the price of dollars can change: a debt of ada, a deposit of ben.
        for (name, side) in [("ada", AssetSide::Debt), ("ben", AssetSide::Collateral)] {
            let (health, price) = told(&reader, name, pool, side, dollar).await;
            assert!(close(health, pool_health(&chain, pool, name).await), "{name}: {health}");
            for (factor, is_below) in AROUND {
                let answer = I256::try_from((price * factor / ETHER_USD * 1e18) as i128).unwrap();
                let set = feed::Feed::setCall { answer, updatedAt: U256::ZERO };
                chain.queue(wallet(DEPLOYER), market.usdc_feed, &set);
                chain.mine_before_now(before).await.unwrap();
                before -= 1;
                let stated = pool_health(&chain, pool, name).await;
                let is_liquidatable = is_below == (side == AssetSide::Collateral);
                assert_eq!(stated < 1.0, is_liquidatable, "{name} at {price}: {stated}");
                assert!((stated - 1.0).abs() < 2e-3, "{name} at {price}: {stated}");
                let (health, again) = told(&reader, name, pool, side, dollar).await;
                assert!(close(health, stated) && close(again, price), "{name}: {health} {stated}, {again} {price}");
            }
            market.queue_price(&mut chain, USDC_PER_ETHER);
            chain.mine_before_now(before).await.unwrap();
            before -= 1;
        }
    });
}

#[test]
fn comet_liquidates_at_the_reported_price() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, ETHER_USD);
        // The base asset is worth half a dollar.
        let market = comet::deploy(&mut chain, &[(6, 0.5, [2_000.0, 30.0])]).await.unwrap().remove(0);
        let (ada, at) = (wallet("ada"), market.comet);
        for (asset, amount) in [(market.collateral[0], 1), (market.collateral[1], 5)] {
            let supply = comet::Comet::supplyToCall { dst: ada, asset, amount: whole(amount, 18) };
            chain.call(ada, at, &supply).await.unwrap();
        }
        let borrow = comet::Comet::withdrawToCall { to: ada, asset: market.base, amount: whole(1_500, 6) };
        chain.call(ada, at, &borrow).await.unwrap();
        let setup = Setup { native_feed, markets: vec![("lenderB_v3", "USD", at)], ..Setup::default() };
        let reader = started(&setup, &chain).await;
        for (token, side, start) in
            [(market.collateral[0], AssetSide::Collateral, 2_000.0), (market.base, AssetSide::Debt, 0.5)]
        {
            let (_, price) = told(&reader, "ada", at, side, token).await;
            for (factor, is_below) in AROUND {
                let set = |dollars: f64| comet::Comet::setPriceCall {
                    feed: token,
                    price: U256::from((dollars * 1e8).round() as u64),
                };
                chain.call(wallet(DEPLOYER), at, &set(price * factor)).await.unwrap();
                let ask = comet::Comet::isLiquidatableCall { account: ada };
                let stated = chain.view(at, &ask, chain.head).await.unwrap();
                assert_eq!(stated, is_below == (side == AssetSide::Collateral), "{token} at {price}");
                let (health, again) = told(&reader, "ada", at, side, token).await;
                assert_eq!(health < 1.0, stated, "{health}");
                assert!((health - 1.0).abs() < 2e-3 && close(again, price), "{health}, {again} {price}");
                chain.call(wallet(DEPLOYER), at, &set(start)).await.unwrap();
            }
        }
    });
}

#[test]
fn compound_v2_liquidates_at_the_reported_price_over_all_its_markets() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let compound = ctoken::deploy(&mut chain, ETHER_USD).await.unwrap();
        let (ada, comptroller, ether) = (wallet("ada"), compound.comptroller, compound.ether.ctoken);
        chain.queue_paid(ada, ether, &ctoken::CEther::mintCall {}, whole(4, 18)).await.unwrap();
        chain.queue(ada, comptroller, &ctoken::Comptroller::enterMarketsCall { cTokens: vec![ether] });
        // A deposit that secures nothing.
        let dai = compound.dai;
        let give = ctoken::Token::giveCall { to: ada, amount: whole(500, 18) };
        chain.queue(ada, dai.underlying, &give);
        chain.queue(ada, dai.ctoken, &ctoken::CErc20::mintCall { amount: whole(500, 18) });
        chain.queue(ada, compound.usdc.ctoken, &ctoken::CToken::borrowCall { amount: whole(4_000, 6) });
        chain.mine().await.unwrap();
        let names = ["cUSDC", "cDAI", "cETH"].into_iter().zip(compound.markets());
        let markets = names.map(|(name, market)| ("lenderB_v2", name, market.ctoken)).collect();
        let setup = Setup { native_feed, markets, ..Setup::default() };
        let reader = started(&setup, &chain).await;
        let (_, unused) = read(&reader, "ada", dai.ctoken).await;
        let side =
            |own: &Position| own.assets.iter().map(|one| (one.side, one.liquidation_threshold)).collect::<Vec<_>>();
        assert_eq!(side(&unused), [(AssetSide::Deposit, None)]);

        let (health, price) = told(&reader, "ada", ether, AssetSide::Collateral, None).await;
        assert!(close(health, 4.0 * ETHER_USD * 0.75 / 4_000.0), "{health}");
        let oracle = chain.view(comptroller, &ctoken::Comptroller::oracleCall {}, chain.head).await.unwrap();
        for (factor, is_liquidatable) in AROUND {
            let amount = U256::from((price * factor * 1e6) as u64) * whole(1, 12);
            let set = ctoken::Oracle::setPriceCall { market: ether, price: amount };
            chain.call(wallet(DEPLOYER), oracle, &set).await.unwrap();
            let ask = ctoken::Comptroller::getAccountLiquidityCall { account: ada };
            let stated = chain.view(comptroller, &ask, chain.head).await.unwrap();
            assert_eq!(stated.shortfall > U256::ZERO, is_liquidatable, "at {price}");
            // Both markets have the health of the account.
            for (market, side, token) in [
                (ether, AssetSide::Collateral, None),
                (compound.usdc.ctoken, AssetSide::Debt, Some(compound.usdc.underlying)),
            ] {
                let (health, again) = told(&reader, "ada", market, side, token).await;
                assert!((health < 1.0) == is_liquidatable && (health - 1.0).abs() < 2e-3, "{health}");
                assert!(token.is_some() || close(again, price), "{again} {price}");
            }
        }
    });
}

#[test]
fn morpho_liquidates_at_the_reported_price() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let (native_feed, dollar) = (price_feed(&mut chain, ETHER_USD), price_feed(&mut chain, 1.0));
        let morpho = morpho::deploy(&mut chain, ETHER_USD).await.unwrap();
        // The oracle says less than the chain's feeds.
        let market = morpho.market(&mut chain, (morpho.usdc, morpho.weth), 2_400.0, 860).await.unwrap();
        let (ada, bank, keeper) = (wallet("ada"), wallet("bank"), wallet("keeper"));
        let params = || market.params.clone();
        morpho.queue_tokens(&mut chain, bank, morpho.usdc, morpho.usdc.thousandths(100_000_000));
        morpho.queue_tokens(&mut chain, keeper, morpho.usdc, morpho.usdc.thousandths(100_000_000));
        morpho.queue_tokens(&mut chain, ada, morpho.weth, morpho.weth.thousandths(5_000));
        let (none, nobody) = (U256::ZERO, alloy::primitives::Bytes::new());
        let supply = morpho::Blue::supplyCall {
            params: params(),
            assets: morpho.usdc.thousandths(50_000_000),
            shares: none,
            onBehalf: bank,
            data: nobody.clone(),
        };
        chain.queue(bank, morpho.blue, &supply);
        let pledge = morpho::Blue::supplyCollateralCall {
            params: params(),
            assets: morpho.weth.thousandths(5_000),
            onBehalf: ada,
            data: nobody.clone(),
        };
        chain.queue(ada, morpho.blue, &pledge);
        let borrow = morpho::Blue::borrowCall {
            params: params(),
            assets: morpho.usdc.thousandths(6_000_000),
            shares: none,
            onBehalf: ada,
            receiver: ada,
        };
        chain.queue(ada, morpho.blue, &borrow);
        chain.mine_before_now(600).await.unwrap();
        let weth_feed = price_feed(&mut chain, ETHER_USD);
        chain.mine_before_now(599).await.unwrap();
        let setup = Setup {
            native_feed,
            tokens: vec![(morpho.usdc.token, 6, dollar), (morpho.weth.token, 18, weth_feed)],
            markets: vec![("morpho_blue", "All", morpho.blue)],
            ..Setup::default()
        };
        let reader = started(&setup, &chain).await;
        let (health, price) = told(&reader, "ada", morpho.blue, AssetSide::Collateral, morpho.weth.token).await;
        let stated = morpho.held(&chain, &market, ada, chain.head).await.unwrap().health.unwrap();
        assert!(close(health, stated), "{health} {stated}");
        for ((factor, is_liquidatable), before) in AROUND.into_iter().zip([598, 597]) {
            morpho.queue_price(&mut chain, &market, price * factor);
            chain.mine_before_now(before).await.unwrap();
            let liquidate = morpho::Blue::liquidateCall {
                params: params(),
                borrower: ada,
                seizedAssets: morpho.weth.thousandths(100),
                repaidShares: none,
                data: nobody.clone(),
            };
            let data = alloy::primitives::Bytes::from(liquidate.abi_encode());
            let ask = json!([{ "from": keeper, "to": morpho.blue, "data": data }, "latest"]);
            let liquidated = chain.rpc.request::<serde_json::Value>("eth_call", ask).await;
            assert_eq!(liquidated.is_ok(), is_liquidatable, "at {price}: {liquidated:?}");
            let (health, again) = told(&reader, "ada", morpho.blue, AssetSide::Collateral, morpho.weth.token).await;
            let stated = morpho.held(&chain, &market, ada, chain.head).await.unwrap().health.unwrap();
            assert!(close(health, stated) && close(again, price), "{health} {stated}, {again} {price}");
        }
    });
}

/// Maker has no view of it: collateral times spot, against debt times rate.
#[test]
fn maker_liquidates_at_the_reported_price() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let (native_feed, dollar) = (price_feed(&mut chain, ETHER_USD), price_feed(&mut chain, 1.02));
        let maker = maker::deploy(&mut chain, ETHER_USD).await.unwrap();
        let (ben, kind) = (wallet("ben"), maker.ether);
        chain.call(ben, maker.manager, &maker::Manager::openCall { ilk: kind.ilk, usr: ben }).await.unwrap();
        let cdp = maker.newest(&chain).await.unwrap();
        let amount = |whole: i64| I256::try_from(whole).unwrap() * I256::try_from(10_i64.pow(18)).unwrap();
        let urn = chain.view(maker.manager, &maker::Manager::urnsCall { cdp }, chain.head).await.unwrap();
        maker.queue_collateral(&mut chain, kind, urn, amount(10));
        let frob = maker::Manager::frobCall { cdp, dink: amount(10), dart: amount(10_000) };
        chain.call(ben, maker.manager, &frob).await.unwrap();
        chain.mine_before_now(600).await.unwrap();
        let setup = Setup {
            native_feed,
            tokens: vec![(maker.dai, 18, dollar)],
            markets: vec![("maker_vaults", "All", maker.vat)],
            chainlog: Some(maker.chainlog),
            ..Setup::default()
        };
        let reader = started(&setup, &chain).await;
        let (_, price) = told(&reader, "ben", maker.vat, AssetSide::Collateral, kind.token).await;
        for ((factor, is_liquidatable), before) in AROUND.into_iter().zip([599, 598]) {
            maker.queue_price(&mut chain, kind, price * factor);
            chain.mine_before_now(before).await.unwrap();
            let held = maker.all(&chain, &[], ben, chain.head).await.unwrap();
            let stated = held.iter().find_map(|held| held.health).unwrap();
            assert_eq!(stated < 1.0, is_liquidatable, "at {price}: {stated}");
            let (health, again) = told(&reader, "ben", maker.vat, AssetSide::Collateral, kind.token).await;
            assert!(close(health, stated) && close(again, price), "{health} {stated}, {again} {price}");
        }
    });
}
