//! The host that evaluates all watches and delivers their events, by a lease of the store.

mod holders;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    convert::Infallible,
    num::NonZeroUsize,
    ops::Bound,
    time::Duration,
};

use chrono::{TimeDelta, Utc};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use uuid::Uuid;

use crate::{
    deliver::Delivered,
    evaluate::Evaluated,
    records::{self, MEMBERS, REQUESTS, RequestRecord, StateRecord, Stopped, WATCHES, WatchRecord},
    sender::receiver,
    watches::{Watch, Watches},
};
use assay_access::Lapse;
use assay_domain::Time;
use assay_store::{Batch, Lease, Lost, StoreError};
use assay_tasks::Spawner;

/// Lifetime of the lease: how long another host waits after this one has died.
const LEASE: Duration = Duration::from_secs(8);
/// Wait while another host has the lease, and after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// Maximum pause between two looks at the requests of other hosts.
const PACE: Duration = Duration::from_secs(1);
/// Deliveries in progress.
const SENDING: usize = 16;
/// Deliveries in progress for one owner: slow receivers of one owner leave room for those of others.
const SENDING_OF_OWNER: usize = 4;
/// Requests that are read at once.
const REQUESTS_AT_ONCE: NonZeroUsize = NonZeroUsize::new(500).expect("is not zero");

/// A watch after its evaluation, which began in this epoch.
struct Swept {
    id: Uuid,
    epoch: u64,
    evaluated: Evaluated,
}

/// The watches of the host that holds the lease.
struct Leader<'a> {
    watches: &'a Watches,
    lease: &'a Lease,
    entries: BTreeMap<Uuid, Entry>,
    /// The sweep in progress; at most one, so that reads of watches leave room for those of requests.
    evaluating: FuturesUnordered<BoxFuture<'a, Result<Vec<Swept>, StoreError>>>,
    sending: FuturesUnordered<BoxFuture<'a, Sent>>,
    /// Receivers to which a delivery is in progress.
    busy: HashSet<String>,
    /// When all keys are looked at next.
    keys_due: Time,
    /// Deliveries in progress by owner.
    sending_of: HashMap<String, usize>,
    /// The watch whose delivery was started last; those after it have their turn first.
    turn: Uuid,
}

struct Entry {
    watch: Watch,
    due: Time,
    /// Its key may not watch any more.
    suspended: Option<Lapse>,
    /// There was no event to deliver when it was last looked for.
    idle: bool,
    /// Changes with every new event and every request of the owner: what an evaluation or a delivery began with may be
    /// old at its end.
    epoch: u64,
}

/// A delivery at its end.
struct Sent {
    id: Uuid,
    owner: String,
    epoch: u64,
    receiver: String,
    delivered: Result<Delivered, StoreError>,
}

impl Entry {
    fn new(watch: Watch, epoch: u64) -> Self {
        let due = due(&watch.record, &watch.state);
        Self { watch, due, suspended: None, idle: false, epoch }
    }
}

/// Those whose deliveries share [`SENDING_OF_OWNER`]. All payers without a key do: each of their watches has its own
/// owner.
fn lane(record: &WatchRecord) -> &str {
    if record.paid_until.is_some() { &record.by } else { &record.owner }
}

/// When a watch is evaluated next.
pub(crate) fn due(record: &WatchRecord, state: &StateRecord) -> Time {
    if record.is_group() {
        return digest_due(record, state);
    }
    let wait = record.every.max(state.wait.unwrap_or_default());
    let every = TimeDelta::from_std(wait).unwrap_or(TimeDelta::days(1));
    let next = state.evaluated_at.map_or(record.created_at, |at| at + every);
    match state.ended_at {
        // Only to be forgotten.
        Some(ended) => ended + TimeDelta::days(1),
        None if record.paused => record.until,
        None if state.generation != record.generation => record.created_at,
        None => next.min(record.until),
    }
}

/// When the next digest of a group is due, or its end.
fn digest_due(record: &WatchRecord, state: &StateRecord) -> Time {
    let day = TimeDelta::days(1);
    match state.ended_at {
        // Only to be forgotten.
        Some(ended) => ended + day,
        None if record.paused => record.until,
        None => (state.evaluated_at.unwrap_or(record.created_at) + day).min(record.until),
    }
}

impl Watches {
    /// Starts the task that evaluates and delivers while this host holds the lease.
    pub fn start(&self, tasks: &Spawner) {
        let (this, stopping) = (self.clone(), tasks.stopping());
        tasks.spawn("watches", async move {
            let work = this.0.store.lead("watches", LEASE, RETRY, "watches", |lease| {
                let this = this.clone();
                async move { this.rounds(&lease).await }
            });
            stopping.run_until_cancelled(work).await;
        });
    }

    async fn rounds(&self, lease: &Lease) -> Lost {
        let led = async { Leader::load(self, lease).await?.lead().await };
        match led.await {
            Ok(never) => match never {},
            Err(error) => error.into(),
        }
    }
}

impl<'a> Leader<'a> {
    async fn load(watches: &'a Watches, lease: &'a Lease) -> Result<Self, StoreError> {
        let ids = watches.0.store.list(&WATCHES).await?;
        let ids: Vec<Uuid> = ids.into_iter().map(|(_, record)| record.id).collect();
        let mut entries = BTreeMap::new();
        let loaded = watches.0.load_to_lead(lease, &ids).await?;
        entries.extend(loaded.into_iter().map(|watch| (watch.record.id, Entry::new(watch, 0))));
        let (evaluating, sending, busy, sending_of) = Default::default();
        let (turn, keys_due) = (Uuid::nil(), Utc::now());
        Ok(Self { watches, lease, entries, evaluating, sending, busy, sending_of, turn, keys_due })
    }

    async fn lead(mut self) -> Result<Infallible, StoreError> {
        loop {
            self.take_requests().await?;
            self.look_at_keys().await?;
            self.evaluate();
            self.deliver();
            self.measure();
            let pause = self.pause();
            tokio::select! {
                Some(evaluated) = self.evaluating.next() => self.evaluated(evaluated?).await?,
                Some(sent) = self.sending.next() => self.sent(sent).await?,
                () = self.watches.0.requested.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Takes the requests of all hosts.
    async fn take_requests(&mut self) -> Result<(), StoreError> {
        let inner = &self.watches.0;
        let page = inner.store.page(&REQUESTS, None, REQUESTS_AT_ONCE).await?;
        for (key, request) in page.records {
            let Some(id) = key.split('/').next().and_then(|id| id.parse::<Uuid>().ok()) else { continue };
            self.reload(id).await?;
            if request == RequestRecord::Test
                && let Some(entry) = self.entries.get(&id).filter(|entry| entry.watch.state.ended_at.is_none())
            {
                let evaluated = inner.test_event(self.lease, &entry.watch).await?;
                if matches!(evaluated, Evaluated::Changed) {
                    // Tried again in the next round.
                    continue;
                }
                self.reload(id).await?;
            }
            inner.store.commit(Batch::new().if_leased(self.lease).remove(&REQUESTS.key(&key))).await?;
        }
        Ok(())
    }

    /// Reads a watch again, or a group with its watches.
    async fn reload(&mut self, id: Uuid) -> Result<(), StoreError> {
        let inner = &self.watches.0;
        let mut ids = vec![id];
        let mut loaded = inner.load_to_lead(self.lease, &ids).await?;
        let is_group = loaded.first().is_some_and(|watch| watch.record.is_group());
        if is_group {
            ids.extend(inner.ids(&MEMBERS, &records::members_prefix(id)).await?);
            loaded.extend(inner.load_to_lead(self.lease, ids.get(1..).unwrap_or_default()).await?);
        }
        let mut loaded: BTreeMap<Uuid, Watch> = loaded.into_iter().map(|watch| (watch.record.id, watch)).collect();
        for id in ids {
            let epoch = self.entries.get(&id).map_or(0, |entry| entry.epoch + 1);
            match loaded.remove(&id) {
                Some(watch) => _ = self.entries.insert(id, Entry::new(watch, epoch)),
                None => _ = self.entries.remove(&id),
            }
        }
        Ok(())
    }

    /// Starts a sweep of the watches that are due the longest, unless one is in progress.
    fn evaluate(&mut self) {
        if !self.evaluating.is_empty() {
            return;
        }
        let now = Utc::now();
        let mut due: Vec<_> = self.entries.values().filter(|entry| entry.due <= now).collect();
        due.sort_by_key(|entry| entry.due);
        let (mut subjects, mut swept, mut begun) = (HashSet::new(), Vec::new(), Vec::new());
        for entry in due {
            let subject = entry.watch.record.subject.as_str();
            if subjects.contains(subject) || subjects.len() < self.watches.settings().batch {
                subjects.insert(subject);
                swept.push(entry.watch.clone());
                begun.push((entry.watch.record.id, entry.epoch));
            }
        }
        if swept.is_empty() {
            return;
        }
        let (inner, lease) = (&self.watches.0, self.lease);
        let work = async move {
            let evaluated = inner.evaluate(lease, &swept).await?.into_iter();
            let swept = begun.into_iter().zip(evaluated);
            Ok(swept.map(|((id, epoch), evaluated)| Swept { id, epoch, evaluated }).collect())
        };
        self.evaluating.push(work.boxed());
    }

    async fn evaluated(&mut self, swept: Vec<Swept>) -> Result<(), StoreError> {
        for Swept { id, epoch, evaluated } in swept {
            // A request was taken meanwhile: the state that the evaluation began with is not the last one.
            if self.entries.get(&id).is_some_and(|entry| entry.epoch != epoch) {
                self.reload(id).await?;
                continue;
            }
            match evaluated {
                Evaluated::Stored { state, told } => {
                    if let Some(entry) = self.entries.get_mut(&id) {
                        (entry.watch.state, entry.watch.saved, entry.suspended) = (state, None, None);
                        entry.due = due(&entry.watch.record, &entry.watch.state).max(Utc::now());
                        if told {
                            (entry.idle, entry.epoch) = (false, entry.epoch + 1);
                        }
                    }
                }
                Evaluated::Unsaved(state) => {
                    if let Some(entry) = self.entries.get_mut(&id) {
                        entry.watch.advance(state);
                        entry.suspended = None;
                        entry.due = due(&entry.watch.record, &entry.watch.state).max(Utc::now());
                    }
                }
                Evaluated::Suspended(lapse) => {
                    if let Some(entry) = self.entries.get_mut(&id) {
                        entry.suspend(lapse);
                    }
                }
                Evaluated::Changed => {
                    self.reload(id).await?;
                    if let Some(entry) = self.entries.get_mut(&id) {
                        // If the lease is lost, that is noticed first.
                        entry.due = Utc::now() + TimeDelta::seconds(1);
                    }
                }
                Evaluated::Forgotten => _ = self.entries.remove(&id),
            }
        }
        Ok(())
    }

    /// Starts the deliveries that are due, one at a time for each receiver, and each owner in turn.
    fn deliver(&mut self) {
        let (now, turn) = (Utc::now(), self.turn);
        let after = self.entries.range((Bound::Excluded(turn), Bound::Unbounded));
        let entries = after.chain(self.entries.range(..=turn)).map(|(_, entry)| entry);
        for entry in entries {
            let Watch { record, delivery, .. } = &entry.watch;
            let is_barred = record.paused || entry.suspended.is_some();
            let waits = entry.idle && delivery.confirmed || is_barred || !delivery.is_due(now);
            let Some(url) = record.url.as_deref().filter(|_| !waits) else { continue };
            let Some(receiver) = receiver(url) else { continue };
            if self.sending.len() >= SENDING {
                return;
            }
            let of_owner = self.sending_of.entry(lane(record).to_owned()).or_default();
            if *of_owner >= SENDING_OF_OWNER || !self.busy.insert(receiver.clone()) {
                continue;
            }
            *of_owner += 1;
            self.turn = record.id;
            let (inner, lease, watch, epoch) = (&self.watches.0, self.lease, entry.watch.clone(), entry.epoch);
            let work = async move {
                let delivered = inner.deliver(lease, &watch).await;
                let owner = lane(&watch.record).to_owned();
                Sent { id: watch.record.id, owner, epoch, receiver, delivered }
            };
            self.sending.push(work.boxed());
        }
    }

    async fn sent(&mut self, Sent { id, owner, epoch, receiver, delivered }: Sent) -> Result<(), StoreError> {
        self.busy.remove(&receiver);
        if let Some(of_owner) = self.sending_of.get_mut(&owner) {
            *of_owner = of_owner.saturating_sub(1);
        }
        self.sending_of.retain(|_, of_owner| *of_owner > 0);
        let delivered = delivered?;
        let Some(entry) = self.entries.get_mut(&id) else { return Ok(()) };
        if entry.epoch != epoch {
            return self.reload(id).await;
        }
        match delivered {
            Delivered::Idle => entry.idle = true,
            Delivered::Suspended(lapse) => entry.suspend(lapse),
            Delivered::Tried(delivery) => entry.watch.delivery = delivery,
        }
        Ok(())
    }

    /// Time until the next evaluation or delivery, at most [`PACE`].
    fn pause(&self) -> Duration {
        let now = Utc::now();
        let evaluations = self.entries.values().map(|entry| entry.due).filter(|_| self.evaluating.is_empty());
        let retries = self.entries.values().filter_map(|entry| entry.watch.delivery.next_at);
        let next = evaluations.chain(retries).filter(|at| *at > now).min();
        next.and_then(|at| (at - now).to_std().ok()).map_or(PACE, |wait| wait.min(PACE))
    }

    fn measure(&self) {
        let now = Utc::now();
        let [mut active, mut paused, mut suspended, mut stale, mut stopped] = [0_u32; 5];
        let mut overdue = 0_i64;
        for Entry { watch: Watch { record, state, delivery, .. }, due, suspended: lapse, .. } in self.entries.values() {
            stopped += u32::from(matches!(delivery.stopped, Some(Stopped::Failing | Stopped::Gone)));
            if record.is_group() {
                continue;
            }
            match (state.ended_at, record.paused, lapse) {
                (Some(_), ..) => {}
                (None, true, _) => paused += 1,
                (None, false, Some(_)) => suspended += 1,
                (None, false, None) => {
                    active += 1;
                    overdue = overdue.max((now - *due).num_seconds());
                }
            }
            stale += u32::from(state.ended_at.is_none() && state.triggers.iter().any(|trigger| trigger.is_stale));
        }
        metrics::gauge!("assay_watches", "state" => "active").set(active);
        metrics::gauge!("assay_watches", "state" => "paused").set(paused);
        metrics::gauge!("assay_watches", "state" => "suspended").set(suspended);
        metrics::gauge!("assay_watches", "state" => "stale").set(stale);
        metrics::gauge!("assay_watch_deliveries_stopped").set(stopped);
        metrics::gauge!("assay_watch_overdue_seconds").set(overdue as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{records::Role, watches::NewWatch};

    #[test]
    fn a_digest_is_due_a_day_after_the_last_one_and_never_after_the_end() {
        let (hours, until) = (TimeDelta::hours, Utc::now() + TimeDelta::hours(30));
        let new = NewWatch {
            owner: "key".into(),
            by: "key".into(),
            subject: "Loans".into(),
            triggers: Vec::new(),
            every: Duration::from_secs(60),
            fires_at_once: false,
            statement: false,
            url: None,
            until,
            role: Role::Group,
            label: None,
        };
        let mut record = new.record().unwrap();
        let made = record.created_at;
        let told = |at| StateRecord { evaluated_at: Some(at), ..StateRecord::default() };
        assert_eq!(due(&record, &StateRecord::default()), made + hours(24));
        assert_eq!(due(&record, &told(made + hours(2))), made + hours(26));
        assert_eq!(due(&record, &told(made + hours(24))), until);
        record.paused = true;
        assert_eq!(due(&record, &StateRecord::default()), until);
    }
}
