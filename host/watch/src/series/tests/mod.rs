mod liquidations;
mod reorganised;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::{
    reading::Sample,
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
