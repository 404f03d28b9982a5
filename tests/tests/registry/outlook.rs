//! What the released models say of changed wallets, over generated wallets of every shape.

use std::{fs, path::Path};

use assay_domain::{
    Factor, MOST_CALLS, Outlook, Reasons, Score, Standing, Step, StepKind, Tried,
    features::{Change, Features, MarketAmount, PriceMove},
    outlook,
};
use assay_registry::{CreditModel, OfKind as _, ScoreError, standalone};
use assay_rollout::cards;
use assay_tests::{features::generate_v2, service::plugins};

/// The released credit models that read positions, and those that do not.
const MODELS: [&str; 5] = ["credit-1.0", "credit-1.1", "credit-1.2", "credit-1.3", "credit-1.4"];
const WALLETS: usize = 1_000;

fn model(name: &str) -> CreditModel {
    let bytes = fs::read(plugins().join(format!("{name}.wasm"))).unwrap();
    CreditModel::of(&standalone(&bytes, &super::lenient()).unwrap()).unwrap()
}

fn said(model: &CreditModel, features: &Features) -> Option<Score> {
    match model.score(features) {
        Ok(found) => Some(found.score),
        Err(ScoreError::Refused(_)) => None,
        Err(error) => panic!("{model:?}: {error}"),
    }
}

/// The same change by one dollar, one day or a tenth of a percent less; `None` if nothing is left of it.
fn less(change: &Change) -> Option<Change> {
    let less = |of: &MarketAmount| (of.usd > 1.0).then(|| MarketAmount { usd: of.usd - 1.0, ..of.clone() });
    match change {
        Change::Repay(of) => less(of).map(Change::Repay),
        Change::Deposit(of) => less(of).map(Change::Deposit),
        Change::Days(days) => days.checked_sub(1).filter(|days| *days > 0).map(Change::Days),
        Change::Price(PriceMove { asset, percent }) => {
            let tenths = (-percent * 10.0).round() - 1.0;
            (tenths > 0.0).then_some(Change::Price(PriceMove { asset: asset.clone(), percent: -tenths / 10.0 }))
        }
        Change::Borrow(_) | Change::Withdraw(_) => panic!("no search proposes {change:?}"),
    }
}

#[test]
fn a_change_applied_and_scored_gives_its_score() {
    let (mut reached, mut minimal, mut not_reached) = (0_u32, 0_u32, 0_u32);
    for name in MODELS {
        let model = model(name);
        for (at, features) in generate_v2(7, WALLETS).iter().enumerate() {
            let Some(score) = said(&model, features) else { continue };
            let ask = |changed: &Features| Ok::<_, ()>(said(&model, changed));
            let found = outlook(features, score, None, ask).unwrap();
            let Outlook { target, raise, floor, lower, calls } = &found;
            assert!(*calls <= MOST_CALLS, "{name} {at}: {calls} calls");
            for step in raise.iter().chain(lower) {
                let is_met = |score: Score| match step.kind {
                    StepKind::PriceFall => floor.is_some_and(|floor| score <= floor),
                    _ => target.is_some_and(|target| score >= target),
                };
                let Step { reaches, minimal: is_minimal, best, .. } = step;
                let Some(Tried { change, score: claimed, health_factor }) = best else {
                    assert!(!reaches, "{name} {at}: {step:?}");
                    continue;
                };
                // As a client sends it back.
                let sent: Change = serde_json::from_str(&serde_json::to_string(change).unwrap()).unwrap();
                let after = features.changed(&sent).unwrap();
                assert_eq!(said(&model, &after), Some(*claimed), "{name} {at}: {step:?}");
                assert_eq!(Standing::of(&after).health_factor, *health_factor, "{name} {at}: {step:?}");
                assert_eq!(is_met(*claimed), *reaches, "{name} {at}: {step:?}");
                if *is_minimal {
                    minimal += 1;
                    let before =
                        less(change).map_or(Some(score), |less| said(&model, &features.changed(&less).unwrap()));
                    assert!(!before.is_some_and(is_met), "{name} {at}: less is enough: {step:?}");
                }
                if *reaches { reached += 1 } else { not_reached += 1 }
            }
        }
    }
    println!("{reached} changes reach their range, {minimal} of them minimal; {not_reached} do not reach it");
    assert!(reached > 1_000 && minimal > 1_000 && not_reached > 100, "{reached} {minimal} {not_reached}");
}

#[test]
fn points_lost_are_base_and_possible_less_the_sum_before_the_clamp() {
    let (mut clamped, mut scored) = (0_u32, 0_u32);
    for name in MODELS {
        let model = model(name);
        let shelf: &Path = &plugins();
        let codes = cards::codes(shelf, model.info(), model.digest(), None).unwrap();
        let base = codes.base().unwrap();
        for (at, features) in generate_v2(8, WALLETS).iter().enumerate() {
            let Ok(found) = model.explained(features) else { continue };
            scored += 1;
            let factors = &found.factors;
            let Reasons { list, clamp, .. } = codes.reasons(factors, Some(&Standing::of(features))).unwrap();
            let sum = factors.iter().fold(base, |sum, factor| sum + factor.points);
            let possible: u32 = factors.iter().map(|factor| factor.words.as_ref().unwrap().possible).sum();
            let lost: u32 = factors.iter().filter_map(Factor::lost).sum();
            assert_eq!(i64::from(lost), i64::from(base) + i64::from(possible) - i64::from(sum), "{name} {at}");
            let stepped = clamp.map_or(0, |clamp| clamp.points);
            assert_eq!(u32::try_from(sum + stepped), Ok(found.score.get()), "{name} {at}: {clamp:?}");
            clamped += u32::from(clamp.is_some());
            assert!(list.iter().all(|reason| reason.points_lost > 0), "{name} {at}: {list:?}");
            assert!(list.is_sorted_by(|one, next| one.points_lost >= next.points_lost), "{name} {at}: {list:?}");
            let losing = factors.iter().filter(|factor| factor.lost() != Some(0)).count();
            assert_eq!(list.len(), losing.min(4), "{name} {at}");
        }
    }
    assert!(scored > 2_000 && clamped > 10, "{scored} scores, {clamped} clamped");
}
