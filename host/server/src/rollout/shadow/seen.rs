//! One score in the shadow, entered into the record of its pair.

use super::super::records::{CostRecord, PairRecord};
use assay_domain::{Assessment, Factor, stats::Moments};
use assay_registry::{ScoreError, Spent};

/// Most labels of factors in one record: a model that invents a new one each time must not fill the memory.
const LABELS: usize = 64;
/// Where the rest goes.
const OTHERS: &str = "(others)";

/// What the challenger made of one subject.
pub(super) struct Sight<'a> {
    /// What the champion has answered.
    pub served: &'a Assessment,
    pub said: &'a Result<Assessment, ScoreError>,
    pub spent: Spent,
    /// What the same call cost the champion, where it was measured.
    pub champion_spent: Option<Spent>,
}

impl Sight<'_> {
    pub fn enter(&self, pair: &mut PairRecord) {
        pair.counts.seen += 1;
        pair.counts.sampled += 1;
        // A full house is ours, and nothing was asked.
        if matches!(self.said, Err(ScoreError::Busy { .. })) {
            pair.counts.dropped += 1;
            return;
        }
        cost(&mut pair.challenger_cost, self.spent);
        if let Some(spent) = self.champion_spent {
            cost(&mut pair.champion_cost, spent);
        }
        match self.said {
            Ok(said) => self.both(said, pair),
            Err(error) if error.is_fault() => *pair.failures.entry(error.code().to_owned()).or_default() += 1,
            Err(_) => pair.counts.refused += 1,
        }
    }

    fn both(&self, said: &Assessment, pair: &mut PairRecord) {
        pair.scores.add(self.served.score, said.score);
        pair.counts.same_decile += u64::from(self.served.decile == said.decile);
        for factor in &self.served.factors {
            moments(pair, factor).0.add(f64::from(factor.points));
        }
        for factor in &said.factors {
            moments(pair, factor).1.add(f64::from(factor.points));
        }
    }
}

fn moments<'a>(pair: &'a mut PairRecord, factor: &Factor) -> &'a mut (Moments, Moments) {
    let room = pair.factors.len() < LABELS || pair.factors.contains_key(&factor.label);
    let label = if room { factor.label.as_str() } else { OTHERS };
    pair.factors.entry(label.to_owned()).or_default()
}

fn cost(record: &mut CostRecord, spent: Spent) {
    record.latency_us.add(Some(spent.took.as_nanos() as f64 / 1e3));
    record.fuel.add(Some(spent.fuel as f64));
}
