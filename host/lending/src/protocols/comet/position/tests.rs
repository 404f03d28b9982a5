//! Positions read from answers of contracts, and answers without a position.

use alloy::sol_types::SolCall;

use super::{super::terms::Collateral, *};

const ETHER: u64 = 1_000_000_000_000_000_000;

fn terms() -> CometTerms {
    let asset = Collateral {
        token: Address::repeat_byte(2),
        feed: Address::repeat_byte(3),
        scale: U256::from(ETHER),
        factor: 850_000_000_000_000_000,
    };
    CometTerms {
        market: Address::ZERO,
        base: Address::repeat_byte(1),
        base_feed: Address::repeat_byte(4),
        base_scale: U256::from(1_000_000),
        interest: None,
        assets: vec![asset],
    }
}

fn number(number: u64) -> Option<Bytes> {
    Some(getPriceCall::abi_encode_returns(&U256::from(number)).into())
}

fn answers(supplied: u64, borrowed: u64, base: u64, collateral: u64, price: u64) -> [Option<Bytes>; 6] {
    let balance = userCollateralReturn { balance: u128::from(collateral), reserved: 0 };
    let balance = Some(userCollateralCall::abi_encode_returns(&balance).into());
    [number(supplied), number(borrowed), number(base), None, balance, number(price)]
}

fn summary(held: Option<Held>) -> Option<(f64, f64, u32)> {
    held.map(|held| (held.supplied_usd, held.borrowed_usd, held.supplied_assets))
}

#[test]
fn a_market_in_dollars_and_a_market_in_its_base_asset() {
    // 2 ether of collateral at 2,000 dollars, and a debt of 1,000 tokens.
    let dollars = answers(0, 1_000_000_000, ONE, 2 * ETHER, 2_000 * ONE);
    assert_eq!(summary(terms().held(&dollars, Some(1.0))), Some((4_000.0, 1_000.0, 1)));
    // 2 of collateral at 1.5 of the base asset, whose price is 2,000 dollars.
    let base = answers(3_000_000, 0, ONE, 2 * ETHER, 3 * ONE / 2);
    assert_eq!(summary(terms().held(&base, Some(2_000.0))), Some((12_000.0, 0.0, 2)));
}

#[test]
fn a_health_factor_is_collateral_at_its_factor_over_debt() {
    let held = terms().held(&answers(0, 1_000_000_000, ONE, 2 * ETHER, 2_000 * ONE), Some(1.0)).unwrap();
    assert_eq!((held.parts.threshold, held.parts.health_factor), (Some(0.85), Some(3.4)));
    let on = |side| held.parts.on(side).collect::<Vec<_>>();
    assert_eq!(on(AssetSide::Collateral), [(Address::repeat_byte(2), 4_000.0)]);
    assert_eq!(on(AssetSide::Debt), [(Address::repeat_byte(1), 1_000.0)]);
    let supplied = terms().held(&answers(3_000_000, 0, ONE, 0, ONE), Some(1.0)).unwrap();
    assert_eq!((supplied.parts.threshold, supplied.parts.health_factor), (None, None));
}

#[test]
fn each_asset_has_the_price_of_the_market() {
    // The feeds quote in dollars: the base asset at 1.01. Elsewhere it costs 1.
    let held = terms().held(&answers(0, 1_000_000_000, 101 * ONE / 100, 2 * ETHER, 2_000 * ONE), Some(1.0)).unwrap();
    let prices: Vec<_> = held.parts.assets.iter().map(|asset| (asset.side, asset.price_usd.unwrap())).collect();
    assert_eq!(prices, [(AssetSide::Debt, 1.01), (AssetSide::Collateral, 2_000.0)]);
    let amounts: Vec<_> = held.parts.assets.iter().map(|asset| asset.tokens()).collect();
    assert_eq!(amounts, [1_000.0, 2.0]);
    assert_eq!(held.parts.assets[1].liquidation_threshold, Some(0.85));
    // They quote in the base asset, which costs 2,000 dollars.
    let held = terms().held(&answers(0, 1_000_000, ONE, 2 * ETHER, 3 * ONE / 2), Some(2_000.0)).unwrap();
    assert_eq!(
        held.parts.assets.iter().map(|asset| asset.price_usd).collect::<Vec<_>>(),
        [Some(2_000.0), Some(3_000.0)]
    );
}

#[test]
fn without_a_price_of_the_base_asset_only_dollars_can_be_told() {
    assert_eq!(summary(terms().held(&answers(1_000_000, 0, ONE / 2, 0, 1), None)), Some((0.5, 0.0, 1)));
    assert_eq!(summary(terms().held(&answers(1_000_000, 0, ONE, 0, 1), None)), None);
    assert_eq!(summary(terms().held(&answers(0, 0, 0, 0, 0), None)), Some((0.0, 0.0, 0)));
}

#[test]
fn a_missing_part_is_no_position() {
    let mut missing = answers(1_000_000, 0, 2 * ONE, 5, ONE);
    missing[5] = None;
    assert_eq!(summary(terms().held(&missing, Some(1.0))), None);
    assert_eq!(summary(terms().held(&answers(1, 0, 0, 0, 0), Some(1.0))), None);
    missing[4] = None;
    assert_eq!(summary(terms().held(&missing, Some(1.0))), None);
}
