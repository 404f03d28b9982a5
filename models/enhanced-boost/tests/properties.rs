//! What holds of every score and every amount.

use enhanced_boost::{boost, types::OffChain};
use proptest::{num::f64::ANY, prelude::*};

fn boosted(score: u32, total_asset_usd: f64) -> u32 {
    boost(score, &OffChain { total_asset_usd })
}

proptest! {
    #[test]
    fn a_boost_never_lowers_and_never_passes_its_share(score in 300u32..=1000, assets in ANY) {
        let after = boosted(score, assets);
        prop_assert!(after >= score);
        prop_assert!(f64::from(after - score) <= 0.15 * f64::from(1000 - score) + 0.5);
    }

    #[test]
    fn more_assets_never_give_less(score in 300u32..=1000, assets in 0.0..60_000.0, more in 0.0..10_000.0) {
        prop_assert!(boosted(score, assets + more) >= boosted(score, assets));
    }

    #[test]
    fn any_score_at_all_stays_on_the_scale(score: u32, assets in ANY) {
        prop_assert!(boosted(score, assets) <= 1000);
    }
}

#[test]
fn the_contracts_examples() {
    assert_eq!(boosted(700, 50_000.0), 745);
    assert_eq!(boosted(700, 5e9), 745);
    assert_eq!(boosted(847, 50_000.0), 870);
    assert_eq!(boosted(700, 0.0), 700);
    assert_eq!(boosted(1000, 50_000.0), 1000);
}

#[test]
fn halves_go_up() {
    // 15 % of 70 is 10.5, and of 10 is 1.5.
    assert_eq!(boosted(930, 50_000.0), 941);
    assert_eq!(boosted(990, 50_000.0), 992);
}

#[test]
fn what_is_no_money_adds_nothing() {
    for assets in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0] {
        assert_eq!(boosted(500, assets), 500);
    }
}
