//! What is read in a sweep, for the watches that are due: their wallets at one block of each chain, what became of the
//! blocks of earlier events, and the scores that triggers need.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, hash_map},
    sync::Arc,
};

use chrono::TimeDelta;

use crate::{
    exposure::Exposure,
    measures::{self, ScoreReading},
    reading::Readings,
    records::WatchRecord,
    script::ScriptReading,
    series::{ChainFacts, TriggerState},
    trigger::{Measure, Trigger},
    watches::{Watch, WatchesInner},
};
use assay_domain::{Address, ModelVersion, Snapshot, Subject, Time};
use assay_score::{Answering, Ask, Canonical, NotScored, ScoringError, WantedSnapshot};
use assay_store::StoreError;

/// A score that a trigger needs: of a wallet, by the version that the trigger names, or the one that answers the key of
/// the watch: its pin, the share of the wallet, or the champion.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ScoreOf {
    wallet: Address,
    version: Option<ModelVersion>,
    /// Name of the key; absent if the trigger names a version.
    by: Option<String>,
}

impl ScoreOf {
    fn new(watch: &WatchRecord, trigger: &Trigger, wallet: Address) -> Self {
        let version = trigger.model_version.clone();
        let by = version.is_none().then(|| watch.by.clone());
        Self { wallet, version, by }
    }

    fn ask(&self) -> Ask<'_> {
        Ask { version: self.version.as_ref(), ..Ask::by(self.by.as_deref().unwrap_or_default(), false) }
    }
}

/// What was read for the watches of a sweep.
pub(crate) struct SweepReading {
    pub now: Time,
    pub addresses: Vec<Result<Address, String>>,
    snapshots: HashMap<Address, Arc<Snapshot>>,
    facts: ChainFacts,
    script: Option<ScriptReading>,
    scores: HashMap<ScoreOf, Arc<ScoreReading>>,
}

impl SweepReading {
    /// The moment of the values of `watch`.
    pub(crate) fn moment(&self, watch: &WatchRecord) -> Time {
        self.script.as_ref().map_or(self.now, |script| script.moment(watch).now())
    }

    /// What became of the blocks in earlier readings of `watch`, whose wallet is at `address`.
    pub(crate) fn facts(&self, watch: &WatchRecord, address: Option<Address>) -> Cow<'_, ChainFacts> {
        match (&self.script, address) {
            (Some(script), Some(address)) => Cow::Owned(script.facts(watch, address)),
            _ => Cow::Borrowed(&self.facts),
        }
    }

    /// Whether the values are of chains.
    pub(crate) fn is_of_chains(&self) -> bool {
        self.script.is_none()
    }

    /// The readings of `trigger` for the wallet at `address`, or why it has none.
    pub(crate) fn readings(
        &self,
        watch: &WatchRecord,
        (trigger, state): (&Trigger, &TriggerState),
        address: &Result<Address, String>,
    ) -> Readings {
        let known = state.series.keys().cloned();
        let address = match address {
            Ok(address) => *address,
            Err(why) => return measures::unread(trigger, known, why),
        };
        if let Some(script) = &self.script {
            return script.readings(watch, trigger, address);
        }
        let Some(snapshot) = self.snapshots.get(&address) else {
            return measures::unread(trigger, known, "the wallet was not read");
        };
        let found = measures::readings(trigger, snapshot, self.score(watch, trigger, address));
        let is_empty = found.is_empty() && trigger.measure != Measure::Coverage;
        if is_empty { measures::unread(trigger, known, "no such market is configured any more") } else { found }
    }

    /// The debts of the wallet at `address`; `None` if they were not read.
    pub(crate) fn exposure(&self, address: Address) -> Option<Exposure> {
        self.snapshot(address).and_then(Exposure::of)
    }

    /// The wallet at `address`, if it was read.
    pub(crate) fn snapshot(&self, address: Address) -> Option<&Snapshot> {
        self.snapshots.get(&address).map(|snapshot| &**snapshot)
    }

    /// The score of the wallet at `address` by the model that answers `watch` about `trigger`.
    pub(crate) fn score(&self, watch: &WatchRecord, trigger: &Trigger, address: Address) -> Option<&ScoreReading> {
        self.scores.get(&ScoreOf::new(watch, trigger, address)).map(|score| &**score)
    }
}

impl WatchesInner {
    /// Reads everything that the watches of a sweep need.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn read(&self, now: Time, due: &[&Watch]) -> Result<SweepReading, StoreError> {
        let mut addresses = Vec::with_capacity(due.len());
        for watch in due {
            addresses.push(self.address(&watch.record).await);
        }
        if let Some(script) = self.script(due).await? {
            let (snapshots, facts, scores) = Default::default();
            return Ok(SweepReading { now, addresses, snapshots, facts, script: Some(script), scores });
        }
        // A cached snapshot serves while it is younger than half of the time between two evaluations.
        let mut wanted = BTreeMap::<Address, WantedSnapshot>::new();
        for (watch, address) in due.iter().zip(&addresses) {
            let Ok(address) = address else { continue };
            let half = TimeDelta::from_std(watch.record.every / 2).unwrap_or_default();
            let oldest = now - half;
            let new = WantedSnapshot { wallet: *address, since: oldest, exact: watch.record.statement };
            let known = wanted.entry(*address).or_insert(new);
            (known.since, known.exact) = (known.since.max(oldest), known.exact || new.exact);
        }
        let wanted: Vec<WantedSnapshot> = wanted.into_values().collect();
        let snapshots = self.scoring.snapshots(&wanted).await;
        let snapshots: HashMap<_, _> = wanted.iter().map(|wanted| wanted.wallet).zip(snapshots).collect();
        let facts = self.facts(due, &snapshots).await;
        let (mut scores, mut by_model) = (HashMap::new(), HashMap::new());
        for (watch, address) in due.iter().zip(&addresses) {
            let Some((address, snapshot)) = address.as_ref().ok().and_then(|at| Some((*at, snapshots.get(at)?))) else {
                continue;
            };
            for trigger in watch.record.triggers.iter().filter(|trigger| trigger.measure.is_scored()) {
                let of = ScoreOf::new(&watch.record, trigger, address);
                if scores.contains_key(&of) {
                    continue;
                }
                let found = match self.scoring.answering(&of.ask(), Some(address)) {
                    Err(error) => Arc::new(failed(&error)),
                    // One model scores a wallet once, whoever it answers.
                    Ok(answering) => match by_model.entry((address, answering.model.digest())) {
                        hash_map::Entry::Occupied(known) => Arc::clone(known.get()),
                        hash_map::Entry::Vacant(vacant) => {
                            Arc::clone(vacant.insert(Arc::new(self.score(&answering, snapshot).await)))
                        }
                    },
                };
                scores.insert(of, found);
            }
        }
        Ok(SweepReading { now, addresses, snapshots, facts, script: None, scores })
    }

    async fn address(&self, watch: &WatchRecord) -> Result<Address, String> {
        let subject = Subject::parse(&watch.subject).map_err(|error| error.to_string())?;
        self.scoring.address(&subject).await.map_err(|error| match error {
            ScoringError::NotFound => format!("the name {} has no address", watch.subject),
            error => error.to_string(),
        })
    }

    /// What became of the blocks of events that can still be retracted.
    async fn facts(&self, due: &[&Watch], snapshots: &HashMap<Address, Arc<Snapshot>>) -> ChainFacts {
        let states = due.iter().flat_map(|watch| &watch.state.triggers);
        let past = due.iter().flat_map(|watch| &watch.state.past).flat_map(|event| &event.blocks);
        let canonical = self.scoring.canonical(states.flat_map(TriggerState::open_blocks).chain(past)).await;
        let Canonical { orphaned, unknown } = canonical;
        let mut facts = ChainFacts { orphaned, unknown, ..ChainFacts::default() };
        for chain in snapshots.values().flat_map(|snapshot| &snapshot.chains) {
            let Some(block) = chain.origin.block else { continue };
            let finality = self.chains.finality.get(&block.chain_id).copied().unwrap_or(u64::MAX);
            let settled = facts.settled.entry(block.chain_id).or_default();
            *settled = block.number.saturating_sub(finality).max(*settled);
        }
        facts
    }

    async fn score(&self, answering: &Answering, snapshot: &Arc<Snapshot>) -> ScoreReading {
        match self.scoring.unrecorded(answering, snapshot) {
            Ok((scored, features)) => {
                let claimed = self.scoring.claimed(&self.cards, &scored).await;
                ScoreReading::Scored { answering: answering.clone(), scored, features, claimed }
            }
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &ScoringError) -> ScoreReading {
    match NotScored::of(error) {
        Some(refused) => ScoreReading::Nothing(refused.to_string()),
        None if matches!(error, ScoringError::NotFound) => ScoreReading::Nothing(error.to_string()),
        None => ScoreReading::Unread(error.to_string()),
    }
}
