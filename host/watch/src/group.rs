//! What is read for a group of watches: their wallets at one block of each chain, what became of the blocks of earlier
//! events, and the scores that triggers need.

use std::{
    collections::{BTreeMap, HashMap, hash_map},
    sync::Arc,
};

use chrono::TimeDelta;

use crate::{
    exposure::Exposure,
    measures::{self, ScoreReading},
    reading::Readings,
    records::WatchRecord,
    series::{ChainFacts, TriggerState},
    trigger::{Measure, Trigger},
    watches::{Watch, WatchesInner},
};
use assay_domain::{Address, ModelVersion, Snapshot, Subject, Time};
use assay_score::{NotScored, ScoringError};

/// What was read for a group of watches.
pub(crate) struct GroupReading {
    pub now: Time,
    pub addresses: Vec<Result<Address, String>>,
    snapshots: HashMap<Address, Arc<Snapshot>>,
    pub facts: ChainFacts,
    /// The scores of wallets by the versions that triggers name.
    scores: HashMap<(Address, Option<ModelVersion>), ScoreReading>,
}

impl GroupReading {
    /// The readings of `trigger` for the wallet at `address`, or why it has none.
    pub(crate) fn readings(
        &self,
        trigger: &Trigger,
        state: &TriggerState,
        address: &Result<Address, String>,
    ) -> Readings {
        let known = state.series.keys().cloned();
        let address = match address {
            Ok(address) => *address,
            Err(why) => return measures::unread(trigger, known, why),
        };
        let Some(snapshot) = self.snapshots.get(&address) else {
            return measures::unread(trigger, known, "the wallet was not read");
        };
        let found = measures::readings(trigger, snapshot, self.score(trigger, address));
        let is_empty = found.is_empty() && trigger.measure != Measure::Coverage;
        if is_empty { measures::unread(trigger, known, "no such market is configured any more") } else { found }
    }

    /// The debts of the wallet at `address`; `None` if they were not read.
    pub(crate) fn exposure(&self, address: Address) -> Option<Exposure> {
        self.snapshots.get(&address).and_then(|snapshot| Exposure::of(snapshot))
    }

    /// The score of the wallet at `address` by the model of `trigger`.
    pub(crate) fn score(&self, trigger: &Trigger, address: Address) -> Option<&ScoreReading> {
        self.scores.get(&(address, trigger.model_version.clone()))
    }
}

impl WatchesInner {
    /// Reads everything that the group needs.
    pub(crate) async fn read(&self, now: Time, group: &[&Watch]) -> GroupReading {
        let mut addresses = Vec::with_capacity(group.len());
        for watch in group {
            addresses.push(self.address(&watch.record).await);
        }
        // A cached snapshot serves while it is younger than half of the time between two evaluations.
        let mut since = BTreeMap::<Address, Time>::new();
        for (watch, address) in group.iter().zip(&addresses) {
            let Ok(address) = address else { continue };
            let half = TimeDelta::from_std(watch.record.every / 2).unwrap_or_default();
            let oldest = now - half;
            since.entry(*address).and_modify(|known| *known = oldest.max(*known)).or_insert(oldest);
        }
        let wallets: Vec<(Address, Time)> = since.into_iter().collect();
        let snapshots = self.scoring.snapshots(&wallets).await;
        let snapshots: HashMap<_, _> = wallets.iter().map(|(wallet, _)| *wallet).zip(snapshots).collect();
        let facts = self.facts(group, &snapshots).await;
        let mut scores = HashMap::new();
        for (watch, address) in group.iter().zip(&addresses) {
            let Some((address, snapshot)) = address.as_ref().ok().and_then(|at| Some((*at, snapshots.get(at)?))) else {
                continue;
            };
            for trigger in watch.record.triggers.iter().filter(|trigger| trigger.measure.is_scored()) {
                let key = (address, trigger.model_version.clone());
                if let hash_map::Entry::Vacant(vacant) = scores.entry(key) {
                    vacant.insert(self.score(snapshot, trigger.model_version.as_ref()).await);
                }
            }
        }
        GroupReading { now, addresses, snapshots, facts, scores }
    }

    async fn address(&self, watch: &WatchRecord) -> Result<Address, String> {
        let subject = Subject::parse(&watch.subject).map_err(|error| error.to_string())?;
        self.scoring.address(&subject).await.map_err(|error| match error {
            ScoringError::NotFound => format!("the name {} has no address", watch.subject),
            error => error.to_string(),
        })
    }

    /// What became of the blocks of events that can still be retracted.
    async fn facts(&self, group: &[&Watch], snapshots: &HashMap<Address, Arc<Snapshot>>) -> ChainFacts {
        let states = group.iter().flat_map(|watch| &watch.state.triggers);
        let canonical = self.scoring.canonical(states.flat_map(TriggerState::open_blocks)).await;
        let mut facts = ChainFacts { orphaned: canonical.orphaned, ..ChainFacts::default() };
        for chain in snapshots.values().flat_map(|snapshot| &snapshot.chains) {
            let Some(block) = chain.origin.block.filter(|block| canonical.answered.contains(&block.chain_id)) else {
                continue;
            };
            let finality = self.chains.finality.get(&block.chain_id).copied().unwrap_or(u64::MAX);
            let settled = facts.settled.entry(block.chain_id).or_default();
            *settled = block.number.saturating_sub(finality).max(*settled);
        }
        facts
    }

    async fn score(&self, snapshot: &Arc<Snapshot>, version: Option<&ModelVersion>) -> ScoreReading {
        match self.scoring.unrecorded(snapshot, version) {
            Ok((scored, features)) => {
                let claimed = self.scoring.claimed(&self.cards, &scored).await;
                ScoreReading::Scored { scored, features, claimed }
            }
            Err(error @ ScoringError::NotFound) => ScoreReading::Nothing(error.to_string()),
            Err(error) => match NotScored::of(&error) {
                Some(refused) => ScoreReading::Nothing(refused.to_string()),
                None => ScoreReading::Unread(error.to_string()),
            },
        }
    }
}
