//! Health factors at the head: that of each wallet is what the protocol's own view says of its account. The worlds of
//! Morpho Blue and Maker compare theirs with every figure; `positions` does for Aave v3.

use alloy::primitives::{Address, U256};
use alloy::sol;
use assay_domain::Position;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::{Small, comet, ctoken};

use super::super::Reader;
use super::{aave_v2, comet as comets, ctoken as ctokens, venus};

sol! {
    struct AssetInfo { uint8 offset; address asset; address priceFeed; uint64 scale; uint64 borrowFactor;
        uint64 liquidateFactor; uint64 liquidationFactor; uint128 supplyCap; }
    function getAssetInfo(uint8 i) external view returns (AssetInfo info);
    function getPrice(address feed) external view returns (uint256 price);
    function getUserAccountData(address user) external view returns (uint256 collateral, uint256 debt,
        uint256 available, uint256 threshold, uint256 ltv, uint256 healthFactor);
}

/// Collateral at its thresholds divided by debt, as the protocol states it; `None` without debt.
type Stated = Option<f64>;

/// Compares the health factors of `names` in `markets`, which share an account, with `stated`.
async fn same(
    what: &str,
    reader: Reader,
    markets: &[Address],
    names: &[&str],
    stated: impl AsyncFn(Address) -> Stated,
) {
    let (reader, mut indebted) = (reader.started().await, 0);
    for name in names {
        let read = reader.read(wallet(name)).await;
        let in_account = |position: &&Position| markets.contains(&position.market_address);
        let own: Vec<_> = read.chains[0].positions.iter().filter(in_account).collect();
        let stated = stated(wallet(name)).await;
        assert!(stated.is_none() || !own.is_empty(), "{what}: {name} has no position");
        for position in own {
            let is_same = match (position.health_factor, stated) {
                (Some(told), Some(stated)) => told >= 0.0 && (told - stated).abs() < 1e-6 * stated.max(1.0),
                (told, stated) => told == stated,
            };
            assert!(is_same, "{what}: {name}, {:?} instead of {stated:?}", position.health_factor);
        }
        indebted += usize::from(stated.is_some());
    }
    assert!(indebted > 0, "{what}: no wallet has a debt");
}

/// The sums of `isLiquidatable`, whose answer they must explain.
async fn of_comet(chain: &Small, market: &comet::Market, account: Address) -> Stated {
    let (at, head) = (market.comet, chain.head);
    let price = async |feed: Address| chain.view(at, &getPriceCall { feed }, head).await.unwrap();
    let held = market.balances(chain, account, head).await.unwrap();
    let scale = U256::from(10).pow(U256::from(market.decimals));
    let owed = held.borrowed * price(market.base).await / scale;
    let mut worth = U256::ZERO;
    for (i, amount) in (0..).zip(held.collateral) {
        let info = chain.view(at, &getAssetInfoCall { i }, head).await.unwrap();
        let value = amount * price(info.priceFeed).await / U256::from(info.scale);
        worth += value * U256::from(info.liquidateFactor) / U256::from(1_000_000_000_000_000_000_u64);
    }
    let ask = comet::Comet::isLiquidatableCall { account };
    assert_eq!(chain.view(at, &ask, head).await.unwrap(), worth < owed);
    (!held.borrowed.is_zero()).then(|| f64::from(worth) / f64::from(owed))
}

/// What the Comptroller has left of the collateral after the debt, and the debts of `markets` in dollars.
async fn of_comptroller(chain: &Small, comptroller: Address, markets: &[&ctoken::Market], account: Address) -> Stated {
    let ask = ctoken::Comptroller::getAccountLiquidityCall { account };
    let told = chain.view(comptroller, &ask, chain.head).await.unwrap();
    let mut owed = 0.0;
    for market in markets {
        owed += market.held(chain, account).await.unwrap().1;
    }
    let left = (f64::from(told.liquidity) - f64::from(told.shortfall)) / 1e18;
    (owed > 0.0).then(|| (owed + left) / owed)
}

#[test]
fn health_factors_at_the_head_are_those_of_the_protocols_own_views() {
    aave_v2::with(async |world| {
        let pool = world.market.pool;
        let stated = async |user: Address| {
            let told = world.chain.view(pool, &getUserAccountDataCall { user }, world.chain.head).await.unwrap();
            (told.healthFactor != U256::MAX).then(|| f64::from(told.healthFactor) / 1e18)
        };
        same("Aave v2", world.reader(), &[pool], &["bank", "ada", "ben", "ivan", "gwen", "lea"], stated).await;
    });
    comets::with(async |world| {
        for market in [&world.dollars, &world.ether] {
            let stated = async |account| of_comet(&world.chain, market, account).await;
            same("Comet", world.reader(), &[market.comet], &["ada", "ben", "cleo", "dora", "mona", "nils"], stated)
                .await;
        }
    });
    ctokens::with(async |world| {
        let markets = world.compound.markets();
        let stated = async |account| of_comptroller(&world.chain, world.compound.comptroller, &markets, account).await;
        let addresses = markets.map(|market| market.ctoken);
        same("Compound v2", world.reader(), &addresses, &["ada", "ben", "cleo", "dora", "emil"], stated).await;
    });
    venus::with(async |world| {
        let markets = world.venus.markets();
        let stated = async |account| of_comptroller(&world.chain, world.venus.comptroller, &markets, account).await;
        let addresses = markets.map(|market| market.ctoken);
        same("Venus", world.reader(), &addresses, &["ada", "ben", "cleo", "dora", "finn"], stated).await;
    });
}
