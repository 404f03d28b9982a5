//! The keys behind the watches: a watch whose key may not watch any more is suspended, and ends if the key was revoked.

use std::{collections::HashMap, time::Duration};

use chrono::{TimeDelta, Utc};

use super::{Entry, Leader, due};
use crate::{records::WatchRecord, watches::WatchesInner};
use assay_access::{Lapse, PriceClass};
use assay_domain::Time;
use assay_store::StoreError;

/// Time between two looks at all keys. Each evaluation and each delivery looks at its own key, too.
const EVERY: Duration = Duration::from_secs(5);

impl WatchesInner {
    /// Why the key behind a watch may not watch any more; `None` if it may.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn lapse(&self, watch: &WatchRecord) -> Result<Option<Lapse>, StoreError> {
        // It was paid once, and no key stands behind it.
        if watch.paid_until.is_some() {
            return Ok(None);
        }
        self.access.lapse(&watch.owner, PriceClass::Watch).await
    }
}

impl Leader {
    /// Suspends, resumes and ends watches as their keys demand, also those that are paused or due in a day.
    pub(super) async fn look_at_keys(&mut self) -> Result<(), StoreError> {
        let now = Utc::now();
        if self.keys_due > now {
            return Ok(());
        }
        self.keys_due = now + TimeDelta::from_std(EVERY).unwrap_or_default();
        let mut known = HashMap::<String, Option<Lapse>>::new();
        for entry in self.entries.values_mut().filter(|entry| entry.watch.state.ended_at.is_none()) {
            let record = &entry.watch.record;
            let lapse = match known.get(&record.owner) {
                Some(lapse) => *lapse,
                None => {
                    let lapse = self.watches.0.lapse(record).await?;
                    known.insert(record.owner.clone(), lapse);
                    lapse
                }
            };
            entry.stand(lapse, now);
        }
        Ok(())
    }
}

impl Entry {
    /// The watch as its key lets it be, at `now`.
    fn stand(&mut self, lapse: Option<Lapse>, now: Time) {
        match lapse {
            // The evaluation ends it.
            Some(Lapse::Revoked) => self.due = now,
            Some(lapse) => self.suspend(lapse),
            None if self.suspended.take().is_some() => {
                self.due = due(&self.watch.record, &self.watch.state, now);
            }
            None => {}
        }
    }

    /// Its key may not watch any more. It is neither evaluated nor delivered until the key may again.
    pub(super) fn suspend(&mut self, lapse: Lapse) {
        if self.watch.state.ended_at.is_none() {
            self.due = self.watch.record.until;
        }
        if self.suspended.replace(lapse).is_none() {
            let WatchRecord { id, by, .. } = &self.watch.record;
            tracing::warn!(watch = %id, %by, why = lapse.as_str(), "watch suspended: its key may not watch any more");
        }
    }
}
