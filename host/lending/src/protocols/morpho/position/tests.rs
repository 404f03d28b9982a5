//! Positions read from answers, and answers without a position.

use alloy::sol_types::SolValue;

use assay_domain::{Price, PriceSource};

use super::*;

const USDC: Address = Address::repeat_byte(1);
const WETH: Address = Address::repeat_byte(2);
const ODD: Address = Address::repeat_byte(3);
const NOW: u64 = 1_700_000_000;

fn number(number: u64) -> U256 {
    U256::from(number)
}

/// A million borrowed of two million, a million shares for each smallest unit, without interest.
fn market() -> Market {
    Market {
        totalSupplyAssets: 2_000_000,
        totalSupplyShares: 2_000_000_000_000,
        totalBorrowAssets: 1_000_000,
        totalBorrowShares: 1_000_000_000_000,
        lastUpdate: u128::from(NOW),
        fee: 0,
    }
}

/// A position in dollars, with a threshold of 0.8 for `collateral`.
fn position(id: u8, collateral_token: Address, shares: (u64, u64), collateral: u64) -> MorphoPosition {
    let params = MarketParams {
        loanToken: USDC,
        collateralToken: collateral_token,
        oracle: Address::repeat_byte(0x0c),
        irm: Address::repeat_byte(0x1a),
        lltv: WAD * number(8) / number(10),
    };
    MorphoPosition {
        id: B256::repeat_byte(id),
        params,
        market: market(),
        supply_shares: number(shares.0),
        borrow_shares: number(shares.1),
        collateral: number(collateral),
    }
}

fn used(positions: Vec<MorphoPosition>) -> UsedMarkets {
    UsedMarkets { positions, now: NOW, priced: [(USDC, Some(0)), (WETH, Some(0))].into() }
}

fn prices() -> Prices {
    let price = |usd| Price { usd, source: PriceSource::Feed };
    [(Some(USDC), price(1.0)), (Some(WETH), price(2.0))].into_iter().collect()
}

fn answer(number: U256) -> Option<Bytes> {
    Some(number.abi_encode().into())
}

#[test]
fn the_nearest_market_gives_the_health_factor() {
    let used = used(vec![
        position(1, WETH, (0, 40_000_000), 100),
        position(2, WETH, (0, 10_000_000), 100),
        position(3, WETH, (7_000_000, 0), 0),
    ]);
    assert_eq!(used.calls(Address::ZERO).len(), 2, "the prices of two collaterals");
    let double = ORACLE_SCALE * number(2);
    let held = used.held_at(&[answer(double), answer(double)], &prices()).unwrap();
    assert_eq!((held.supplied_usd, held.borrowed_usd, held.supplied_assets), (407.0, 50.0, 2));
    assert_eq!(held.parts.health_factor, Some(4.0));
    assert_eq!(held.parts.threshold, Some(0.8));
    // The oracle says 2 of the loan token, although the collateral costs more elsewhere.
    let assets: Vec<_> = held.parts.assets.iter().map(|asset| (asset.side, asset.tokens(), asset.price_usd)).collect();
    let expected = [(AssetSide::Debt, 40.0, Some(1.0)), (AssetSide::Collateral, 100.0, Some(2.0))];
    assert_eq!(assets[..2], expected);
    assert_ne!(held.parts.assets[0].account, held.parts.assets[2].account, "each market for itself");
    let held = used.held_at(&[answer(double), None], &prices()).unwrap();
    assert_eq!((held.parts.lacking, held.parts.health_factor), (true, None), "the other may be nearer");
}

#[test]
fn a_part_of_a_position_is_none() {
    let owing = used(vec![position(1, ODD, (0, 40_000_000), 100)]);
    let price = [answer(ORACLE_SCALE)];
    assert_eq!(owing.held_at(&price, &prices()), None, "collateral without a price that secures a debt");
    assert_eq!(owing.held_at(&price, &Prices::default()), None, "a debt without a price");
    let free = used(vec![position(1, ODD, (0, 0), 100)]).held_at(&[], &prices()).unwrap();
    assert_eq!((free.supplied_usd, free.parts.unpriced, free.supplied_assets), (0.0, vec![ODD], 1));
    let mut accruing = position(1, WETH, (0, 40_000_000), 100);
    accruing.market.lastUpdate -= 100;
    let accruing = used(vec![accruing]);
    assert_eq!(accruing.calls(Address::ZERO).len(), 2);
    assert_eq!(accruing.held_at(&[None, price[0].clone()], &prices()), None, "a debt without its interest");
}

#[test]
fn contracts_that_anybody_chose_are_not_called_for_what_others_supplied() {
    let mut stranger = position(1, ODD, (5, 0), 100);
    stranger.params.loanToken = ODD;
    stranger.params.irm = Address::ZERO;
    assert!(used(vec![stranger]).calls(Address::ZERO).is_empty());
}

#[test]
fn balances_are_exact_shares() {
    let used = used(vec![position(1, WETH, (7, 9), 100)]);
    let balances = used.balances(&[]).unwrap();
    let held: Vec<_> = balances.iter().map(|balance| (balance.side, i64::try_from(balance.amount).unwrap())).collect();
    assert_eq!(held, [(Side::Supply, 7), (Side::Debt, 9), (Side::Collateral, 100)]);
    let flow = crate::figures::sums::Sums::default().of(Side::Supply, Asset::Shares(B256::repeat_byte(1)));
    assert!(balances[0].differs(flow, None, NOW).is_some());
    assert_eq!(used.token(Side::Debt, Asset::Market(B256::repeat_byte(1))), Some((USDC, 1.0)));
    assert_eq!(used.token(Side::Collateral, Asset::Market(B256::repeat_byte(1))), Some((WETH, 1.0)));
    assert_eq!(used.token(Side::Debt, Asset::Shares(B256::repeat_byte(1))), None);
}
