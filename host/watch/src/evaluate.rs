//! One group of watches, evaluated together: their wallets are read at one block of each chain with shared requests, and
//! each watch's new state is stored in one write with its events.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use chrono::{TimeDelta, Utc};
use serde_json::json;

use crate::{
    event::Told,
    measures::{self, ScoreReading},
    reading::Readings,
    records::{self, EventRecord, StateRecord, WatchRecord},
    series::{ChainFacts, Change, Round, TriggerState, What},
    trigger::{Measure, Trigger},
    watches::{Watch, WatchesInner},
};
use assay_domain::{Address, ModelVersion, Snapshot, Subject, Time};
use assay_score::{NotScored, ScoringError};
use assay_store::{Batch, Lease, Revision, StoreError};

/// A watch after its evaluation.
pub(crate) enum Evaluated {
    /// Its new state, and whether it has new events.
    Stored { state: StateRecord, told: bool },
    /// It was changed meanwhile, so nothing was stored.
    Changed,
    /// It ended long ago, and nothing of it is left.
    Forgotten,
}

/// What was read for a group of watches.
struct GroupReading {
    now: Time,
    addresses: Vec<Result<Address, String>>,
    snapshots: HashMap<Address, Arc<Snapshot>>,
    facts: ChainFacts,
    /// The scores of wallets by the versions that triggers name.
    scores: HashMap<(Address, Option<ModelVersion>), ScoreReading>,
}

/// The state of a watch before a write.
pub(crate) fn revision(watch: &Watch) -> Result<Revision, StoreError> {
    // A state that was never stored.
    if watch.state == StateRecord::default() {
        return Ok(Revision::ABSENT);
    }
    Revision::of(&records::state(watch.record.id), &watch.state)
}

/// A batch that is refused once `watch` has changed, or another host has taken over.
pub(crate) fn guarded(watch: &Watch, lease: &Lease) -> Result<Batch, StoreError> {
    let key = records::watch(watch.record.id);
    Ok(Batch::new()
        .if_leased(lease)
        .if_unchanged(&key, Revision::of(&key, &watch.record)?)
        .if_unchanged(&records::state(watch.record.id), revision(watch)?))
}

impl WatchesInner {
    /// Evaluates `group`, in order.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn evaluate(&self, lease: &Lease, group: &[Watch]) -> Result<Vec<Evaluated>, StoreError> {
        let now = Utc::now();
        let (over, active): (Vec<_>, Vec<_>) = group.iter().partition(|watch| watch.record.until <= now);
        let read = self.read(now, &active).await;
        let mut evaluated = HashMap::new();
        for watch in over {
            evaluated.insert(watch.record.id, self.end(lease, watch, now).await?);
        }
        for (watch, address) in active.into_iter().zip(&read.addresses) {
            evaluated.insert(watch.record.id, self.evaluate_one(lease, watch, address, &read).await?);
        }
        Ok(group.iter().filter_map(|watch| evaluated.remove(&watch.record.id)).collect())
    }

    /// Reads everything that the group needs.
    async fn read(&self, now: Time, group: &[&Watch]) -> GroupReading {
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
                if !scores.contains_key(&key) {
                    let score = self.score(snapshot, trigger.model_version.as_ref()).await;
                    scores.insert(key, score);
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

    async fn evaluate_one(
        &self,
        lease: &Lease,
        watch: &Watch,
        address: &Result<Address, String>,
        read: &GroupReading,
    ) -> Result<Evaluated, StoreError> {
        let record = &watch.record;
        let mut state = watch.state.clone();
        state.next = state.next.max(1);
        let mut events = Vec::new();
        let found = address.as_ref().ok().copied();
        let told = Told { watch: record, address: found.or(state.address), now: read.now };
        if state.generation != record.generation || state.triggers.len() != record.triggers.len() {
            state.triggers = vec![TriggerState::default(); record.triggers.len()];
            state.generation = record.generation;
        }
        if let Some((before, after)) = state.address.zip(found).filter(|(before, after)| before != after) {
            let more = json!({ "before": before.to_string(), "after": after.to_string() });
            events.push(told.plain(state.next, "moved", more));
            state.next += 1;
            state.triggers.fill(TriggerState::default());
        }
        state.address = found.or(state.address);
        let mut settled = Vec::new();
        for (trigger, of_trigger) in record.triggers.iter().zip(&mut state.triggers) {
            let readings = readings(trigger, of_trigger, address, read);
            let round = Round {
                readings: &readings,
                now: read.now,
                since: record.created_at,
                stale_after: TimeDelta::from_std(self.settings.stale_after.max(record.every * 2)).unwrap_or_default(),
                fires_at_once: record.fires_at_once,
                chains: &read.facts,
            };
            let observed = of_trigger.observe(trigger, &round, &mut state.next);
            settled.extend(observed.settled);
            for change in observed.changes {
                let evidence = self.evidence(record, trigger, &change, found, read).await?;
                events.push(told.of(trigger, &change, evidence.as_deref()));
            }
        }
        state.evaluated_at = Some(read.now);
        count(&state, &events);
        self.store_evaluated(lease, watch, state, events, settled).await
    }

    async fn store_evaluated(
        &self,
        lease: &Lease,
        watch: &Watch,
        state: StateRecord,
        events: Vec<EventRecord>,
        settled: Vec<u64>,
    ) -> Result<Evaluated, StoreError> {
        let id = watch.record.id;
        let mut batch = guarded(watch, lease)?.put(&records::state(id), &state)?;
        for event in &events {
            batch = batch.put_expiring(&records::event(id, event.seq), event, self.settings.keep)?;
        }
        for seq in settled {
            if let Some(mut event) = self.store.get(&records::event(id, seq)).await? {
                event.settle();
                batch = batch.put_expiring(&records::event(id, seq), &event, self.settings.keep)?;
            }
        }
        if !self.store.commit(batch).await? {
            return Ok(Evaluated::Changed);
        }
        let told = !events.is_empty();
        if told {
            self.told.notify_waiters();
        }
        for event in events {
            metrics::counter!("assay_watch_events_total", "type" => event.kind).increment(1);
        }
        Ok(Evaluated::Stored { state, told })
    }

    /// The id of the score behind `change`, which is recorded now.
    async fn evidence(
        &self,
        watch: &WatchRecord,
        trigger: &Trigger,
        change: &Change,
        address: Option<Address>,
        read: &GroupReading,
    ) -> Result<Option<String>, StoreError> {
        let is_of_value = matches!(
            change.what,
            What::Crossed { .. } | What::Cleared { .. } | What::RangeChanged { .. } | What::ModelChanged { .. }
        );
        if !trigger.measure.is_scored() || !is_of_value {
            return Ok(None);
        }
        let score = address.and_then(|address| read.scores.get(&(address, trigger.model_version.clone())));
        let Some(ScoreReading::Scored { scored, features, .. }) = score else { return Ok(None) };
        let owner = (watch.owner.as_str(), watch.by.as_str());
        let id = self.scoring.record((scored, features), owner, self.settings.keep).await?;
        Ok(Some(id.to_string()))
    }

    /// Ends a watch whose time is over, and forgets it once its events have expired.
    async fn end(&self, lease: &Lease, watch: &Watch, now: Time) -> Result<Evaluated, StoreError> {
        let (record, id) = (&watch.record, watch.record.id);
        let keep = TimeDelta::from_std(self.settings.keep).unwrap_or_default();
        let Some(ended_at) = watch.state.ended_at else {
            let mut state = StateRecord { ended_at: Some(now), ..watch.state.clone() };
            state.next = state.next.max(1);
            let told = Told { watch: record, address: state.address, now };
            let event = told.plain(state.next, "ended", json!({}));
            state.next += 1;
            let batch = guarded(watch, lease)?
                .put(&records::state(id), &state)?
                .put_expiring(&records::event(id, event.seq), &event, self.settings.keep)?
                .refund(&records::count(), 1)
                .refund(&records::own_count(&record.owner), 1);
            let is_stored = self.store.commit(batch).await?;
            self.told.notify_waiters();
            return Ok(if is_stored { Evaluated::Stored { state, told: true } } else { Evaluated::Changed });
        };
        if ended_at + keep > now {
            return Ok(Evaluated::Stored { state: watch.state.clone(), told: false });
        }
        let batch = guarded(watch, lease)?
            .remove(&records::watch(id))
            .remove(&records::own(record))
            .remove(&records::state(id))
            .remove(&records::delivery(id));
        Ok(if self.store.commit(batch).await? { Evaluated::Forgotten } else { Evaluated::Changed })
    }

    /// Stores an event that tests the way to the receiver.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn test_event(&self, lease: &Lease, watch: &Watch) -> Result<Evaluated, StoreError> {
        let mut state = watch.state.clone();
        state.next = state.next.max(1);
        let told = Told { watch: &watch.record, address: state.address, now: Utc::now() };
        let event = told.plain(state.next, "test", json!({}));
        state.next += 1;
        self.store_evaluated(lease, watch, state, vec![event], Vec::new()).await
    }
}

fn readings(
    trigger: &Trigger,
    state: &TriggerState,
    address: &Result<Address, String>,
    read: &GroupReading,
) -> Readings {
    let known = state.series.keys().cloned();
    let address = match address {
        Ok(address) => address,
        Err(why) => return measures::unread(trigger, known, why),
    };
    match read.snapshots.get(address) {
        None => measures::unread(trigger, known, "the wallet was not read"),
        Some(snapshot) => {
            let score = read.scores.get(&(*address, trigger.model_version.clone()));
            let found = measures::readings(trigger, snapshot, score);
            let is_empty = found.is_empty() && trigger.measure != Measure::Coverage;
            if is_empty { measures::unread(trigger, known, "no such market is configured any more") } else { found }
        }
    }
}

fn count(state: &StateRecord, events: &[EventRecord]) {
    let is_read = state.triggers.iter().all(|trigger| trigger.unread.is_empty());
    let outcome = if is_read { "read" } else { "unread" };
    metrics::counter!("assay_watch_evaluations_total", "outcome" => outcome).increment(1);
    for event in events {
        tracing::debug!(event = %event.kind, number = event.seq, "watch event");
    }
}
