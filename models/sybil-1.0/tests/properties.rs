//! What holds of every wallet there can be.

use proptest::prelude::*;
use sybil_1_0::{risk, types};
use types::{ChainFeatures, Coverage, Features};

#[path = "../../credit-1.1/tests/strategy/mod.rs"]
mod strategy;

use strategy::{attestation, features};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_risk_is_within_bounds_and_adds_up(features in features()) {
        let answer = risk(&features);
        prop_assert!(answer.risk <= 100);
        prop_assert_eq!(answer.factors.iter().map(|factor| factor.points).sum::<i32>(), answer.risk.cast_signed());
        prop_assert_eq!(answer.factors.iter().map(|factor| factor.possible).sum::<u32>(), 100);
        for factor in &answer.factors {
            prop_assert!((0..=factor.possible.cast_signed()).contains(&factor.points), "{factor:?}");
            prop_assert!((30..=200).contains(&factor.description.chars().count()), "{factor:?}");
        }
    }

    #[test]
    fn the_same_features_give_the_same_risk(features in features()) {
        prop_assert_eq!(risk(&features), risk(&features.clone()));
    }

    #[test]
    fn one_more_attestation_never_raises(features in features(), one_more in attestation()) {
        let mut more = features.clone();
        more.identity.push(one_more);
        prop_assert!(risk(&more).risk <= risk(&features).risk);
    }

    #[test]
    fn an_older_wallet_is_no_riskier(features in features(), older in 1u64..200_000_000) {
        let mut aged = features.clone();
        for chain in &mut aged.chains {
            chain.first_transaction = chain.first_transaction.map(|at| at.saturating_sub(older));
        }
        prop_assert!(risk(&aged).risk <= risk(&features).risk);
    }

    #[test]
    fn chains_that_failed_do_not_count(features in features(), failed in features()) {
        let mut more = features.clone();
        let unread = |chain| ChainFeatures { coverage: Coverage::Failed, ..chain };
        more.chains.extend(failed.chains.into_iter().map(unread));
        prop_assert_eq!(risk(&more), risk(&features));
    }
}

fn chain() -> ChainFeatures {
    ChainFeatures {
        chain_id: 1,
        coverage: Coverage::Complete,
        first_transaction: Some(1_600_000_000),
        last_transaction: Some(1_767_000_000),
        transactions: 900,
        transfers: Some(1_500),
        counterparties: Some(140),
        active_days: Some(260),
        active_hours: Some(16),
        median_gap: Some(20_000),
        assets_usd: 4_000.0,
        supplied_usd: 0.0,
        borrowed_usd: 0.0,
    }
}

fn wallet(chains: Vec<ChainFeatures>, providers: &[&str]) -> Features {
    let attestation =
        |provider: &&str| types::Attestation { provider: (*provider).into(), issued: None, expires: None, score: None };
    let identity = providers.iter().map(attestation).collect();
    Features { as_of: 1_767_225_600, chains, markets: vec![], holdings: vec![], identity }
}

#[test]
fn a_wallet_that_shows_nothing_has_every_risk() {
    assert_eq!(risk(&wallet(vec![], &[])).risk, 100);
}

#[test]
fn a_verified_lively_wallet_has_none() {
    assert_eq!(risk(&wallet(vec![chain()], &["coinbase", "ens"])).risk, 0);
    assert_eq!(risk(&wallet(vec![chain()], &[])).risk, 25);
}

#[test]
fn a_fresh_wallet_that_never_sleeps_is_a_bot() {
    let bot = ChainFeatures {
        first_transaction: Some(1_767_000_000),
        transactions: 12,
        counterparties: Some(2),
        active_days: Some(1),
        active_hours: Some(24),
        median_gap: Some(9),
        ..chain()
    };
    assert!(risk(&wallet(vec![bot], &[])).risk > 90);
}
