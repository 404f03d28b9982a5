//! The next delivery of one watch. The event is stored before it is sent, and the outcome after: a host that dies in
//! between leaves an event that is sent again under the same id.

use chrono::Utc;

use crate::{
    records::{self, AskedRecord, DeliveryRecord, Stopped, WatchRecord, receiver},
    schedule::Outcome,
    sender::Tried,
    watches::{Watch, WatchesInner},
};
use assay_access::Lapse;
use assay_store::{Batch, Lease, StoreError};

/// Attempts of a write that another one contradicts.
const TRIES: usize = 8;

/// What came of a look for something to deliver.
pub(crate) enum Delivered {
    /// There is nothing.
    Idle,
    /// The key behind the watch may not watch any more, so nothing was sent.
    Suspended(Lapse),
    Tried(DeliveryRecord),
}

/// What was done for a watch, to be stored.
enum Done {
    /// Its receiver has agreed before.
    Agreed,
    /// Nothing is left of this replay.
    Replayed((u64, u64)),
    /// The event that was tried has expired.
    Expired,
    /// An attempt, and the replay that it was of.
    Tried(Tried, Option<(u64, u64)>),
}

impl Watch {
    /// Whether its deliveries go where those of `before` went, and began with the same event.
    fn is_still(&self, before: &Self) -> bool {
        let receivers = |watch: &Self| watch.record.course.receivers;
        self.record.url == before.record.url
            && receivers(self) == receivers(before)
            && self.delivery.course == self.record.course
    }
}

impl WatchesInner {
    /// Asks the receiver of `watch` for its consent, or sends it the next event.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn deliver(&self, lease: &Lease, watch: &Watch) -> Result<Delivered, StoreError> {
        let id = watch.record.id;
        // Its owner may have changed or removed it since it was read; the leader then reads it again.
        let Some(watch) = self.load(&[id]).await?.pop().filter(|present| present.is_still(watch)) else {
            return Ok(Delivered::Idle);
        };
        let (record, delivery) = (&watch.record, &watch.delivery);
        let Some(url) = record.url.as_deref().filter(|_| !record.paused) else { return Ok(Delivered::Idle) };
        if let Some(lapse) = self.lapse(record).await? {
            return Ok(Delivered::Suspended(lapse));
        }
        if !delivery.confirmed {
            let done = match self.has_consent(record, url).await {
                true => Done::Agreed,
                false if !self.count_question(lease, record, url).await? => Done::Tried(Tried::not_asked(), None),
                false => {
                    let tried = self.ask(record, url).await;
                    if tried.outcome == Outcome::Taken {
                        self.give_question_back(lease, record, url).await?;
                    }
                    Done::Tried(tried, None)
                }
            };
            return self.write(lease, &watch, done).await.map(Delivered::Tried);
        }
        let key = (records::event_key(id, delivery.next() - 1), format!("{id}/"));
        let page = self.store.page(&records::EVENTS, Some(&key.0), std::num::NonZeroUsize::MIN).await?;
        let found = page.records.into_iter().find(|(at, _)| at.starts_with(&key.1)).map(|(_, event)| event);
        if let Some(replay) = delivery.replay.filter(|(_, to)| found.as_ref().is_none_or(|event| event.seq > *to)) {
            // The rest of its events has expired.
            return self.write(lease, &watch, Done::Replayed(replay)).await.map(Delivered::Tried);
        }
        let (next, tried) = (delivery.next(), delivery.latest.last().and_then(|last| last.seq));
        let is_gone = found.as_ref().is_none_or(|event| event.seq > next) && delivery.replay.is_none();
        if is_gone && delivery.attempts > 0 && tried == Some(next) {
            let event = next;
            let why = "an event expired before its receiver took it";
            tracing::warn!(watch = %id, why, event, "deliveries of a watch have stopped; its owner can resume them");
            return self.write(lease, &watch, Done::Expired).await.map(Delivered::Tried);
        }
        let Some(event) = found else { return Ok(Delivered::Idle) };
        if is_gone && delivery.attempts == 0 {
            let (first, sent) = (next, event.seq);
            tracing::warn!(watch = %id, first, sent, "events expired before their receiver took them");
        }
        let done = Done::Tried(self.send(record, url, &event).await, delivery.replay);
        self.write(lease, &watch, done).await.map(Delivered::Tried)
    }

    /// Counts a question of consent before it is asked. False if the owner may have no more asked in this day. Neither
    /// more watches nor changes of them make it more, also during a question, and neither do more payments.
    async fn count_question(&self, lease: &Lease, watch: &WatchRecord, url: &str) -> Result<bool, StoreError> {
        let Some(counts) = watch.asked(url) else { return Ok(false) };
        for _ in 0..TRIES {
            let mut batch = Batch::new().if_leased(lease);
            for (key, most) in &counts {
                let known = self.store.read(key).await?;
                if known.value.as_ref().is_some_and(|asked| asked.count >= *most) {
                    return Ok(false);
                }
                let (count, keep) = AskedRecord::after(known.value, Utc::now());
                batch = batch.if_unchanged(key, known.revision).put_expiring(key, &count, keep)?;
            }
            if self.store.commit(batch).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The receiver has agreed, so the question does not count.
    async fn give_question_back(&self, lease: &Lease, watch: &WatchRecord, url: &str) -> Result<(), StoreError> {
        for (key, _) in watch.asked(url).into_iter().flatten() {
            for _ in 0..TRIES {
                let known = self.store.read(&key).await?;
                let Some(asked) = known.value else { break };
                let (count, keep) = asked.given_back(Utc::now());
                let batch = Batch::new().if_leased(lease).if_unchanged(&key, known.revision);
                if self.store.commit(batch.put_expiring(&key, &count, keep)?).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Stores what was done for `watch`, unless it has another receiver since, or is gone.
    async fn write(&self, lease: &Lease, watch: &Watch, done: Done) -> Result<DeliveryRecord, StoreError> {
        let key = records::delivery(watch.record.id);
        let now = Utc::now();
        // The lowest digits of a clock are dice enough to spread retries.
        let dice = f64::from(now.timestamp_subsec_micros() % 1_000) / 999.0;
        let mut delivery = watch.delivery.clone();
        for _ in 0..TRIES {
            let Some(present) = self.load(&[watch.record.id]).await?.pop() else { return Ok(delivery) };
            if !present.is_still(watch) {
                // What one receiver answered, such as its consent, is nothing that another one said.
                return Ok(present.delivery);
            }
            let known = self.store.read(&key).await?;
            delivery = known.value.unwrap_or_default();
            let mut batch = present.if_unchanged(Batch::new().if_leased(lease))?.if_unchanged(&key, known.revision);
            match &done {
                Done::Agreed => {
                    delivery.confirmed = true;
                    delivery.begin_schedule();
                }
                Done::Expired => delivery.stopped = Some(Stopped::Failing),
                Done::Replayed(over) => {
                    delivery.replay = delivery.replay.filter(|replay| replay != over);
                    delivery.begin_schedule();
                }
                Done::Tried(Tried { attempt, outcome }, replay) => {
                    let agreed = attempt.seq.is_none() && *outcome == Outcome::Taken;
                    if let Some(receiver) = watch.record.url.as_deref().filter(|_| agreed).and_then(receiver) {
                        batch = batch.put(&records::consent(&watch.record.owner, &receiver), &now)?;
                    }
                    delivery.tried((attempt.clone(), *replay), *outcome, (now, dice));
                }
            }
            if self.store.commit(batch.put(&key, &delivery)?).await? {
                break;
            }
        }
        if let Done::Tried(Tried { attempt, outcome }, _) = &done {
            let label = match outcome {
                Outcome::Taken => "delivered",
                Outcome::Gone => "gone",
                Outcome::Failed(_) => "failed",
            };
            metrics::counter!("assay_watch_deliveries_total", "outcome" => label).increment(1);
            if let Some(stopped) = delivery.stopped {
                let why = match stopped {
                    Stopped::Failing => "every attempt failed",
                    Stopped::Gone => "the receiver answered 410",
                };
                let (watch, last) = (watch.record.id, &attempt.outcome);
                tracing::warn!(%watch, why, last, "deliveries of a watch have stopped; its owner can resume them");
            }
        }
        Ok(delivery)
    }
}
