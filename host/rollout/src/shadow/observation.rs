//! One call of a challenger, added to the record of its pair.

use crate::records::{Answer, CostRecord, PairRecord};
use assay_domain::{Address, Assessment, Factor, stats::Moments};
use assay_registry::{ScoreError, Spent};
use uuid::Uuid;

/// Maximum number of factor labels in one record: a model with a new label for every subject must not fill the memory.
const LABELS: usize = 64;
/// The label of all further factors.
const OTHERS: &str = "(others)";

/// The answers of champion and challenger about one subject.
pub(super) struct CallObservation<'a> {
    pub address: Address,
    /// The record of the champion's score.
    pub record: Option<Uuid>,
    /// The champion's answer, which was served.
    pub served: &'a Assessment,
    /// The challenger's answer.
    pub shadow: &'a Result<Assessment, ScoreError>,
    pub spent: Spent,
    /// The cost of the same call of the champion, if measured.
    pub champion_spent: Option<Spent>,
}

impl CallObservation<'_> {
    pub(crate) fn add_to(&self, pair: &mut PairRecord) {
        pair.counts.seen += 1;
        pair.counts.sampled += 1;
        // No instance was free, so the challenger was not called.
        if matches!(self.shadow, Err(ScoreError::Busy { .. })) {
            pair.counts.dropped += 1;
            return;
        }
        cost(&mut pair.challenger_cost, self.spent);
        if let Some(spent) = self.champion_spent {
            cost(&mut pair.champion_cost, spent);
        }
        let answer = match self.shadow {
            Ok(shadow) => Answer::Scored(self.served.score, shadow.score),
            Err(error) if error.is_fault() => Answer::Failed,
            Err(_) => Answer::Refused,
        };
        pair.wallets.see(self.address, answer);
        match self.shadow {
            Ok(shadow) => self.compare(shadow, pair),
            Err(error) if error.is_fault() => {
                *pair.failures.entry(error.code().to_owned()).or_default() += 1;
                pair.messages.insert(error.code().to_owned(), error.to_string());
                match self.record {
                    Some(record) => pair.failed_scores.insert(error.code().to_owned(), record),
                    None => pair.failed_scores.remove(error.code()),
                };
            }
            Err(_) => pair.counts.refused += 1,
        }
    }

    fn compare(&self, shadow: &Assessment, pair: &mut PairRecord) {
        pair.scores.add(self.served.score, shadow.score);
        pair.counts.same_decile += u64::from(self.served.decile == shadow.decile);
        for factor in &self.served.factors {
            moments(pair, factor).0.add(f64::from(factor.points));
        }
        for factor in &shadow.factors {
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
