//! Liquidations, and reorganisations that replace them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{MINUTE, Watched, hash, sample, trigger, words};
use crate::{
    reading::{Liquidated, LiquidationLog, Reading, Sample},
    series::{Change, What},
    trigger::Measure,
};
use assay_domain::time_from_unix;

#[test]
fn each_liquidation_is_told_once_and_retracted_if_it_is_gone() {
    let mut watch = Watched::new(trigger(Measure::Liquidation, None));
    let see = |watch: &mut Watched, count: f64| {
        let dated = |hours| Liquidated { at: time_from_unix(hours * 3_600), usd: None, log: None };
        let liquidations = (1..=count as u64).rev().map(dated).collect();
        watch.see(Reading::Read(Sample { liquidations, ..sample(count, watch.step) }))
    };
    assert!(see(&mut watch, 1.0).is_empty(), "it was liquidated before the watch");
    let told = see(&mut watch, 3.0);
    let hours = |what: &What| match what {
        What::Liquidated { liquidation: Some(found), .. } => found.at.timestamp() / 3_600,
        other => panic!("{other:?}"),
    };
    assert_eq!(told.iter().map(hours).collect::<Vec<_>>(), [2, 3]);
    assert!(see(&mut watch, 3.0).is_empty());
    assert_eq!(words(&see(&mut watch, 2.0)), ["retracted"]);
    assert_eq!(words(&see(&mut watch, 3.0)), ["liquidated"]);
}

/// A liquidation of so many dollars, in the block with this number.
fn liquidation(dollars: u64, block: u64) -> Liquidated {
    let log = LiquidationLog { block, block_hash: hash(block), transaction: hash(1_000 + dollars) };
    Liquidated { at: time_from_unix(block * MINUTE), usd: Some(dollars as f64), log: Some(log) }
}

/// A reading of these liquidations, the oldest first.
fn liquidations(step: u64, all: impl IntoIterator<Item = Liquidated>) -> Reading {
    let mut liquidations: Vec<_> = all.into_iter().collect();
    liquidations.reverse();
    let counted = sample(liquidations.len() as f64, step);
    Reading::Read(Sample { liquidations, ..counted })
}

#[test]
fn a_liquidation_that_a_reorganisation_replaces_is_retracted() {
    let dollars = |told: &[What]| -> Vec<_> {
        let usd = |what: &What| match what {
            What::Liquidated { liquidation, .. } => liquidation.as_ref().and_then(|found| found.usd),
            _ => None,
        };
        told.iter().map(usd).collect()
    };
    // After both were reported, their block is orphaned, and the new chain has these.
    let after = |chain: &[Liquidated]| {
        let mut watch = Watched::new(trigger(Measure::Liquidation, None));
        watch.see(liquidations(0, []));
        let told = watch.see(liquidations(1, [liquidation(100, 101), liquidation(200, 102)]));
        assert_eq!(dollars(&told), [Some(100.0), Some(200.0)]);
        watch.chains.orphaned.insert(hash(1));
        let told = watch.see(liquidations(2, chain.iter().cloned()));
        assert!(watch.see(liquidations(3, chain.iter().cloned())).is_empty(), "it is reported once");
        watch.chains.settled.insert(1, 3);
        watch.observe(liquidations(4, chain.iter().cloned()));
        assert_eq!(watch.state.open_blocks().count(), 0, "each event becomes final, or is retracted");
        (words(&told), dollars(&told))
    };
    let (retracted, one) = (("retracted", None), |dollars| ("liquidated", Some(dollars)));
    let undated = |dollars, block| Liquidated { log: None, ..liquidation(dollars, block) };
    for (chain, expected) in [
        (vec![liquidation(100, 101), liquidation(200, 102)], vec![]),
        (vec![liquidation(700, 101), liquidation(200, 102)], vec![retracted, retracted, one(700.0), one(200.0)]),
        (vec![liquidation(100, 101), liquidation(700, 102)], vec![retracted, one(700.0)]),
        // The same transaction in another block.
        (vec![liquidation(100, 101), liquidation(200, 103)], vec![retracted, one(200.0)]),
        (vec![liquidation(100, 101)], vec![retracted]),
        (vec![], vec![retracted, retracted]),
        (vec![undated(100, 101), undated(200, 102)], vec![retracted, retracted, one(100.0), one(200.0)]),
    ] {
        let expected: (Vec<_>, Vec<_>) = expected.into_iter().unzip();
        assert_eq!(after(&chain), expected, "{chain:?}");
    }
}

proptest! {
    #[test]
    fn the_liquidations_that_stand_are_those_of_the_chain(
        steps in prop::collection::vec((0..4_u64, 0..4_usize, 0..3_u64), 1..12)
    ) {
        let mut watch = Watched::new(trigger(Measure::Liquidation, None));
        // Each with the evaluation that found it. The first one was before the watch.
        let mut chain = vec![(0, liquidation(1, 0))];
        let mut standing = BTreeMap::new();
        let read = |step, chain: &[(u64, Liquidated)]| liquidations(step, chain.iter().map(|(_, one)| one.clone()));
        watch.observe(read(0, &chain));
        for (depth, removed, added) in steps {
            let now = watch.step;
            let from = now.saturating_sub(depth).max(1);
            watch.chains.orphaned.extend((from..now).map(hash));
            let firm = chain.iter().filter(|(found, _)| *found < from).count();
            chain.truncate(chain.len().saturating_sub(removed).max(firm));
            chain.extend((0..added).map(|more| (now, liquidation(10 * now + more + 2, now))));
            for Change { seq, what } in watch.observe(read(now, &chain)).changes {
                match what {
                    What::Liquidated { liquidation, .. } => _ = standing.insert(seq, liquidation),
                    What::Retracted { seq, .. } => prop_assert!(standing.remove(&seq).is_some()),
                    other => return Err(TestCaseError::fail(format!("{other:?}"))),
                }
            }
            let expected: Vec<_> = chain.iter().skip(1).map(|(_, one)| Some(one.clone())).collect();
            prop_assert_eq!(standing.values().cloned().collect::<Vec<_>>(), expected);
            prop_assert!(!watch.chains.has_orphan(&watch.state.open_blocks().copied().collect::<Vec<_>>()));
        }
        watch.chains.settled.insert(1, u64::MAX);
        let settled = watch.observe(read(watch.step, &chain)).settled;
        prop_assert_eq!(settled, standing.into_keys().collect::<Vec<_>>());
    }
}
