//! What holds of every boost.

use enhanced_boost_1_1::{boost, types::OffChain};
use proptest::{num::f64::ANY, prelude::*};

fn boosted(score: u32, total_asset_usd: f64) -> u32 {
    boost(score, &OffChain { total_asset_usd })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn never_more_than_fifteen_hundredths_of_the_gap(score in 300_u32..=1000, assets in ANY) {
        let raised = boosted(score, assets) - score;
        prop_assert!(raised * 100 <= 15 * (1000 - score), "{raised}");
    }

    #[test]
    fn more_assets_never_lower_a_score(score in 300_u32..=1000, assets in 0.0..60_000.0, more in 0.0..60_000.0) {
        prop_assert!(boosted(score, assets + more) >= boosted(score, assets));
    }

    #[test]
    fn whole_dollars_are_exact(score in 300_u32..=1000, dollars in 0_u32..=60_000) {
        let exact = u64::from(15 * (1000 - score)) * u64::from(dollars.min(50_000)) / (100 * 50_000);
        prop_assert_eq!(u64::from(boosted(score, f64::from(dollars)) - score), exact);
    }
}

#[test]
fn the_rule_of_the_contract() {
    for (score, assets, expected) in [
        (700, 50_000.0, 745),
        (700, 10_000.0, 709),
        (668, 50_000.0, 717),
        (668, 1e300, 717),
        (999, 50_000.0, 999),
        (1000, 50_000.0, 1000),
        (1200, 50_000.0, 1000),
        (300, 0.0, 300),
        (300, -5.0, 300),
        (300, f64::NAN, 300),
        (300, f64::INFINITY, 300),
    ] {
        assert_eq!(boosted(score, assets), expected, "{score} with {assets}");
    }
}
