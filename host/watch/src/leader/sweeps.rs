//! The sweeps of the leader: at most one at a time, so that reads of watches leave room for those of requests.

use std::collections::{BTreeSet, HashSet};

use chrono::{TimeDelta, Utc};
use uuid::Uuid;

use super::{Entry, Leader, entry::due};
use crate::evaluate::Evaluated;
use assay_store::StoreError;

/// Time until the next look at a watch that could not be evaluated.
const AGAIN: TimeDelta = TimeDelta::seconds(1);

/// A watch after its evaluation, which began in this epoch.
pub(super) struct Swept {
    id: Uuid,
    epoch: u64,
    evaluated: Evaluated,
}

impl Leader {
    /// Starts a sweep of the watches that are due, in the order of [`Entry::order`], unless one is in progress.
    pub(super) fn evaluate(&mut self) {
        if !self.sweep.is_empty() {
            return;
        }
        let now = Utc::now();
        let mut due: Vec<_> = self.entries.values().filter(|entry| entry.due <= now).collect();
        due.sort_by_key(|entry| entry.order(now));
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
        let (watches, lease) = (self.watches.clone(), self.lease.clone());
        self.sweep.start(async move {
            let evaluated = watches.0.evaluate(&lease, &swept).await?.into_iter();
            let swept = begun.into_iter().zip(evaluated);
            Ok(swept.map(|((id, epoch), evaluated)| Swept { id, epoch, evaluated }).collect())
        });
    }

    /// Evaluates these watches, which follow a script: nothing is read for them. Those that were changed meanwhile are
    /// left in `ids`.
    pub(super) async fn evaluate_now(&mut self, ids: &mut BTreeSet<Uuid>) -> Result<(), StoreError> {
        let entries = ids.iter().filter_map(|id| self.entries.get(id));
        let due = entries.filter(|entry| !entry.watch.record.paused && entry.suspended.is_none());
        let due: Vec<_> = due.map(|entry| (entry.epoch, entry.watch.clone())).collect();
        ids.clear();
        if due.is_empty() {
            return Ok(());
        }
        let (begun, watches): (Vec<_>, Vec<_>) =
            due.into_iter().map(|(epoch, watch)| ((watch.record.id, epoch), watch)).unzip();
        let evaluated = self.watches.0.evaluate(&self.lease, &watches).await?;
        let swept = begun.into_iter().zip(evaluated);
        let swept: Vec<_> = swept.map(|((id, epoch), evaluated)| Swept { id, epoch, evaluated }).collect();
        let contradicted = swept.iter().filter(|swept| matches!(swept.evaluated, Evaluated::Changed));
        ids.extend(contradicted.map(|swept| swept.id));
        self.evaluated(swept).await
    }

    pub(super) async fn evaluated(&mut self, swept: Vec<Swept>) -> Result<(), StoreError> {
        let (mut changed, mut contradicted) = (Vec::new(), Vec::new());
        for Swept { id, epoch, evaluated } in swept {
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            if entry.epoch != epoch {
                // A request was taken meanwhile: the state that the evaluation began with is not the last one.
                changed.push(id);
                continue;
            }
            match evaluated {
                Evaluated::Changed => contradicted.push(id),
                Evaluated::Forgotten => _ = self.entries.remove(&id),
                evaluated => entry.take(evaluated),
            }
        }
        self.reload(changed.into_iter().chain(contradicted.iter().copied())).await?;
        for id in contradicted {
            if let Some(entry) = self.entries.get_mut(&id) {
                // If the lease is lost, that is noticed first.
                entry.due = Utc::now() + AGAIN;
            }
        }
        Ok(())
    }
}

impl Entry {
    pub(super) fn take(&mut self, evaluated: Evaluated) {
        match evaluated {
            Evaluated::Stored { state, told } => {
                (self.watch.state, self.watch.saved) = (state, None);
                if told {
                    (self.idle, self.epoch) = (false, self.epoch + 1);
                }
            }
            Evaluated::Unsaved(state) => self.watch.advance(state),
            Evaluated::Suspended(lapse) => return self.suspend(lapse),
            Evaluated::Waiting => {
                self.due = Utc::now() + AGAIN;
                return;
            }
            Evaluated::Changed | Evaluated::Forgotten => return,
        }
        self.suspended = None;
        let now = Utc::now();
        // An ended watch only waits for its events to expire, which takes days.
        let least = if self.watch.state.ended_at.is_some() { now + TimeDelta::days(1) } else { now };
        self.due = due(&self.watch.record, &self.watch.state, now).max(least);
    }
}
