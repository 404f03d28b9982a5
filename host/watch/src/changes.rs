//! Changes of a watch by its owner. Each is one write, which is refused if the watch has changed meanwhile, and then
//! tried again.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use uuid::Uuid;

use crate::{
    records::{self, RequestRecord, requested},
    secret::WebhookSecret,
    trigger::Trigger,
    watches::{Watch, WatchError, Watches},
};
use assay_domain::Time;
use assay_store::{Batch, Revision};

/// How long the secret before a rotation still signs.
const OVERLAP: TimeDelta = TimeDelta::days(1);
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
}

impl Watches {
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn change(&self, owner: &str, id: Uuid, change: WatchChange) -> Result<Watch, WatchError> {
        for _ in 0..TRIES {
            let found = self.find(owner, id).await?;
            if found.state.ended_at.is_some() {
                return Err(WatchError::Ended);
            }
            let (old, mut delivery) = (found.record, found.delivery);
            let mut record = old.clone();
            let now = Utc::now();
            if let Some(triggers) = change.triggers.clone().filter(|triggers| *triggers != old.triggers) {
                (record.triggers, record.generation) = (triggers, old.generation + 1);
            }
            record.every = change.every.unwrap_or(old.every);
            record.until = change.until.unwrap_or(old.until);
            record.paused = change.paused.unwrap_or(old.paused);
            if change.rotates_secret {
                record.previous =
                    Some((std::mem::replace(&mut record.secret, WebhookSecret::generate()?), now + OVERLAP));
            }
            let delivery_key = records::delivery(id);
            let mut batch = Batch::new()
                .if_unchanged(&records::watch(id), Revision::of(&records::watch(id), &old)?)
                .put(&records::watch(id), &record)?;
            if change.url.is_some() || change.paused == Some(false) {
                let known = self.0.store.read(&delivery_key).await?;
                delivery = known.value.unwrap_or_default();
                delivery.resume();
                if let Some(url) = change.url.clone().filter(|url| *url != old.url) {
                    (record.url, delivery.confirmed) = (url, false);
                    // A new receiver begins with the next event.
                    (delivery.through, delivery.replay) = (found.state.next.saturating_sub(1), None);
                }
                batch = Batch::new()
                    .if_unchanged(&records::watch(id), Revision::of(&records::watch(id), &old)?)
                    .if_unchanged(&delivery_key, known.revision)
                    .put(&records::watch(id), &record)?
                    .put(&delivery_key, &delivery)?;
            }
            if self.0.store.commit(requested(batch, id, &RequestRecord::Changed)?).await? {
                self.0.requested.notify_one();
                return Ok(Watch { record, state: found.state, delivery, saved: None });
            }
        }
        Err(WatchError::Contended)
    }

    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn remove(&self, owner: &str, id: Uuid) -> Result<(), WatchError> {
        for _ in 0..TRIES {
            let found = self.find(owner, id).await?;
            let revision = found.state.revision(id)?;
            let Watch { record, state, .. } = found;
            let mut batch = Batch::new()
                .if_unchanged(&records::watch(id), Revision::of(&records::watch(id), &record)?)
                .if_unchanged(&records::state(id), revision)
                .remove(&records::watch(id))
                .remove(&records::own(&record))
                .remove(&records::state(id))
                .remove(&records::delivery(id));
            if state.ended_at.is_none() {
                batch = batch.refund(&records::count(), 1).refund(&records::own_count(owner), 1);
            }
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
        let found = self.find(owner, id).await?;
        if found.state.ended_at.is_some() {
            return Err(WatchError::Ended);
        }
        self.0.store.commit(requested(Batch::new(), id, &RequestRecord::Test)?).await?;
        self.0.requested.notify_one();
        Ok(found)
    }

    /// Delivers the events from `from` to `to` once more, before all others.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn replay(&self, owner: &str, id: Uuid, from: u64, to: u64) -> Result<Watch, WatchError> {
        for _ in 0..TRIES {
            let found = self.find(owner, id).await?;
            let (key, last) = (records::delivery(id), found.state.next.saturating_sub(1));
            let known = self.0.store.read(&key).await?;
            let mut delivery = known.value.unwrap_or_default();
            delivery.replay = Some((from.max(1), to.min(last))).filter(|(from, to)| from <= to);
            delivery.resume();
            let batch = Batch::new().if_unchanged(&key, known.revision).put(&key, &delivery)?;
            if self.0.store.commit(requested(batch, id, &RequestRecord::Changed)?).await? {
                self.0.requested.notify_one();
                return Ok(Watch { delivery, ..found });
            }
        }
        Err(WatchError::Contended)
    }
}
