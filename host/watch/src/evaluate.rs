//! One group of watches, evaluated together: their wallets are read at one block of each chain with shared requests,
//! and each watch's new state is stored in one write with its events.

use std::collections::HashMap;

use chrono::{TimeDelta, Utc};
use serde_json::json;

use crate::{
    event::Told,
    group::GroupReading,
    measures::ScoreReading,
    records::{self, EventRecord, StateRecord, WatchRecord},
    series::{Change, Round, TriggerState, What},
    trigger::Trigger,
    watches::{Watch, WatchesInner},
};
use assay_domain::{Address, Time};
use assay_store::{Batch, Lease, StoreError};

/// A watch after its evaluation.
pub(crate) enum Evaluated {
    /// Its new state, and whether it has new events.
    Stored { state: StateRecord, told: bool },
    /// It was changed meanwhile, so nothing was stored.
    Changed,
    /// It ended long ago, and nothing of it is left.
    Forgotten,
}

/// A batch that is refused once `watch` has changed, or another host has taken over.
pub(crate) fn guarded(watch: &Watch, lease: &Lease) -> Result<Batch, StoreError> {
    let batch = watch.if_unchanged(Batch::new().if_leased(lease))?;
    Ok(batch.if_unchanged(&records::state(watch.record.id), watch.state.revision(watch.record.id)?))
}

impl WatchesInner {
    /// Evaluates `group`, in order.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn evaluate(&self, lease: &Lease, group: &[Watch]) -> Result<Vec<Evaluated>, StoreError> {
        let now = Utc::now();
        let (over, active): (Vec<_>, Vec<_>) = group.iter().partition(|watch| watch.record.until <= now);
        let (groups, active): (Vec<_>, Vec<_>) = active.into_iter().partition(|watch| watch.record.is_group());
        let read = self.read(now, &active).await;
        let mut evaluated = HashMap::new();
        for watch in over {
            evaluated.insert(watch.record.id, self.end(lease, watch, now).await?);
        }
        for group in groups {
            evaluated.insert(group.record.id, self.digest(lease, group, now).await?);
        }
        for (watch, address) in active.into_iter().zip(&read.addresses) {
            evaluated.insert(watch.record.id, self.evaluate_one(lease, watch, address, &read).await?);
        }
        Ok(group.iter().filter_map(|watch| evaluated.remove(&watch.record.id)).collect())
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
        if state.address != found.or(state.address) {
            state.exposure = None;
        }
        state.address = found.or(state.address);
        state.exposure = found.and_then(|address| read.exposure(address)).or(state.exposure);
        let mut settled = Vec::new();
        for (trigger, of_trigger) in record.triggers.iter().zip(&mut state.triggers) {
            let readings = read.readings(trigger, of_trigger, address);
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

    pub(crate) async fn store_evaluated(
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
        let score = address.and_then(|address| read.score(trigger, address));
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
        let batch = crate::changes::forget(guarded(watch, lease)?, record);
        Ok(if self.store.commit(batch).await? { Evaluated::Forgotten } else { Evaluated::Changed })
    }

    /// Stores an event that tests the way to the receiver; of a group, a digest.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn test_event(&self, lease: &Lease, watch: &Watch) -> Result<Evaluated, StoreError> {
        if watch.record.is_group() {
            return self.digest_on_request(lease, watch).await;
        }
        let mut state = watch.state.clone();
        state.next = state.next.max(1);
        let told = Told { watch: &watch.record, address: state.address, now: Utc::now() };
        let event = told.plain(state.next, "test", json!({}));
        state.next += 1;
        self.store_evaluated(lease, watch, state, vec![event], Vec::new()).await
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
