//! What holds of every wallet there can be.

use credit_1_2::{Verdict, decile, describe, explain, score, table, types};
use proptest::{num::f64::ANY, prelude::*, sample::select, strategy::ValueTree as _};
use types::{ChainFeatures, Coverage, Dollars, Features, MarketFeatures, Position, Refusal};

const AS_OF: u64 = 1_750_000_000;

fn usd() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(0.0), 4 => 0.0..1_000.0, 4 => 0.0..1e7, 1 => ANY,
        1 => select(vec![f64::NAN, f64::INFINITY, -1.0])]
}

fn count() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(prop_oneof![4 => 0u64..5, 2 => 0u64..2_000, 1 => Just(u64::MAX)])
}

fn time() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(prop_oneof![8 => AS_OF - 100_000_000..AS_OF, 1 => any::<u64>()])
}

fn coverage() -> impl Strategy<Value = Coverage> {
    select(vec![Coverage::Complete, Coverage::Complete, Coverage::Partial, Coverage::Pending, Coverage::Failed])
}

fn position() -> impl Strategy<Value = Option<Position>> {
    let figure = || proptest::option::of(prop_oneof![8 => 0.0..5.0, 1 => ANY]);
    proptest::option::of((coverage(), figure(), figure()).prop_map(|(coverage, threshold, factor)| Position {
        coverage,
        collateral: vec![],
        debt: vec![],
        liquidation_threshold: threshold,
        health_factor: factor,
        utilisation: None,
    }))
}

fn market() -> impl Strategy<Value = MarketFeatures> {
    let counts = (count(), count(), count(), count(), count());
    (coverage(), any::<bool>(), counts, (time(), time()), (usd(), usd()), position()).prop_map(
        |(coverage, feeds_score, counts, (first_event, last_liquidation), money, position)| MarketFeatures {
            chain_id: 1,
            protocol: "any lender".into(),
            market: None,
            coverage,
            feeds_score,
            supply: counts.0,
            withdraw: counts.1,
            borrow: counts.2,
            repay: counts.3,
            liquidation: counts.4,
            first_event,
            last_event: first_event,
            last_liquidation,
            supplied_usd: money.0,
            borrowed_usd: money.1,
            events_coverage: Coverage::Failed,
            events: vec![],
            dollars: Dollars { supply: None, withdraw: None, borrow: None, repay: None, liquidation: None },
            liquidation_days: None,
            position,
        },
    )
}

fn chain() -> impl Strategy<Value = ChainFeatures> {
    (coverage(), any::<u64>(), usd(), usd(), usd()).prop_map(|(coverage, transactions, assets, supplied, borrowed)| {
        ChainFeatures {
            chain_id: 1,
            coverage,
            first_transaction: None,
            last_transaction: None,
            transactions,
            transfers: None,
            counterparties: None,
            active_days: None,
            active_hours: None,
            median_gap: None,
            assets_usd: assets,
            supplied_usd: supplied,
            borrowed_usd: borrowed,
        }
    })
}

fn features() -> impl Strategy<Value = Features> {
    features_with(0)
}

prop_compose! {
    fn features_with(least_markets: usize)(
        chains in proptest::collection::vec(chain(), 0..3),
        markets in proptest::collection::vec(market(), least_markets..4),
    ) -> Features {
        Features { as_of: AS_OF, chains, markets, holdings: vec![], identity: vec![] }
    }
}

fn scored(features: &Features) -> Option<u32> {
    score(features).ok().map(|verdict| verdict.score)
}

/// A wallet that takes out its first loan so gets a first score, which compares with nothing.
fn not_above(after: Option<u32>, before: Option<u32>) -> bool {
    after.zip(before).is_none_or(|(after, before)| after <= before)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_score_keeps_to_the_scale_and_its_words_to_its_points(features in features()) {
        match (score(&features), explain(&features)) {
            (Ok(Verdict { score, decile: tenth, points }), Ok(factors)) => {
                prop_assert!((300..=1000).contains(&score));
                prop_assert_eq!(tenth, decile(score));
                prop_assert_eq!((300 + points.iter().sum::<i32>()).clamp(300, 1000), score as i32);
                prop_assert_eq!(factors.iter().map(|factor| factor.points).collect::<Vec<_>>(), points);
                for factor in factors {
                    prop_assert!(factor.points <= factor.possible as i32, "{factor:?}");
                    prop_assert!((1..=500).contains(&factor.description.len()));
                }
            }
            (Err(one), Err(other)) => prop_assert_eq!(one, other),
            (one, other) => prop_assert!(false, "{one:?} against {other:?}"),
        }
    }

    #[test]
    fn the_same_question_has_the_same_answer(features in features()) {
        prop_assert_eq!(score(&features), score(&features.clone()));
    }

    #[test]
    fn a_liquidation_never_raises(features in features_with(1), at in any::<prop::sample::Index>(), when in time()) {
        let (before, mut after) = (scored(&features), features.clone());
        let market = &mut after.markets[at.index(features.markets.len())];
        market.liquidation = Some(market.liquidation.unwrap_or(0).saturating_add(1));
        // A market knows its last liquidation; the new one is not before it.
        market.last_liquidation = market.last_liquidation.max(when);
        let undated = features.markets.iter().any(|m| m.liquidation > Some(0) && m.last_liquidation.is_none());
        prop_assert!(undated || not_above(scored(&after), before), "{before:?} {:?}", scored(&after));
    }

    #[test]
    fn a_repayment_never_lowers(features in features_with(1), at in any::<prop::sample::Index>()) {
        let (before, mut after) = (scored(&features), features.clone());
        let market = &mut after.markets[at.index(features.markets.len())];
        market.repay = Some(market.repay.unwrap_or(0).saturating_add(1));
        market.last_event = Some(AS_OF);
        prop_assert!(not_above(before, scored(&after)));
    }

    #[test]
    fn less_debt_never_lowers(features in features_with(1), at in any::<prop::sample::Index>(), left in 0.0..1.0f64) {
        let (before, mut after) = (scored(&features), features.clone());
        let market = &mut after.markets[at.index(features.markets.len())];
        market.borrowed_usd *= left;
        if let Some(factor) = market.position.as_mut().and_then(|position| position.health_factor.as_mut()) {
            *factor /= left;
        }
        prop_assert!(not_above(before, scored(&after)), "{before:?} {:?}", scored(&after));
        after.chains.iter_mut().for_each(|chain| chain.borrowed_usd *= left);
        prop_assert!(not_above(before, scored(&after)));
    }

    #[test]
    fn what_was_not_read_or_does_not_feed_the_score_does_not_move_it(features in features(), unread in market()) {
        let mut after = features.clone();
        after.markets.push(MarketFeatures { coverage: Coverage::Failed, position: None, ..unread.clone() });
        after.markets.push(MarketFeatures { feeds_score: false, ..unread });
        if let Some(before) = scored(&features) {
            prop_assert_eq!(Some(before), scored(&after));
        }
    }
}

#[test]
fn what_a_wallet_without_a_loan_gets() {
    let nothing = Features { as_of: AS_OF, chains: vec![], markets: vec![], holdings: vec![], identity: vec![] };
    assert_eq!(score(&nothing), Err(Refusal::NoActivity));
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let any = market().new_tree(&mut runner).unwrap().current();
    let deposits = MarketFeatures {
        coverage: Coverage::Complete,
        feeds_score: true,
        supply: Some(1),
        borrow: Some(0),
        repay: Some(0),
        liquidation: Some(0),
        supplied_usd: 10.0,
        borrowed_usd: 0.0,
        position: None,
        ..any
    };
    let with = |market: &MarketFeatures| score(&Features { markets: vec![market.clone()], ..nothing.clone() });
    assert_eq!(with(&deposits).unwrap().score, 919, "without a loan nobody is excellent");
    let unread = MarketFeatures { coverage: Coverage::Failed, ..deposits.clone() };
    assert!(matches!(with(&unread), Err(Refusal::Missing(why)) if why.contains("could be read")));
    // Where loans are not collected, nothing says that there was none.
    assert_eq!(with(&MarketFeatures { borrow: None, ..deposits.clone() }).unwrap().score, 1000);
    let repaid = with(&MarketFeatures { borrow: Some(1), ..deposits.clone() }).unwrap();
    assert_eq!((repaid.score, repaid.decile), (1000, 10));
    let owes = MarketFeatures { supplied_usd: 2_500.0, borrowed_usd: 2_000.0, borrow: Some(1), ..deposits.clone() };
    let at_threshold = with(&owes).unwrap();
    assert_eq!(at_threshold.score, 1000 - (table::LOAD + table::SIZE).round() as u32);
    let yesterday = MarketFeatures { liquidation: Some(1), last_liquidation: Some(AS_OF - 86_400), ..owes };
    assert!(with(&yesterday).unwrap().score < at_threshold.score);
}

#[test]
fn deciles_never_fall() {
    let deciles: Vec<_> = (300..=1000).map(decile).collect();
    assert!(deciles.is_sorted());
    assert_eq!((deciles.first(), deciles.last()), (Some(&1), Some(&10)));
}

#[test]
fn the_constants_are_those_of_the_scorecard() {
    let card: toml::Table = include_str!("../scorecard.toml").parse().unwrap();
    let number = |part: &str, name: &str| {
        let value = &card[part][name];
        value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).unwrap()
    };
    let points = [table::LOAD, table::SIZE, table::EVER, table::RECENCY, table::REPEATED];
    assert_eq!(["load", "size", "ever", "recency", "repeated"].map(|name| number("points", name)), points);
    let constants = [table::THRESHOLD, table::MOST_LOAD, table::DUST, table::LARGE, table::FADE_DAYS];
    assert_eq!(["threshold", "most_load", "dust", "large", "fade_days"].map(|n| number("constants", n)), constants);
    assert_eq!(number("constants", "thin"), table::THIN);
    assert_eq!(number("constants", "undated_days"), table::UNDATED_DAYS);
    assert_eq!(number("constants", "most_liquidations"), table::MOST_LIQUIDATIONS);
    assert_eq!(number("possible", "Current Position") as u32, table::POSITION);
    assert_eq!(number("possible", "Repayment History") as u32, table::REPAYMENT);
    let deciles: Vec<_> =
        card["deciles"].as_array().unwrap().iter().map(|one| one.as_integer().unwrap() as u32).collect();
    assert_eq!(deciles, table::DECILES);
    let rates = card["rate"].as_array().unwrap();
    let rates: Vec<_> =
        rates.iter().map(|rate| ["low", "estimate", "high"].map(|end| rate[end].as_float().unwrap())).collect();
    assert_eq!(rates, table::RATES);
    let claimed = describe().claims.unwrap().rates;
    assert!(claimed.iter().all(|rate| rate.low <= rate.estimate && rate.estimate <= rate.high));
}
