//! Changes of a watch by its owner. Each is one write, which is refused if the watch has changed meanwhile, and then
//! tried again.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use uuid::Uuid;

use crate::{
    records::{self, AskedRecord, RequestRecord, Role, StateRecord, WatchRecord, requested},
    secret::WebhookSecret,
    trigger::Trigger,
    watches::{Watch, WatchError, Watches},
};
use assay_domain::Time;
use assay_store::{Batch, Revision, StoreError};

/// How long a secret that was replaced still signs.
const OVERLAP: TimeDelta = TimeDelta::days(1);
/// Secrets that sign together with the newest one.
const MOST_REPLACED: usize = 7;
/// Test events of a watch in a day: they are free, and each is kept and delivered.
const MOST_TESTS: u32 = 100;
/// Attempts of a write that another one contradicts.
const TRIES: usize = 8;

/// Changes to a watch; absent ones leave it as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchChange {
    pub triggers: Option<Vec<Trigger>>,
    pub every: Option<Duration>,
    /// `Some(None)` removes it.
    pub url: Option<Option<String>>,
    pub until: Option<Time>,
    pub paused: Option<bool>,
    pub rotates_secret: bool,
    /// `Some(None)` removes it.
    pub label: Option<Option<String>>,
}

/// What the price of another end was computed from. The change is refused once that is different.
#[derive(Debug)]
pub(crate) struct Priced {
    pub until: Time,
    /// Of the number of watches in the group.
    pub members: Revision,
}

impl Priced {
    /// Lets `batch` be refused once the group of this price has other watches.
    fn guard(&self, batch: Batch, found: &Watch) -> Result<Batch, WatchError> {
        if self.until != found.stored.until {
            return Err(WatchError::Contended);
        }
        Ok(batch.if_unchanged(&records::member_count(found.stored.id), self.members.clone()))
    }
}

impl WatchChange {
    /// Whether it changes what a watch in a group has from its group.
    fn is_of_group(&self) -> bool {
        let Self { triggers, every, url, until, paused: _, rotates_secret, label: _ } = self;
        triggers.is_some() || every.is_some() || url.is_some() || until.is_some() || *rotates_secret
    }
}

/// Adds to `batch` that the place of a watch or a group is free.
pub(crate) fn give_place_back(batch: Batch, owner: &str) -> Batch {
    batch.refund(&records::count(), 1).refund(&records::own_count(owner), 1)
}

/// Adds to `batch` that nothing is left of a watch or a group.
pub(crate) fn forget(batch: Batch, record: &WatchRecord, state: &StateRecord) -> Batch {
    let holds_place = state.ended_at.is_none() || state.holds_place;
    let batch = if holds_place { give_place_back(batch, &record.owner) } else { batch };
    let batch = batch
        .remove(&records::watch(record.id))
        .remove(&records::own(record))
        .remove(&records::state(record.id))
        .remove(&records::delivery(record.id));
    match record.role {
        Role::Single => batch,
        Role::Member(group) => {
            let member = records::member(group, &record.subject);
            batch.remove(&member).refund(&records::member_count(group), 1)
        }
        // Refused while it has watches.
        Role::Group => {
            let count = records::member_count(record.id);
            batch.take(&count, 0, 0).remove(&count)
        }
    }
}

impl WatchRecord {
    /// Changes the end. A key's watch keeps the time that the key has paid for.
    fn end(&mut self, until: Time) {
        let bought = self.bought();
        self.until = until;
        self.bought_until = Some(bought).filter(|bought| self.role == Role::Single && *bought > until);
    }

    /// The end that the key has paid for.
    pub(crate) fn bought(&self) -> Time {
        self.bought_until.unwrap_or(self.until)
    }

    /// Replaces the secret. Each of those before it signs for [`OVERLAP`] after its own replacement.
    fn rotate(&mut self, new: WebhookSecret, now: Time) -> Result<(), WatchError> {
        self.replaced.retain(|(_, until)| *until > now);
        if self.replaced.len() >= MOST_REPLACED {
            return Err(WatchError::Rotated(MOST_REPLACED));
        }
        self.replaced.push((std::mem::replace(&mut self.secret, new), now + OVERLAP));
        Ok(())
    }
}

impl Watch {
    /// Lets `batch` be refused once the watch has changed, was removed, or has another state than it was read with.
    pub(crate) fn unless_changed(&self, batch: Batch) -> Result<Batch, StoreError> {
        let (key, state) = (records::watch(self.stored.id), records::state(self.stored.id));
        let batch = batch.if_unchanged(&key, Revision::of(&key, &self.stored)?);
        Ok(batch.if_unchanged(&state, self.state.revision(self.stored.id)?))
    }

    /// Adds to `batch` that the watch is removed, unless it has changed.
    pub(crate) fn removed(&self, batch: Batch) -> Result<Batch, StoreError> {
        Ok(forget(self.unless_changed(batch)?, &self.stored, &self.state))
    }
}

impl Watches {
    /// # Errors
    /// [`WatchError`]; [`WatchError::Contended`] also if `priced` is not true any more.
    pub(crate) async fn change(
        &self,
        (owner, id): (&str, Uuid),
        change: &WatchChange,
        priced: Option<&Priced>,
    ) -> Result<Watch, WatchError> {
        for _ in 0..TRIES {
            let found = self.find(owner, id).await?;
            if found.state.ended_at.is_some() {
                return Err(WatchError::Ended);
            }
            if let Some(group) = found.record.group().filter(|_| change.is_of_group()) {
                return Err(WatchError::InGroup(group));
            }
            let (old, mut delivery, now) = (found.stored.clone(), found.delivery.clone(), Utc::now());
            let mut record = old.clone();
            let mut batch = found.unless_changed(Batch::new())?;
            if let Some(priced) = priced {
                batch = priced.guard(batch, &found)?;
            }
            if let Some(triggers) = change.triggers.clone().filter(|triggers| *triggers != old.triggers) {
                (record.triggers, record.generation) = (triggers, old.generation + 1);
            }
            record.every = change.every.unwrap_or(old.every);
            record.end(change.until.unwrap_or(old.until));
            record.paused = change.paused.unwrap_or(old.paused);
            if let Some(label) = change.label.clone() {
                record.label = label;
            }
            if change.rotates_secret {
                record.rotate(WebhookSecret::generate()?, now)?;
            }
            if change.url.is_some() || change.paused == Some(false) {
                record.course.resumptions += 1;
                let key = records::delivery(id);
                let known = self.0.store.read(&key).await?;
                delivery = known.value.unwrap_or_default();
                delivery.resume();
                if let Some(url) = change.url.clone().filter(|url| *url != old.url) {
                    (record.url, delivery.confirmed) = (url, false);
                    record.course.receivers += 1;
                    // Events that were not delivered go to the new receiver; after none, it begins with the next.
                    if old.url.is_none() {
                        record.course.beginnings += 1;
                        delivery.begin(found.state.next);
                    }
                }
                // The delivery of a watch in a group follows the course of the group.
                delivery.course = if record.group().is_some() { delivery.course } else { record.course };
                batch = batch.if_unchanged(&key, known.revision).put(&key, &delivery)?;
            }
            batch = batch.put(&records::watch(id), &record)?;
            if self.0.store.commit(requested(batch, id, &RequestRecord::Changed)?).await? {
                self.0.requested.notify_one();
                return Ok(Watch { state: found.state, delivery, ..Watch::new(record, found.group) });
            }
        }
        Err(WatchError::Contended)
    }

    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn remove(&self, owner: &str, id: Uuid) -> Result<(), WatchError> {
        for _ in 0..TRIES {
            let found = self.find(owner, id).await?;
            let batch = found.removed(Batch::new())?;
            if self.0.store.commit(requested(batch, id, &RequestRecord::Changed)?).await? {
                self.0.requested.notify_one();
                return Ok(());
            }
        }
        Err(WatchError::Contended)
    }

    /// Lets the evaluating host write an event that tests the way.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn test(&self, owner: &str, id: Uuid) -> Result<Watch, WatchError> {
        for _ in 0..TRIES {
            let found = self.find(owner, id).await?;
            if found.state.ended_at.is_some() {
                return Err(WatchError::Ended);
            }
            let (key, now) = (records::tests(id), Utc::now());
            let known = self.0.store.read(&key).await?;
            if known.value.as_ref().is_some_and(|tests| tests.count >= MOST_TESTS) {
                return Err(WatchError::Tested(MOST_TESTS));
            }
            let (count, keep) = AskedRecord::after(known.value, now);
            let batch = found.unless_changed(Batch::new())?;
            let batch = batch.if_unchanged(&key, known.revision).put_expiring(&key, &count, keep)?;
            if self.0.store.commit(requested(batch, id, &RequestRecord::Test)?).await? {
                self.0.requested.notify_one();
                return Ok(found);
            }
        }
        Err(WatchError::Contended)
    }

    /// Delivers the events from `from` to `to` once more, before all others.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn replay(&self, owner: &str, id: Uuid, from: u64, to: u64) -> Result<Watch, WatchError> {
        for _ in 0..TRIES {
            let found = self.find(owner, id).await?;
            if found.record.url.is_none() {
                return Err(WatchError::NoReceiver);
            }
            let last = found.state.next.saturating_sub(1);
            if from > last {
                return Err(WatchError::NotYet(last));
            }
            let first = self.events(id, from - 1, 1).await?.first().map(|event| event.seq);
            if first != Some(from) {
                return Err(WatchError::NotKept { before: first.unwrap_or(last + 1) });
            }
            let key = records::delivery(id);
            let known = self.0.store.read(&key).await?;
            let mut delivery = known.value.unwrap_or_default();
            delivery.replay = Some((from, to.min(last)));
            delivery.resume();
            let batch = found.unless_changed(Batch::new())?;
            let batch = batch.if_unchanged(&key, known.revision).put(&key, &delivery)?;
            if self.0.store.commit(requested(batch, id, &RequestRecord::Changed)?).await? {
                self.0.requested.notify_one();
                return Ok(Watch { delivery, ..found });
            }
        }
        Err(WatchError::Contended)
    }
}
