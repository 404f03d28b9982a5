use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::{
    reading::{Liquidated, LiquidationLog, Sample},
    trigger::{Limit, Measure, range_rank},
};
use assay_domain::{B256, ModelVersion, Score, time_from_unix};

const MINUTE: u64 = 60;

fn trigger(measure: Measure, limit: Option<Limit>) -> Trigger {
    Trigger { measure, market: None, model_version: None, horizon_days: None, limit }
}

fn below(at: f64, clear: f64) -> Trigger {
    trigger(Measure::HealthFactor, Some(Limit::Below { at, clear }))
}

fn sample(value: f64, step: u64) -> Sample {
    let block = ReadBlock { chain_id: 1, number: step, hash: hash(step) };
    let at = time_from_unix(step * MINUTE);
    Sample { value: Some(value), at, blocks: vec![block], version: None, score: None, liquidations: Vec::new() }
}

fn hash(step: u64) -> B256 {
    B256::left_padding_from(&step.to_be_bytes())
}

/// A trigger under test, evaluated once a minute.
struct Watched {
    trigger: Trigger,
    state: TriggerState,
    past: Vec<PastEvent>,
    next: u64,
    step: u64,
    fires_at_once: bool,
    chains: ChainFacts,
}

impl Watched {
    fn new(trigger: Trigger) -> Self {
        let chains = ChainFacts::default();
        let (state, past) = (TriggerState::default(), Vec::new());
        Self { trigger, state, past, next: 1, step: 0, fires_at_once: false, chains }
    }

    fn see(&mut self, reading: Reading) -> Vec<What> {
        self.observe(reading).changes.into_iter().map(|change| change.what).collect()
    }

    fn observe(&mut self, reading: Reading) -> Observed {
        let readings = Readings::from([(String::new(), reading)]);
        let round = Round {
            readings: &readings,
            now: time_from_unix(self.step * MINUTE),
            since: time_from_unix(0),
            stale_after: TimeDelta::minutes(10),
            fires_at_once: self.fires_at_once,
            chains: &self.chains,
        };
        // As between two evaluations, the state is a stored record.
        let stored = serde_json::to_vec(&self.state).unwrap();
        self.state = serde_json::from_slice(&stored).unwrap();
        let past = past::settle(&mut self.past, &self.chains, &mut self.next);
        let mut observed = self.state.observe(&self.trigger, &round, &mut self.past, &mut self.next);
        observed.changes.splice(0..0, past.retracted.into_iter().map(|(_, change)| change));
        observed.settled.extend(past.settled);
        observed.unchecked.extend(past.unchecked);
        self.step += 1;
        observed
    }

    /// The owner changes the bounds.
    fn replace(&mut self) {
        self.state.begin_anew(&self.trigger, &mut self.past);
    }

    fn value(&mut self, value: f64) -> Vec<What> {
        self.see(Reading::Read(sample(value, self.step)))
    }

    fn unread(&mut self) -> Vec<What> {
        self.see(Reading::Unread("position on chain 1: no endpoint answers".to_owned()))
    }
}

/// What was told, without its values.
fn words(told: &[What]) -> Vec<&'static str> {
    told.iter()
        .map(|what| match what {
            What::Crossed { .. } => "crossed",
            What::Cleared { .. } => "cleared",
            What::RangeChanged { .. } => "range",
            What::Liquidated { .. } => "liquidated",
            What::Stale { .. } => "stale",
            What::Current { .. } => "current",
            What::ModelChanged { .. } => "model",
            What::Retracted { .. } => "retracted",
        })
        .collect()
}

#[test]
fn a_bound_fires_once_until_it_clears() {
    let mut watch = Watched::new(below(1.3, 1.4));
    let told: Vec<_> = [2.0, 1.29, 1.31, 1.2, 1.39, 1.4, 1.35, 1.3, 1.1].map(|value| watch.value(value).len()).into();
    assert_eq!(told, [0, 1, 0, 0, 0, 1, 0, 0, 1]);
}

#[test]
fn the_first_value_fires_only_if_asked_to() {
    let mut watch = Watched::new(below(1.3, 1.4));
    assert_eq!((words(&watch.value(1.0)), watch.state.series[""].fired), (vec![], true));
    let mut watch = Watched { fires_at_once: true, ..Watched::new(below(1.3, 1.4)) };
    assert!(matches!(&watch.value(1.0)[..], [What::Crossed { before: None, .. }]));
}

#[test]
fn a_wallet_that_cannot_be_read_is_stale_and_then_current() {
    let mut watch = Watched::new(below(1.3, 1.4));
    watch.value(2.0);
    let told: Vec<_> = (0..12).map(|_| words(&watch.unread())).collect();
    assert_eq!(told.iter().filter(|told| !told.is_empty()).count(), 1);
    assert_eq!(told[9], ["stale"], "ten minutes after the last value");
    assert_eq!(words(&watch.value(1.0)), ["crossed", "current"]);
}

#[test]
fn a_wallet_is_stale_in_time_although_the_clock_goes_back() {
    let mut watch = Watched::new(below(1.3, 1.4));
    watch.step = 1_000;
    watch.value(2.0);
    watch.step = 100;
    let told: Vec<_> = (0..12).map(|_| words(&watch.unread())).collect();
    assert_eq!(told.iter().position(|told| *told == ["stale"]), Some(10));
}

#[test]
fn a_value_that_does_not_exist_is_neither_stale_nor_a_crossing() {
    let mut watch = Watched::new(below(1.3, 1.4));
    watch.value(2.0);
    for _ in 0..30 {
        assert!(watch.see(Reading::Nothing("the model claims nothing".to_owned())).is_empty());
    }
    assert_eq!(words(&watch.value(1.0)), ["crossed"]);
}

#[test]
fn a_promotion_is_a_new_baseline() {
    let mut watch = Watched::new(trigger(Measure::Score, Some(Limit::Below { at: 600.0, clear: 612.0 })));
    let by = |watch: &mut Watched, value, version: &str| {
        let version: Option<ModelVersion> = version.parse().ok();
        watch.see(Reading::Read(Sample { version, ..sample(value, watch.step) }))
    };
    by(&mut watch, 700.0, "1.1");
    let told = by(&mut watch, 550.0, "1.3");
    assert!(matches!(&told[..], [What::ModelChanged { fired: true, before, .. }] if before.value == Some(700.0)));
    assert_eq!(words(&by(&mut watch, 620.0, "1.3")), ["cleared"]);
}

#[test]
fn a_range_at_its_edge_does_not_flap() {
    let mut watch = Watched::new(trigger(Measure::Range, None));
    let see = |watch: &mut Watched, score: u32| {
        let value = range_rank(Score::new(score).unwrap().range());
        watch.see(Reading::Read(Sample { score: Some(score), ..sample(value, watch.step) })).len()
    };
    // 640 is the lower edge of `fair`.
    let told = [641, 639, 640, 638, 644, 645, 639, 650, 634].map(|score| see(&mut watch, score));
    assert_eq!(told, [0, 1, 0, 0, 0, 1, 0, 0, 1]);
}

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

#[test]
fn a_crossing_of_an_orphaned_block_is_retracted_unless_the_new_block_shows_it_too() {
    let crossed = |after: f64| {
        let mut watch = Watched::new(below(1.3, 1.4));
        watch.value(2.0);
        assert_eq!(words(&watch.value(1.0)), ["crossed"]);
        watch.chains.orphaned.insert(hash(1));
        watch.value(after)
    };
    assert!(crossed(1.1).is_empty());
    assert!(matches!(&crossed(1.5)[..], [What::Retracted { seq: 1, .. }]));
    assert!(matches!(&crossed(1.35)[..], [What::Retracted { seq: 1, .. }]), "on the new chain it was never below");
}

#[test]
fn an_event_of_a_final_block_stands() {
    let mut watch = Watched::new(below(1.3, 1.4));
    watch.value(2.0);
    watch.value(1.0);
    watch.chains.settled.insert(1, 1);
    let reading = Reading::Read(sample(1.0, 2));
    assert_eq!(watch.observe(reading).settled, [1]);
    watch.chains.orphaned.insert(hash(1));
    assert_eq!(words(&watch.value(1.5)), ["cleared"]);
}

#[test]
fn an_event_that_no_state_remembers_is_retracted_too() {
    let by = |watch: &mut Watched, value, version: &str| {
        let version: Option<ModelVersion> = version.parse().ok();
        watch.see(Reading::Read(Sample { version, ..sample(value, watch.step) }))
    };
    let score = trigger(Measure::Score, Some(Limit::Below { at: 600.0, clear: 612.0 }));
    // The crossing, the promotion after it, and a value on the chain that has neither block.
    let mut watch = Watched::new(score.clone());
    by(&mut watch, 700.0, "1.1");
    assert_eq!(words(&by(&mut watch, 550.0, "1.1")), ["crossed"]);
    assert_eq!(words(&by(&mut watch, 540.0, "1.3")), ["model"]);
    watch.chains.orphaned.extend([hash(1), hash(2)]);
    let told = by(&mut watch, 690.0, "1.3");
    assert_eq!(words(&told), ["retracted", "retracted", "model"]);
    assert!(matches!(&told[2], What::ModelChanged { before, fired: false, .. } if before.value == Some(700.0)));
    // A value by another version does not show that the crossing still stands.
    let mut watch = Watched::new(score);
    by(&mut watch, 700.0, "1.1");
    by(&mut watch, 550.0, "1.1");
    watch.chains.orphaned.insert(hash(1));
    assert_eq!(words(&by(&mut watch, 540.0, "1.3")), ["retracted", "model"]);
    // A first value that fired.
    let mut watch = Watched { fires_at_once: true, ..Watched::new(below(1.3, 1.4)) };
    watch.value(1.0);
    watch.chains.orphaned.insert(hash(0));
    assert_eq!(words(&watch.value(2.0)), ["retracted"]);
    // Other bounds, and a market that is not read any more.
    for market in [false, true] {
        let mut watch = Watched::new(below(1.3, 1.4));
        watch.value(2.0);
        watch.value(1.0);
        if !market {
            watch.replace();
        }
        watch.state.series.remove(if market { "other" } else { "" });
        let other = Readings::from([("other".to_owned(), Reading::Read(sample(2.0, 2)))]);
        let round = Round {
            readings: &other,
            now: time_from_unix(2 * MINUTE),
            since: time_from_unix(0),
            stale_after: TimeDelta::minutes(10),
            fires_at_once: false,
            chains: &watch.chains,
        };
        watch.state.observe(&watch.trigger, &round, &mut watch.past, &mut watch.next);
        watch.chains.orphaned.insert(hash(1));
        assert!(matches!(&watch.unread()[..], [What::Retracted { seq: 1, after: None, .. }]), "{market}");
    }
}

#[test]
fn the_oldest_of_too_many_open_events_are_named() {
    let mut watch = Watched::new(below(1.3, 1.4));
    let mut unchecked = Vec::new();
    for turn in 0..36 {
        let reading = Reading::Read(sample(if turn % 2 == 0 { 2.0 } else { 1.0 }, watch.step));
        unchecked.extend(watch.observe(reading).unchecked);
    }
    assert_eq!((watch.next, unchecked), (36, vec![1, 2, 3]));
}

#[test]
fn a_value_waits_until_it_is_known_what_became_of_the_block_before_it() {
    let mut watch = Watched::new(below(1.3, 1.4));
    watch.value(2.0);
    watch.value(1.0);
    watch.chains.unknown.insert(hash(1));
    assert!(watch.value(2.0).is_empty(), "cleared, or never crossed");
    watch.chains.unknown.clear();
    watch.chains.orphaned.insert(hash(1));
    assert_eq!(words(&watch.value(2.0)), ["retracted"]);
}

/// One evaluation: a value in tenths, or none; what happens before it, and how many blocks before it a reorganisation
/// replaces.
#[derive(Debug, Clone, Copy)]
enum Step {
    Value(u8),
    Unread,
    Nothing,
    Reorganised(u64, u8),
    Final,
    Promoted(u8),
    Replaced(u8),
}

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Says {
    Crossed,
    Cleared,
    Begins(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..30_u8).prop_map(Step::Value),
        2 => Just(Step::Unread),
        1 => Just(Step::Nothing),
        2 => (1..6_u64, 0..30_u8).prop_map(|(depth, value)| Step::Reorganised(depth, value)),
        1 => Just(Step::Final),
        1 => (0..30_u8).prop_map(Step::Promoted),
        1 => (0..30_u8).prop_map(Step::Replaced),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #[test]
    fn every_crossing_is_told_once_on_values_that_were_read(steps in steps(), fires_at_once: bool) {
        let mut watch = Watched { fires_at_once, ..Watched::new(below(1.3, 1.6)) };
        // The events that stand, by number; those of the present bounds, and those before.
        let mut standing: BTreeMap<u64, Says> = BTreeMap::new();
        let mut before = BTreeSet::new();
        let (mut used, mut is_final, mut version) = (BTreeSet::new(), BTreeSet::new(), 1);
        let mut began_fired = None;
        for step in steps {
            let now = watch.step;
            let value = match step {
                Step::Value(value) => Some(value),
                Step::Reorganised(depth, value) => {
                    watch.chains.orphaned.extend((now.saturating_sub(depth)..now).map(hash));
                    Some(value)
                }
                Step::Promoted(value) => {
                    version += 1;
                    Some(value)
                }
                Step::Replaced(value) => {
                    watch.replace();
                    before.extend(std::mem::take(&mut standing).into_keys());
                    began_fired = None;
                    Some(value)
                }
                Step::Final => {
                    watch.chains.settled.insert(1, now.saturating_sub(1));
                    None
                }
                Step::Unread | Step::Nothing => None,
            };
            let value = value.map(|tenths| f64::from(tenths) / 10.0);
            let version: Option<ModelVersion> = format!("1.{version}").parse().ok();
            let reading = match (value, step) {
                (Some(value), _) => Reading::Read(Sample { version, ..sample(value, now) }),
                (None, Step::Nothing) => Reading::Nothing(String::new()),
                (None, _) => Reading::Unread(String::new()),
            };
            let observed = watch.observe(reading);
            is_final.extend(observed.settled.into_iter().chain(observed.unchecked));
            for Change { seq, what } in observed.changes {
                prop_assert!(used.insert(seq), "a number is used once");
                let says = match what {
                    What::Crossed { .. } => Some(Says::Crossed),
                    What::Cleared { .. } => Some(Says::Cleared),
                    What::ModelChanged { fired, .. } => Some(Says::Begins(fired)),
                    What::Retracted { seq, after, .. } => {
                        prop_assert!(!is_final.contains(&seq));
                        let was = if after.is_some() { standing.remove(&seq).is_some() } else { before.remove(&seq) };
                        prop_assert!(was, "an event is retracted once");
                        prop_assert!(after.is_none() || value.is_some());
                        None
                    }
                    What::Stale { .. } => {
                        prop_assert!(value.is_none());
                        None
                    }
                    What::Current { .. } => None,
                    other => return Err(TestCaseError::fail(format!("{other:?}"))),
                };
                if let Some(says) = says {
                    prop_assert!(value.is_some(), "nothing fires on a value that was not read");
                    standing.insert(seq, says);
                }
            }
            let open = watch.state.series.values().flat_map(|series| &series.open);
            let open = open.map(|event| (event.seq, &event.blocks));
            let open: BTreeMap<_, _> = open.chain(watch.past.iter().map(|event| (event.seq, &event.blocks))).collect();
            let forgotten = |seq: &&u64| !open.contains_key(seq) && !is_final.contains(seq);
            let lost = standing.keys().chain(&before).find(forgotten);
            prop_assert_eq!(lost, None, "an event whose block is not final can be retracted, or is named");
            let Some(value) = value else { continue };
            let began = *began_fired.get_or_insert(value < 1.3);
            // Crossings and clearings that stand alternate, from the state at the beginning.
            let mut fired = began && !fires_at_once;
            for says in standing.values() {
                match says {
                    Says::Begins(now) => fired = *now,
                    Says::Crossed | Says::Cleared => {
                        prop_assert_ne!(fired, *says == Says::Crossed, "{:?}", standing);
                        fired = *says == Says::Crossed;
                    }
                }
            }
            prop_assert_eq!(fired, watch.state.series[""].fired);
            prop_assert!(value >= 1.3 || fired, "a crossing was not told");
            prop_assert!(value < 1.6 || !fired, "a clearing was not told");
            let orphaned = open.values().any(|blocks| watch.chains.has_orphan(blocks));
            prop_assert!(!orphaned, "an event of an orphaned block stands");
        }
    }
}
