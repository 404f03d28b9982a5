//! Measurements of challengers compared with the champion: counts and sketches that merge over hosts and hours without
//! loss.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::WalletAnswers;
use assay_domain::{
    ModelPin,
    stats::{Joint, Moments, Sketch},
};

/// The measurements of one process in one hour.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ShadowRecord {
    pub pairs: Vec<PairRecord>,
}

/// One challenger compared with one champion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairRecord {
    pub champion: ModelPin,
    pub challenger: ModelPin,
    pub counts: PairCounts,
    /// Of all calls that both scored, the champion's score first.
    pub scores: Joint,
    /// The same by wallet; empty in the oldest records.
    #[serde(default)]
    pub wallets: WalletAnswers,
    /// Failures of the challenger by code.
    pub failures: BTreeMap<String, u64>,
    /// The newest message of each code of `failures`; the oldest records have none.
    #[serde(default)]
    pub messages: BTreeMap<String, String>,
    /// The record of the score of each of `messages`, if the score has one.
    #[serde(default)]
    pub failed_scores: BTreeMap<String, Uuid>,
    /// Points by label, the champion's first.
    pub factors: BTreeMap<String, (Moments, Moments)>,
    pub champion_cost: CostRecord,
    pub challenger_cost: CostRecord,
}

/// Counts of the scores that the champion computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PairCounts {
    /// Computed by the champion while the challenger had its role.
    pub seen: u64,
    /// Of those, in the sample.
    pub sampled: u64,
    /// Of the sample, dropped because the queue was full.
    pub dropped: u64,
    /// Of the sample, refused by the challenger, which is an answer.
    pub refused: u64,
    /// Scored by both, with the same decile.
    pub same_decile: u64,
}

/// The cost of calls in microseconds and fuel, measured for both models on the engine of the shadow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CostRecord {
    pub latency_us: Sketch,
    pub fuel: Sketch,
}

impl PairRecord {
    pub fn new(champion: ModelPin, challenger: ModelPin) -> Self {
        Self {
            champion,
            challenger,
            counts: PairCounts::default(),
            scores: Joint::default(),
            wallets: WalletAnswers::default(),
            failures: BTreeMap::new(),
            messages: BTreeMap::new(),
            failed_scores: BTreeMap::new(),
            factors: BTreeMap::new(),
            champion_cost: CostRecord::default(),
            challenger_cost: CostRecord::default(),
        }
    }

    /// All failures of the challenger.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Adds the measurements of another host or a later hour of the same two models.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.scores.merge(&other.scores);
        self.wallets.merge(&other.wallets);
        for (code, count) in &other.failures {
            *self.failures.entry(code.clone()).or_default() += count;
        }
        for (code, message) in &other.messages {
            self.messages.insert(code.clone(), message.clone());
            // A message and a score of different calls would mislead.
            match other.failed_scores.get(code) {
                Some(score) => self.failed_scores.insert(code.clone(), *score),
                None => self.failed_scores.remove(code),
            };
        }
        for (label, (champion, challenger)) in &other.factors {
            let own = self.factors.entry(label.clone()).or_default();
            own.0.merge(champion);
            own.1.merge(challenger);
        }
        self.champion_cost.merge(&other.champion_cost);
        self.challenger_cost.merge(&other.challenger_cost);
    }
}

impl PairCounts {
    pub fn add(&mut self, other: &Self) {
        let Self { seen, sampled, dropped, refused, same_decile } = other;
        self.seen += seen;
        self.sampled += sampled;
        self.dropped += dropped;
        self.refused += refused;
        self.same_decile += same_decile;
    }
}

impl CostRecord {
    fn merge(&mut self, other: &Self) {
        self.latency_us.merge(&other.latency_us);
        self.fuel.merge(&other.fuel);
    }
}
