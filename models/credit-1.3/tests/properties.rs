//! Properties of the score of any wallet.

use credit_1_3::{Verdict, decile, describe, explain, score, table, types};
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
        let mut features = features;
        let chosen = at.index(features.markets.len());
        let market = &mut features.markets[chosen];
        // A loan that is repaid was taken, and the market that shows the debt counted it.
        (market.coverage, market.borrow, market.feeds_score) = (Coverage::Complete, Some(1), true);
        // A debt of zero in a market whose position could not be read may hide another.
        if let Some(position) = market.position.as_mut().filter(|position| position.coverage == Coverage::Failed) {
            position.coverage = Coverage::Partial;
        }
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
    fn a_position_nearer_to_a_liquidation_never_scores_higher(
        features in features_with(1), at in any::<prop::sample::Index>(), factors in (0.01..20.0f64, 0.01..20.0f64),
    ) {
        let with = |factor: f64| {
            let mut features = features.clone();
            let chosen = at.index(features.markets.len());
            let market = &mut features.markets[chosen];
            market.position = Some(stated(factor));
            scored(&features)
        };
        let (near, far) = if factors.0 < factors.1 { factors } else { (factors.1, factors.0) };
        prop_assert!(not_above(with(near), with(far)), "{:?} {:?}", with(near), with(far));
    }

    #[test]
    fn what_does_not_feed_the_score_does_not_move_it_and_what_was_not_read_never_raises_it(
        features in features(), other in market(),
    ) {
        let with = |market: MarketFeatures| {
            let mut after = features.clone();
            after.markets.push(market);
            scored(&after)
        };
        if let Some(before) = scored(&features) {
            prop_assert_eq!(Some(before), with(MarketFeatures { feeds_score: false, ..other.clone() }));
            let unread = with(MarketFeatures { coverage: Coverage::Failed, position: None, feeds_score: true,
                ..other });
            let average = 1000 - table::UNREAD as u32;
            prop_assert!(unread.is_some_and(|unread| unread <= before.min(average)), "{before} {unread:?}");
        }
    }

    #[test]
    fn a_debt_that_was_not_read_never_scores_as_none(features in features_with(1), at in any::<prop::sample::Index>()) {
        let mut features = features;
        let chosen = at.index(features.markets.len());
        let market = &mut features.markets[chosen];
        (market.feeds_score, market.borrowed_usd) = (true, 0.0);
        market.position = Some(Position { coverage: Coverage::Failed, ..stated(1.0) });
        prop_assert!(scored(&features).is_none_or(|score| score <= 1000 - table::UNREAD as u32));
    }
}

fn stated(health_factor: f64) -> Position {
    Position {
        coverage: Coverage::Complete,
        collateral: vec![],
        debt: vec![],
        liquidation_threshold: Some(0.8),
        health_factor: Some(health_factor),
        utilisation: None,
    }
}

fn empty() -> Features {
    Features { as_of: AS_OF, chains: vec![], markets: vec![], holdings: vec![], identity: vec![] }
}

/// A market with one deposit and no loan, whose position was not read in detail.
fn deposits() -> MarketFeatures {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let any = market().new_tree(&mut runner).unwrap().current();
    MarketFeatures {
        coverage: Coverage::Complete,
        feeds_score: true,
        supply: Some(1),
        borrow: Some(0),
        repay: Some(0),
        liquidation: Some(0),
        supplied_usd: 10_000.0,
        borrowed_usd: 0.0,
        position: None,
        ..any
    }
}

/// `deposits` with a debt at this health factor.
fn owes(health_factor: f64) -> MarketFeatures {
    let position = Some(stated(health_factor));
    MarketFeatures { borrow: Some(1), borrowed_usd: 8_000.0 / health_factor, position, ..deposits() }
}

fn with(market: &MarketFeatures) -> u32 {
    score(&Features { markets: vec![market.clone()], ..empty() }).unwrap().score
}

#[test]
fn all_five_ranges_are_reached_by_a_borrower() {
    let scores: Vec<_> = (16..=400).map(|tenths| with(&owes(f64::from(tenths) / 20.0))).collect();
    assert!(scores.is_sorted(), "{scores:?}");
    let mut ranges: Vec<_> =
        scores.iter().map(|score| [640, 750, 840, 920].iter().filter(|low| score >= *low).count()).collect();
    ranges.dedup();
    assert_eq!(ranges, [0, 1, 2, 3, 4], "{scores:?}");
    assert_eq!(with(&owes(20.0)), 1000);
    let liquidated = MarketFeatures { liquidation: Some(20), last_liquidation: Some(AS_OF), ..owes(0.5) };
    assert!(with(&liquidated) <= with(&owes(0.5)));
    // Utilisation stands in for a health factor that no market states.
    let plain = MarketFeatures { position: None, ..owes(1.5) };
    assert_eq!(with(&plain), with(&owes(1.5)));
}

#[test]
fn borders_have_the_health_factors_and_shares_of_the_scorecard() {
    for border in card()["border"].as_array().unwrap() {
        let (from, factor) = (border["from"].as_integer().unwrap(), border["health_factor"].as_float().unwrap());
        let scored = i64::from(with(&owes(factor)));
        // A hundredth of a health factor is a few points.
        assert!((scored - from).abs() <= 8, "{scored} at {factor} against {from}");
    }
}

#[test]
fn wallets_outside_the_population_get_a_stated_number() {
    assert_eq!(score(&empty()), Err(Refusal::NoActivity));
    assert_eq!(with(&deposits()), 749, "who owes nothing and never borrowed is at most fair");
    let unread = MarketFeatures { coverage: Coverage::Failed, ..deposits() };
    let refused = score(&Features { markets: vec![unread], ..empty() });
    assert!(matches!(refused, Err(Refusal::Missing(why)) if why.contains("could be read")));
    // Loans that are not collected are no known loan.
    assert_eq!(with(&MarketFeatures { borrow: None, repay: None, ..deposits() }), 749);
    let dollars = |borrow| Dollars { borrow, supply: None, withdraw: None, repay: None, liquidation: None };
    let repaid = MarketFeatures { borrow: Some(1), repay: Some(1), dollars: dollars(None), ..deposits() };
    assert_eq!(with(&repaid), 1000, "nothing of it can be liquidated");
    let tiny = MarketFeatures { dollars: dollars(Some(1.0)), ..repaid.clone() };
    assert_eq!(with(&tiny), 749, "a loan of a dollar is none");
    let pending = MarketFeatures { coverage: Coverage::Pending, ..repaid };
    assert_eq!(with(&pending), 1000 - table::UNREAD as u32, "its debt was not read");
    let words = explain(&Features { markets: vec![pending], ..empty() }).unwrap();
    assert!(words[0].description.contains("could be read"), "{words:?}");
}

#[test]
fn deciles_never_fall() {
    let deciles: Vec<_> = (300..=1000).map(decile).collect();
    assert!(deciles.is_sorted());
    assert_eq!((deciles.first(), deciles.last()), (Some(&1), Some(&10)));
}

fn card() -> toml::Table {
    include_str!("../scorecard.toml").parse().unwrap()
}

#[test]
fn the_constants_are_those_of_the_scorecard() {
    let card = card();
    let number = |part: &str, name: &str| {
        let value = &card[part][name];
        value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).unwrap()
    };
    let points = [
        ("bend", table::BEND),
        ("safe", table::SAFE),
        ("near", table::NEAR),
        ("repeated", table::REPEATED),
        ("unread", table::UNREAD),
        ("unread_recency", table::UNREAD_RECENCY),
        ("unread_repeated", table::UNREAD_REPEATED),
    ];
    for (name, value) in points {
        assert_eq!(number("points", name), value, "{name}");
        assert!(value >= 0.0, "{name}");
    }
    let constants = [
        ("threshold", table::THRESHOLD),
        ("most_load", table::MOST_LOAD),
        ("dust", table::DUST),
        ("healthy", table::HEALTHY),
        ("fade_days", table::FADE_DAYS),
        ("undated_days", table::UNDATED_DAYS),
        ("most_liquidations", table::MOST_LIQUIDATIONS),
        ("no_loan", table::NO_LOAN),
    ];
    for (name, value) in constants {
        assert_eq!(number("constants", name), value, "{name}");
    }
    assert_eq!(number("possible", "Current Position") as u32, table::POSITION);
    assert_eq!(number("possible", "Repayment History") as u32, table::REPAYMENT);
    assert_eq!(table::POSITION + table::REPAYMENT, 700);
    let deciles: Vec<_> =
        card["deciles"].as_array().unwrap().iter().map(|one| one.as_integer().unwrap() as u32).collect();
    assert_eq!(deciles, table::DECILES);
    let rates = card["rate"].as_array().unwrap().iter();
    let served = rates.filter(|r| r["population"].as_str() == Some("position") && r["days"].as_integer() == Some(90));
    let served: Vec<_> = served.map(|r| ["low", "estimate", "high"].map(|end| r[end].as_float().unwrap())).collect();
    assert_eq!(served, table::RATES.map(|(_, rate)| rate));
    assert!(table::RATES.is_sorted_by_key(|(range, _)| *range));
    let claims = describe().claims.unwrap();
    assert!(claims.population.len() <= 500 && describe().version == card["version"].as_str().unwrap());
    assert!(claims.rates.iter().all(|rate| rate.low <= rate.estimate && rate.estimate <= rate.high));
}
