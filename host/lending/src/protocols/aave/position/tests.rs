//! Positions read from the answers of a pool.

use alloy::sol_types::SolCall;

use super::{super::terms::QuoteUnit, *};
use crate::figures::balance::Interest;

fn terms() -> PoolTerms {
    let interest = Interest::of(U256::from(10).pow(U256::from(27)), U256::ZERO).unwrap();
    let token = Address::ZERO;
    let reserve = |byte, decimals| Reserve {
        asset: Address::repeat_byte(byte),
        symbol: "T".into(),
        decimals,
        token,
        debt_token: token,
        stable_debt_token: None,
        rewards: None,
        supply: interest,
        debt: interest,
        rules: ReserveRules::default(),
    };
    PoolTerms {
        version: Version::V3,
        pool: Address::ZERO,
        data_provider: Address::ZERO,
        oracle: Address::ZERO,
        quote: QuoteUnit { asset: None, unit: U256::from(100_000_000) },
        reserves: vec![reserve(1, 18), reserve(2, 6)],
        categories: Vec::new(),
        credit: Vec::new(),
    }
}

fn data(supplied: u128, variable: u128) -> Option<Bytes> {
    let none = U256::ZERO;
    let stamp = alloy::primitives::aliases::U40::ZERO;
    let data = (U256::from(supplied), none, U256::from(variable), none, none, none, none, stamp, false).into();
    Some(getUserReserveDataCall::abi_encode_returns(&data).into())
}

fn prices(prices: [u64; 2]) -> Option<Bytes> {
    Some(getAssetsPricesCall::abi_encode_returns(&prices.map(U256::from).to_vec()).into())
}

#[test]
fn every_token_of_a_reserve_is_part_of_the_position() {
    let mut terms = terms();
    let tokens = [7, 8, 9].map(Address::repeat_byte);
    let [supply, variable, stable] = tokens;
    (terms.reserves[0].token, terms.reserves[0].debt_token) = (supply, variable);
    terms.reserves[0].stable_debt_token = Some(stable);
    let receipts = terms.receipts();
    assert!(tokens.iter().all(|token| receipts.contains(token)), "{receipts:?}");
}

#[test]
fn a_position_is_balances_times_prices() {
    let answers = [data(6_750_000_000_000_000_000, 0), data(0, 1_000_000_000), prices([140_000_000_000, 100_000_000])];
    let held = terms().held(&answers, None).unwrap();
    assert_eq!((held.supplied_usd, held.borrowed_usd, held.supplied_assets), (9_450.0, 1_000.0, 1));
}

#[test]
fn a_pool_says_how_far_a_position_is_from_a_liquidation() {
    let mut answers =
        vec![data(6_750_000_000_000_000_000, 0), data(0, 1_000_000_000), prices([140_000_000_000, 100_000_000])];
    let unread = terms().held(&answers, None).unwrap().parts;
    assert_eq!((unread.threshold, unread.health_factor, unread.lacking), (None, None, true));
    let words = |threshold: u64, factor: U256| {
        let none = U256::ZERO;
        let data = (none, none, none, U256::from(threshold), none, factor).into();
        Some(Bytes::from(getUserAccountDataCall::abi_encode_returns(&data)))
    };
    answers.push(words(8_250, U256::from(7_796_250_000_000_000_000_u64)));
    let parts = terms().held(&answers, None).unwrap().parts;
    assert_eq!((parts.threshold, parts.health_factor, parts.lacking), (Some(0.825), Some(7.79625), false));
    assert_eq!(parts.on(AssetSide::Debt).collect::<Vec<_>>(), [(Address::repeat_byte(2), 1_000.0)]);
    assert_eq!(parts.on(AssetSide::Collateral).count(), 0, "no deposit is enabled as collateral");
    answers[3] = words(0, U256::MAX);
    let parts = terms().held(&answers, None).unwrap().parts;
    assert_eq!((parts.threshold, parts.health_factor, parts.lacking), (None, None, false));
}

#[test]
fn an_oracle_that_quotes_in_an_asset_needs_its_price() {
    let asset = Some(Address::repeat_byte(9));
    let terms = PoolTerms { quote: QuoteUnit { asset, unit: U256::from(SCALE) }, ..terms() };
    let answers = [data(3_000_000_000_000_000_000, 0), data(0, 1_000_000_000), prices([SCALE, SCALE / 2_000])];
    let held = terms.held(&answers, Some(2_000.0)).unwrap();
    assert_eq!((held.supplied_usd, held.borrowed_usd), (6_000.0, 1_000.0));
    assert!(terms.held(&answers, None).is_none());
    assert!(terms.held(&[data(0, 0), data(0, 0), prices([1, 1])], None).is_some());
}

#[test]
fn a_missing_part_is_no_position() {
    assert!(terms().held(&[data(1, 0), None, prices([1, 1])], None).is_none());
    assert!(terms().held(&[data(1, 0), data(0, 0), prices([0, 1])], None).is_none());
    assert!(terms().held(&[data(0, 0), data(0, 0), prices([0, 1])], None).is_some());
}

#[test]
fn what_is_stored_of_a_supply_and_of_a_debt_is_a_balance_without_interest() {
    let stored = |amount: u64| Some(Bytes::from(scaledBalanceOfCall::abi_encode_returns(&U256::from(amount))));
    let mut answers = vec![data(9, 0), data(0, 5), prices([1, 1]), None, stored(7), stored(0)];
    let scaled = |answers: &[Option<Bytes>]| {
        let balances = terms().balances(answers)?.into_iter().filter(|held| matches!(held.asset, Asset::Scaled(_)));
        Some(balances.map(|held| (held.side, i64::try_from(held.amount).unwrap())).collect::<Vec<_>>())
    };
    let sides = [Side::Supply, Side::Supply, Side::Debt, Side::Debt];
    assert_eq!(scaled(&answers), Some(sides.into_iter().zip([7, 0, 0, 0]).collect()));
    answers.pop();
    assert_eq!(scaled(&answers), None);
}

/// A wallet with 2 ether and 3,000 dollars, both as collateral, and a debt of 2,000 dollars.
fn secured(account: (u64, u64), category: u64) -> HeldParts {
    let none = U256::ZERO;
    let data = |supplied: u128, debt: u128| {
        let stamp = alloy::primitives::aliases::U40::ZERO;
        let data = (U256::from(supplied), none, U256::from(debt), none, none, none, none, stamp, true).into();
        Some(Bytes::from(getUserReserveDataCall::abi_encode_returns(&data)))
    };
    let health = U256::from(account.1) * U256::from(SCALE / 1_000);
    let stated = (none, none, none, U256::from(account.0), none, health).into();
    let answers = [
        data(2_000_000_000_000_000_000, 0),
        data(3_000_000_000, 2_000_000_000),
        prices([200_000_000_000, 100_000_000]),
        Some(getUserAccountDataCall::abi_encode_returns(&stated).into()),
        None,
        None,
        Some(getUserEModeCall::abi_encode_returns(&U256::from(category)).into()),
    ];
    let mut terms = terms();
    terms.reserves[0].rules.threshold = Some(8_000);
    terms.reserves[1].rules.threshold = Some(7_500);
    terms.held(&answers, None).unwrap().parts
}

#[test]
fn thresholds_by_asset_explain_what_the_pool_states() {
    let thresholds = |parts: &HeldParts| {
        let collateral = parts.assets.iter().filter(|asset| asset.side == AssetSide::Collateral);
        collateral.map(|asset| asset.liquidation_threshold).collect::<Vec<_>>()
    };
    // (4,000 * 0.8 + 3,000 * 0.75) / 7,000 = 0.77857, and 5,450 over 2,000.
    let parts = secured((7_785, 2_725), 0);
    assert_eq!((thresholds(&parts), parts.mode.clone()), (vec![Some(0.8), Some(0.75)], None));
    assert_eq!(parts.assets.iter().map(|asset| asset.price_usd.unwrap()).collect::<Vec<_>>(), [2_000.0, 1.0, 1.0]);
    // A category that is not known raises both.
    let parts = secured((9_000, 3_150), 5);
    assert_eq!(thresholds(&parts), [None, None]);
    assert_eq!(parts.mode, Some(assay_domain::LendingMode::EMode { category: 5, label: None }));
    assert_eq!((parts.threshold, parts.health_factor), (Some(0.9), Some(3.15)), "as the pool states them");
}
