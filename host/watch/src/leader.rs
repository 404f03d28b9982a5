//! The host that evaluates all watches and delivers their events, by a lease of the store.

mod entry;
mod gauges;
mod holders;
mod requests;
mod running;
mod sending;
mod sweeps;

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use chrono::Utc;
use uuid::Uuid;

use crate::{records::WATCHES, watches::Watches};
use assay_domain::Time;
use assay_store::{Lease, Lost, StoreError};
use assay_tasks::Spawner;
use entry::Entry;
pub(crate) use entry::due;
use running::Running;
use sending::Sending;
use sweeps::Swept;

/// Lifetime of the lease: how long another host waits after this one has died.
const LEASE: Duration = Duration::from_secs(8);
/// Wait while another host has the lease, and after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// Maximum pause between two looks at the requests of other hosts.
const PACE: Duration = Duration::from_secs(1);

/// The watches of the host that holds the lease.
struct Leader {
    watches: Watches,
    lease: Lease,
    entries: BTreeMap<Uuid, Entry>,
    sweep: Running<Vec<Swept>>,
    sending: Sending,
    /// When all keys are looked at next.
    keys_due: Time,
    measured_at: Option<Time>,
    /// The clock when it was last looked at.
    seen: Time,
}

impl Watches {
    /// Starts the task that evaluates and delivers while this host holds the lease.
    pub fn start(&self, tasks: &Spawner) {
        tasks.keep("watches", self.clone(), |this, stopping| async move {
            let work = this.0.store.lead("watches", LEASE, RETRY, "watches", |lease| {
                let this = this.clone();
                async move { this.rounds(lease).await }
            });
            stopping.run_until_cancelled(work).await;
        });
    }

    async fn rounds(&self, lease: Lease) -> Lost {
        let led = async { Leader::load(self.clone(), lease).await?.lead().await };
        match led.await {
            Ok(never) => match never {},
            Err(error) => error.into(),
        }
    }
}

impl Leader {
    async fn load(watches: Watches, lease: Lease) -> Result<Self, StoreError> {
        let ids = watches.0.store.list(&WATCHES).await?;
        let ids: Vec<Uuid> = ids.into_iter().map(|(_, record)| record.id).collect();
        let mut entries = BTreeMap::new();
        let loaded = watches.0.load_to_lead(&lease, &ids).await?;
        entries.extend(loaded.into_iter().map(|watch| (watch.record.id, Entry::new(watch, 0))));
        let (sweep, sending, now) = (Running::new("watch sweep"), Sending::new(), Utc::now());
        Ok(Self { watches, lease, entries, sweep, sending, keys_due: now, measured_at: None, seen: now })
    }

    async fn lead(mut self) -> Result<Infallible, StoreError> {
        let watches = self.watches.clone();
        loop {
            self.look_at_clock();
            self.take_requests().await?;
            self.look_at_keys().await?;
            self.evaluate();
            self.deliver();
            self.measure();
            let pause = self.pause();
            tokio::select! {
                Some(swept) = self.sweep.next() => self.evaluated(swept?).await?,
                Some(sent) = self.sending.next() => self.sent(sent?).await?,
                () = watches.0.requested.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Computes again what is due when, if the clock went back.
    fn look_at_clock(&mut self) {
        let now = Utc::now();
        if std::mem::replace(&mut self.seen, now) > now {
            (self.keys_due, self.measured_at) = (now, None);
            for entry in self.entries.values_mut().filter(|entry| entry.suspended.is_none()) {
                entry.due = due(&entry.watch.record, &entry.watch.state, now);
            }
        }
    }

    /// Time until the next evaluation or delivery, at most [`PACE`].
    fn pause(&self) -> Duration {
        let now = Utc::now();
        let evaluations = self.entries.values().map(|entry| entry.due).filter(|_| self.sweep.is_empty());
        let retries = self.entries.values().filter_map(|entry| entry.watch.delivery.next_at);
        let next = evaluations.chain(retries).filter(|at| *at > now).min();
        next.and_then(|at| (at - now).to_std().ok()).map_or(PACE, |wait| wait.min(PACE))
    }
}
