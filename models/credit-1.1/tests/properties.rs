//! What holds of every wallet there can be.

use credit_1_1::{Assessment, decile, score, types};
use proptest::prelude::*;
use types::{Coverage, Factor, Features, MarketFeatures, Refusal};

mod strategy;

use strategy::features;

fn assess(features: &Features) -> Option<Assessment> {
    score(features).ok()
}

fn points(factors: &[Factor]) -> i64 {
    factors.iter().map(|factor| i64::from(factor.points)).sum()
}

fn moves_the_score(market: &MarketFeatures) -> bool {
    market.feeds_score && market.coverage != Coverage::Failed
}

fn one_more(count: Option<u64>) -> Option<u64> {
    Some(count.unwrap_or(0).saturating_add(1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn an_answer_is_within_bounds_and_adds_up(features in features()) {
        let Some(answer) = assess(&features) else { return Ok(()) };
        prop_assert!((300..=1000).contains(&answer.score));
        prop_assert_eq!(i64::from(answer.score), (300 + points(&answer.factors)).clamp(300, 1000));
        prop_assert_eq!(answer.decile, decile(answer.score));
        let labels: Vec<_> = answer.factors.iter().map(|factor| factor.label.as_str()).collect();
        let expected =
            ["Wallet Age", "Transaction History", "DeFi Activity", "Asset Holdings", "Repayment History"];
        prop_assert_eq!(labels, expected);
        prop_assert_eq!(answer.factors.iter().map(|factor| factor.possible).sum::<u32>(), 700);
        for factor in &answer.factors {
            prop_assert!(i64::from(factor.points) <= i64::from(factor.possible), "{factor:?}");
            prop_assert!(factor.label == "Repayment History" || factor.points >= 0, "{factor:?}");
            prop_assert!((30..=200).contains(&factor.description.chars().count()), "{factor:?}");
            prop_assert!(factor.description.ends_with('.'), "{factor:?}");
        }
    }

    #[test]
    fn the_same_features_give_the_same_answer(features in features()) {
        prop_assert_eq!(score(&features), score(&features.clone()));
    }

    #[test]
    fn one_more_repayment_never_lowers(features in features(), at in any::<prop::sample::Index>()) {
        let mut more = features.clone();
        if more.markets.is_empty() { return Ok(()) }
        let market = at.get_mut(&mut more.markets);
        market.repay = one_more(market.repay);
        let (before, after) = (assess(&features), assess(&more));
        prop_assert!(before.zip(after).is_none_or(|(before, after)| after.score >= before.score));
    }

    #[test]
    fn one_more_liquidation_never_raises(
        features in features(),
        at in any::<prop::sample::Index>(),
        now in any::<bool>(),
    ) {
        let mut more = features.clone();
        if more.markets.is_empty() { return Ok(()) }
        let market = at.get_mut(&mut more.markets);
        market.liquidation = one_more(market.liquidation);
        if now {
            market.last_liquidation = Some(features.as_of);
            market.last_event = Some(features.as_of);
            market.first_event = market.first_event.or(Some(features.as_of));
        }
        let (before, after) = (assess(&features), assess(&more));
        prop_assert!(before.zip(after).is_none_or(|(before, after)| after.score <= before.score));
    }

    #[test]
    fn a_first_liquidation_costs_points(
        features in features(),
        at in any::<prop::sample::Index>(),
        ago in 0u64..500_000_000,
    ) {
        let mut clean = features;
        for market in &mut clean.markets {
            market.liquidation = market.liquidation.map(|_| 0);
        }
        let mut liquidated = clean.clone();
        if liquidated.markets.is_empty() { return Ok(()) }
        let market = at.get_mut(&mut liquidated.markets);
        if !moves_the_score(market) { return Ok(()) }
        market.liquidation = Some(1);
        market.last_liquidation = Some(clean.as_of.saturating_sub(ago));
        let (clean, liquidated) = (assess(&clean).unwrap(), assess(&liquidated).unwrap());
        prop_assert!(points(&liquidated.factors) < points(&clean.factors));
        prop_assert!(clean.score == 300 || liquidated.score < clean.score);
    }

    #[test]
    fn an_older_liquidation_costs_no_more(features in features(), older in 1u64..100_000_000) {
        let mut faded = features.clone();
        for market in &mut faded.markets {
            market.last_liquidation = market.last_liquidation.map(|at| at.saturating_sub(older));
        }
        let (before, after) = (assess(&features), assess(&faded));
        prop_assert!(before.zip(after).is_none_or(|(before, after)| after.score >= before.score));
    }

    #[test]
    fn markets_that_must_not_count_do_not(features in features(), other in features()) {
        let with = |extra: &[MarketFeatures]| {
            let mut features = features.clone();
            features.markets.retain(moves_the_score);
            // Something readable, so that neither side is refused.
            features.chains.iter_mut().for_each(|chain| chain.coverage = Coverage::Complete);
            features.markets.extend_from_slice(extra);
            features
        };
        let ignored: Vec<_> = other.markets.iter().filter(|market| !moves_the_score(market)).cloned().collect();
        if features.chains.is_empty() { return Ok(()) }
        prop_assert_eq!(score(&with(&[])), score(&with(&ignored)));
    }

    #[test]
    fn what_is_not_collected_counts_as_nothing_seen(features in features()) {
        let mut zeros = features.clone();
        for market in &mut zeros.markets {
            let MarketFeatures { supply, withdraw, borrow, repay, liquidation, .. } = market;
            for count in [supply, withdraw, borrow, repay, liquidation] {
                *count = Some(count.unwrap_or(0));
            }
        }
        prop_assert_eq!(assess(&features).map(|a| a.score), assess(&zeros).map(|a| a.score));
    }

    #[test]
    fn only_the_wholly_unreadable_is_refused(features in features()) {
        let sources = features.chains.iter().map(|c| c.coverage).chain(features.markets.iter().map(|m| m.coverage));
        let all_failed = sources.clone().count() > 0 && sources.clone().all(|coverage| coverage == Coverage::Failed);
        prop_assert_eq!(matches!(score(&features), Err(Refusal::Missing(_))), all_failed);
        prop_assert!(!matches!(score(&features), Err(Refusal::NoActivity)));
    }
}

#[test]
fn a_wallet_with_nothing_scores_lowest() {
    let nothing =
        Features { as_of: 1_767_225_600, chains: vec![], markets: vec![], holdings: vec![], identity: vec![] };
    let answer = score(&nothing).unwrap();
    assert_eq!((answer.score, answer.decile), (300, 1));
    assert!(answer.factors.iter().all(|factor| factor.points == 0));
}

#[test]
fn deciles_never_fall() {
    let deciles: Vec<_> = (300..=1000).map(decile).collect();
    assert!(deciles.is_sorted());
    assert_eq!((deciles.first(), deciles.last()), (Some(&1), Some(&10)));
    assert_eq!((decile(0), decile(u32::MAX)), (1, 10));
}
