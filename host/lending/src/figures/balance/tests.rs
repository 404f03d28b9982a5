//! Balances that the moves allow, and balances that they do not.

use super::*;
use crate::figures::sums::{Move, Sums};
use assay_domain::Address;

const NOW: u64 = 1_700_000_000;

fn number(number: i64) -> I256 {
    I256::try_from(number).unwrap()
}

fn ray(thousandths: u64) -> U256 {
    RAY / U256::from(1_000) * U256::from(thousandths)
}

fn flow(amounts: &[i64]) -> Flow {
    let mut sums = Sums::default();
    for amount in amounts {
        sums.add(&Move { side: Side::Base, asset: Address::ZERO.into(), amount: number(*amount), fixed_rate: false });
    }
    sums.of(Side::Base, Address::ZERO)
}

fn balance(amount: i64, gains: u64, costs: u64) -> Balance {
    let interest = |thousandths| Interest::of(ray(thousandths), U256::from(NOW));
    Balance {
        amount: number(amount),
        gains: interest(gains),
        costs: interest(costs),
        ..Balance::still(Side::Base, Address::ZERO, U256::ZERO)
    }
}

fn differs(amounts: &[i64], held: i64) -> Option<Difference> {
    balance(held, 1_050, 1_100).differs(flow(amounts), None, NOW)
}

#[test]
fn one_is_a_ray() {
    assert_eq!(RAY, U256::from(10).pow(U256::from(27)));
}

#[test]
fn interest_explains_no_more_than_the_index_grew() {
    for held in [100_000, 99_990, 105_000] {
        assert_eq!(differs(&[100_000], held), None, "{held}");
    }
    assert_eq!(differs(&[100_000], 105_100), Some(Difference::Unexplained));
    assert_eq!(differs(&[100_000], 99_900), Some(Difference::Missing));
    // Interest is also paid on earlier balances.
    assert_eq!(differs(&[100_000, -90_000], 15_000), None);
    assert_eq!(differs(&[100_000, -104_000], 1_000), None);
    assert_eq!(differs(&[100_000, -90_000], 15_100), Some(Difference::Unexplained));
}

#[test]
fn debt_grows_by_an_index_of_its_own() {
    assert_eq!(differs(&[-100_000], -110_000), None);
    assert_eq!(differs(&[-100_000], -110_100), Some(Difference::Missing));
    assert_eq!(differs(&[-100_000], -99_000), Some(Difference::Unexplained));
    assert_eq!(differs(&[-100_000, 300_000], 190_000), None);
}

#[test]
fn nothing_that_moved_explains_nothing() {
    assert_eq!(differs(&[], 0), None);
    assert_eq!(differs(&[], 11), Some(Difference::Unexplained));
    assert_eq!(differs(&[], -11), Some(Difference::Missing));
}

#[test]
fn collateral_is_exact() {
    let held = |amount: u64| {
        Balance::still(Side::Collateral, Address::ZERO, U256::from(amount)).differs(flow(&[50, -20]), None, NOW)
    };
    assert_eq!((held(30), held(31), held(29)), (None, Some(Difference::Unexplained), Some(Difference::Missing)));
}

#[test]
fn a_rate_of_its_own_is_bounded_by_time() {
    let year = 31_557_600;
    let own = Balance { fixed_rate: true, ..balance(270_000, 1_000, 1_000) };
    assert_eq!(own.differs(flow(&[100_000]), Some(NOW - year), NOW), None);
    assert_eq!(own.differs(flow(&[100_000]), Some(NOW - year / 2), NOW), Some(Difference::Unexplained));
    assert_eq!(
        balance(270_000, 1_000, 1_000).differs(flow(&[100_000]), Some(NOW - year), NOW),
        Some(Difference::Unexplained)
    );
}

#[test]
fn an_index_goes_on_after_it_was_told() {
    let later = NOW + 36 * 3_600;
    assert_eq!(balance(101_000, 1_000, 1_000).differs(flow(&[100_000]), None, later), None);
    assert_eq!(balance(102_000, 1_000, 1_000).differs(flow(&[100_000]), None, later), Some(Difference::Unexplained));
}

#[test]
fn what_changes_by_itself_needs_a_reason_at_all() {
    let held = Balance { rebasing: true, ..balance(900, 1_000, 1_000) };
    assert_eq!(held.differs(flow(&[5]), None, NOW), None);
    assert_eq!(held.differs(flow(&[]), None, NOW), Some(Difference::Unexplained));
}

#[test]
fn amounts_beyond_all_tokens_fit_no_position() {
    let sum = flow(&[1]);
    let huge = Flow { net: I256::MAX, high: I256::MAX, ..sum };
    assert_eq!(balance(5, 1_050, 1_050).differs(huge, None, NOW), Some(Difference::Missing));
    let huge = Flow { net: I256::MIN, low: I256::MIN, ..sum };
    assert_eq!(balance(0, 1_050, 1_050).differs(huge, None, NOW), Some(Difference::Unexplained));
}

#[test]
fn an_index_is_a_number_that_grew_from_one() {
    let index = |index| Interest::of(index, U256::from(NOW)).is_some();
    assert!(index(RAY) && index(U256::ZERO) && index(ray(5_000)));
    assert!(!index(RAY - U256::ONE) && !index(U256::MAX) && Interest::of(RAY, U256::MAX).is_none());
}

#[test]
fn a_market_that_nobody_used_for_years_explains_no_borrowing() {
    let years = |years: u64| years * 31_536_000;
    let percent = |percent: u64| RAY / U256::from(100) * U256::from(percent);
    let idle = Interest::of(ray(1_000), U256::from(NOW)).unwrap().paying(percent(2), NOW + years(5));
    let owed = |amount: i64| Balance {
        amount: number(amount),
        gains: Some(idle),
        ..Balance::still(Side::Debt, Address::ZERO, U256::ZERO)
    };
    let differs = |held: i64| owed(held).differs(flow(&[100_000]), None, NOW + years(5));
    // Five years at 2% make a tenth of interest.
    assert_eq!((differs(110_000), differs(110_400)), (None, None));
    assert_eq!(differs(112_000), Some(Difference::Unexplained));
    assert_eq!(differs(1_500_000), Some(Difference::Unexplained));
}

#[test]
fn a_principal_that_old_state_shows_is_exact() {
    let held = Balance { principal: Some(number(500)), ..balance(525, 1_050, 1_100) };
    assert_eq!(held.differs_from(number(500)), None);
    assert_eq!(held.differs_from(number(499)), Some(Difference::Unexplained));
    assert_eq!(held.differs_from(number(501)), Some(Difference::Missing));
    assert_eq!(balance(525, 1_050, 1_100).differs_from(number(1)), None, "the market does not say");
}

#[test]
fn what_a_token_of_debt_at_a_fixed_rate_stores_is_exact() {
    let year = 31_557_600;
    let stored = |amount: u64| Balance::still(Side::Debt, Asset::Fixed(Address::ZERO), U256::from(amount));
    let flow = Flow { fixed_rate: true, ..flow(&[100_000, -40_000]) };
    let differs = |amount| stored(amount).differs(flow, Some(NOW - year), NOW);
    assert_eq!(differs(60_000), None);
    assert_eq!((differs(60_001), differs(59_999)), (Some(Difference::Unexplained), Some(Difference::Missing)));
}
