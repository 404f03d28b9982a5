//! One sweep: the watches that are due, evaluated together. Their wallets are read at one block of each chain with
//! shared requests, and each watch's new state is stored in one write with its events.

use std::{collections::HashMap, time::Duration};

use chrono::{TimeDelta, Utc};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use uuid::Uuid;

use crate::{
    changes::{forget, give_place_back},
    event::Told,
    evidence::Fields,
    records::{self, Ended, EventRecord, RequestRecord, StateRecord, event_id},
    series::{Round, TriggerState, past},
    sweep::SweepReading,
    told::{EndedEvent, MovedEvent, TestEvent, UncheckedEvent},
    trigger::Measure,
    watches::{Watch, WatchesInner},
};
use assay_access::Lapse;
use assay_domain::{Address, Time};
use assay_store::{Batch, Key, Lease, StoreError};

/// Watches whose states are stored at the same time. Writes that wait together share one flush to disk.
const TOGETHER: usize = 64;

/// A watch after its evaluation.
pub(crate) enum Evaluated {
    /// Its new state, and whether it has new events.
    Stored { state: StateRecord, told: bool },
    /// Its new state, which says nothing new and was not stored.
    Unsaved(StateRecord),
    /// Its key may not watch any more, so it was neither read nor stored.
    Suspended(Lapse),
    /// Its time is over, and its group has not ended yet: it ends after the group, or goes on if that is extended.
    Waiting,
    /// It was changed meanwhile, so nothing was stored.
    Changed,
    /// It ended long ago, and nothing of it is left.
    Forgotten,
}

/// A batch that is refused once `watch` has changed, or another host has taken over.
pub(crate) fn guarded(watch: &Watch, lease: &Lease) -> Result<Batch, StoreError> {
    let batch = watch.if_unchanged(Batch::new().if_leased(lease))?;
    Ok(batch.if_unchanged(&records::state(watch.record.id), watch.saved().revision(watch.record.id)?))
}

impl WatchesInner {
    /// Evaluates the watches of a sweep, and returns what became of each, in their order.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn evaluate(&self, lease: &Lease, due: &[Watch]) -> Result<Vec<Evaluated>, StoreError> {
        let now = Utc::now();
        let (mut active, mut evaluated, mut groups) = (Vec::new(), HashMap::new(), HashMap::new());
        let mut ordered: Vec<&Watch> = due.iter().collect();
        // A group ends before its watches.
        ordered.sort_by_key(|watch| !watch.record.is_group());
        for watch in ordered {
            let id = watch.record.id;
            let lapse = self.lapse(&watch.record).await?;
            if watch.record.until <= now || watch.state.ended_at.is_some() {
                let ended = match self.may_end(watch, &mut groups).await? {
                    true => self.end(lease, watch, (now, Ended::Until)).await?,
                    false => Evaluated::Waiting,
                };
                evaluated.insert(id, ended);
            } else if lapse == Some(Lapse::Revoked) {
                evaluated.insert(id, self.end(lease, watch, (now, Ended::KeyRevoked)).await?);
            } else if let Some(lapse) = lapse {
                evaluated.insert(id, Evaluated::Suspended(lapse));
            } else if watch.record.is_group() {
                evaluated.insert(id, self.digest(lease, watch, now).await?);
            } else {
                active.push(watch);
            }
        }
        let read = &self.read(now, &active).await?;
        let mut each = Vec::with_capacity(active.len());
        for (watch, address) in active.into_iter().zip(&read.addresses) {
            let one = async move { Ok((watch.record.id, self.evaluate_one(lease, watch, address, read).await?)) };
            each.push(one.boxed());
        }
        let each: Vec<_> = stream::iter(each).buffer_unordered(TOGETHER).try_collect().await?;
        evaluated.extend(each);
        Ok(due.iter().filter_map(|watch| evaluated.remove(&watch.record.id)).collect())
    }

    async fn evaluate_one(
        &self,
        lease: &Lease,
        watch: &Watch,
        address: &Result<Address, String>,
        read: &SweepReading,
    ) -> Result<Evaluated, StoreError> {
        let record = &watch.record;
        let mut state = watch.state.clone();
        state.next = state.next.max(1);
        let mut events = Vec::new();
        let found = address.as_ref().ok().copied();
        let (moment, facts) = (read.moment(record), read.facts(record, found.or(state.address)));
        let told = Told { watch: record, address: found.or(state.address), now: moment };
        if state.generation != record.generation || state.triggers.len() != record.triggers.len() {
            state.replace_triggers();
            state.of = record.triggers.clone();
            state.triggers = vec![TriggerState::default(); record.triggers.len()];
            state.generation = record.generation;
        }
        if let Some((before, after)) = state.address.zip(found).filter(|(before, after)| before != after) {
            let (before, after, source) = (before.to_string(), after.to_string(), told.source(state.next));
            events.push(told.event(state.next, "moved", MovedEvent { source, before, after }));
            state.next += 1;
            state.replace_triggers();
        }
        if state.address != found.or(state.address) {
            state.exposure = None;
        }
        state.address = found.or(state.address);
        state.exposure = found.and_then(|address| read.exposure(address)).or(state.exposure);
        let past = past::settle(&mut state.past, &facts, &mut state.next);
        let (mut settled, mut unchecked) = (past.settled, past.unchecked);
        events.extend(past.retracted.iter().map(|(trigger, change)| told.of(trigger, change, Fields::new())));
        for (trigger, of_trigger) in record.triggers.iter().zip(&mut state.triggers) {
            let mut readings = read.readings(record, (trigger, of_trigger), address);
            if let Some(found) = found.filter(|_| trigger.measure == Measure::Liquidation && read.is_of_chains()) {
                self.locate(found, (of_trigger, &facts), &mut readings).await;
            }
            let round = Round {
                readings: &readings,
                now: moment,
                since: record.created_at,
                stale_after: TimeDelta::from_std(self.settings.stale_after(record)).unwrap_or_default(),
                fires_at_once: record.fires_at_once,
                chains: &facts,
            };
            let observed = of_trigger.observe(trigger, &round, &mut state.past, &mut state.next);
            settled.extend(observed.settled);
            unchecked.extend(observed.unchecked);
            for change in observed.changes {
                let evidence = match found {
                    Some(found) => self.evidence(record, trigger, &change, (found, read)).await?,
                    None => Fields::new(),
                };
                events.push(told.of(trigger, &change, evidence));
            }
        }
        if !unchecked.is_empty() {
            let event_ids = unchecked.iter().map(|seq| event_id(record.id, *seq)).collect();
            let data = UncheckedEvent { source: told.source(state.next), event_ids };
            events.push(told.event(state.next, "unchecked", data));
            state.next += 1;
        }
        state.evaluated_at = Some(read.now);
        state.wait = self.settings.pace(record, &state);
        count(&state, &events);
        if events.is_empty() && settled.is_empty() && !state.is_news_after(watch.saved()) {
            return Ok(Evaluated::Unsaved(state));
        }
        self.store_evaluated(guarded(watch, lease)?, record.id, state, events, settled).await
    }

    /// Commits `batch` with the new state of the watch `id` and its new and settled events.
    pub(crate) async fn store_evaluated(
        &self,
        batch: Batch,
        id: Uuid,
        state: StateRecord,
        events: Vec<EventRecord>,
        settled: Vec<u64>,
    ) -> Result<Evaluated, StoreError> {
        let mut batch = batch.put(&records::state(id), &state)?;
        for event in &events {
            batch = batch.put_expiring(&records::event(id, event.seq), event, self.settings.keep)?;
        }
        for seq in settled {
            if let Some(mut event) = self.store.get(&records::event(id, seq)).await? {
                event.settle();
                let age = (Utc::now() - event.at).to_std().unwrap_or_default();
                let rest = self.settings.keep.saturating_sub(age).max(Duration::from_secs(1));
                batch = batch.put_expiring(&records::event(id, seq), &event, rest)?;
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

    /// Whether a watch whose time is over may end. A group can be extended until it ends, so its watches end after it.
    /// An ended group stays ended: the answer holds until the write. `groups` are those that were read in this sweep.
    async fn may_end(&self, watch: &Watch, groups: &mut HashMap<Uuid, bool>) -> Result<bool, StoreError> {
        let Some(group) = watch.record.group().filter(|_| watch.state.ended_at.is_none()) else { return Ok(true) };
        if let Some(has_ended) = groups.get(&group) {
            return Ok(*has_ended);
        }
        let state = self.store.get(&records::state(group)).await?;
        let has_ended = state.is_some_and(|state| state.ended_at.is_some());
        groups.insert(group, has_ended);
        Ok(has_ended)
    }

    /// Ends a watch, and forgets it once its events have expired.
    async fn end(&self, lease: &Lease, watch: &Watch, (now, why): (Time, Ended)) -> Result<Evaluated, StoreError> {
        let (record, id) = (&watch.record, watch.record.id);
        let keep = TimeDelta::from_std(self.settings.keep).unwrap_or_default();
        let Some(ended_at) = watch.state.ended_at else {
            // A group costs nothing, so its end does not make room for another one.
            let holds_place = record.is_group() && why == Ended::Until;
            let mut state =
                StateRecord { ended_at: Some(now), ended_by: Some(why), holds_place, ..watch.state.clone() };
            state.next = state.next.max(1);
            let told = Told { watch: record, address: state.address, now };
            let ended = EndedEvent { source: told.source(state.next), reason: why.as_str() };
            let event = told.event(state.next, "ended", ended);
            state.next += 1;
            let batch = guarded(watch, lease)?.put(&records::state(id), &state)?.put_expiring(
                &records::event(id, event.seq),
                &event,
                self.settings.keep,
            )?;
            let batch = if holds_place { batch } else { give_place_back(batch, &record.owner) };
            let is_stored = self.store.commit(batch).await?;
            self.told.notify_waiters();
            if is_stored && why == Ended::KeyRevoked {
                tracing::info!(watch = %id, by = record.by, "watch ended, because its key was revoked");
            }
            return Ok(if is_stored { Evaluated::Stored { state, told: true } } else { Evaluated::Changed });
        };
        if ended_at + keep > now {
            return Ok(Evaluated::Stored { state: watch.state.clone(), told: false });
        }
        let batch = forget(guarded(watch, lease)?, record, &watch.state);
        Ok(if self.store.commit(batch).await? { Evaluated::Forgotten } else { Evaluated::Changed })
    }

    /// Stores an event that tests the way to the receiver, or the digest of a group, and removes `request`, which asked
    /// for it, in the same write.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn test_event(
        &self,
        lease: &Lease,
        watch: &Watch,
        request: &Key<RequestRecord>,
    ) -> Result<Evaluated, StoreError> {
        let batch = guarded(watch, lease)?.remove(request);
        if watch.record.is_group() {
            return self.digest_on_request(batch, watch).await;
        }
        let mut state = watch.state.clone();
        state.next = state.next.max(1);
        let told = Told { watch: &watch.record, address: state.address, now: Utc::now() };
        let event = told.event(state.next, "test", TestEvent { source: told.source(state.next) });
        state.next += 1;
        self.store_evaluated(batch, watch.record.id, state, vec![event], Vec::new()).await
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
