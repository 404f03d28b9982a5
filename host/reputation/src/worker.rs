//! The worker: one at a time for an account, by a lease of the store. It prepares several documents at once and sends
//! transactions one after another.

use std::{collections::HashSet, pin::pin, time::Duration};

use chrono::Utc;
use futures::{
    StreamExt,
    future::{BoxFuture, FutureExt},
    stream::FuturesUnordered,
};
use uuid::Uuid;

use super::{
    Client, Event, Queue, Reputation,
    records::{self, OPEN_SUBMISSIONS, Stage, SubmissionRecord},
};
use assay_payment::records::PaymentRecord;
use assay_store::{Lease, Lost, StoreError};
use assay_tasks::Spawner;

/// Lifetime of the lease: how long another host waits after a worker has died.
const LEASE: Duration = Duration::from_secs(8);
/// Wait while another host has the lease, and after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// Submissions prepared at once.
const AT_ONCE: usize = 8;
/// The shortest poll while nothing is open.
const IDLE_POLL: Duration = Duration::from_millis(500);

impl Reputation {
    /// Starts the worker.
    pub fn start(&self, tasks: &Spawner) {
        tasks.keep("reputation", self.clone(), |this, stopping| async move {
            stopping.run_until_cancelled(this.work()).await;
        });
    }

    async fn work(&self) {
        let Client { registries, account } = self.inner.effects.client();
        let name = format!("reputation/{}/{account:#x}", registries.chain);
        self.inner
            .store
            .lead(&name, LEASE, RETRY, "submissions", |lease| async move { self.rounds(&lease).await })
            .await;
    }

    /// Works until the lease or the store is lost.
    async fn rounds(&self, lease: &Lease) -> Lost {
        let mut worker = SubmissionWorker { reputation: self, lease, preparing: Preparing::default() };
        loop {
            if let Err(lost) = worker.round().await {
                return lost;
            }
        }
    }

    /// Every submission that has not ended, oldest first.
    pub(super) async fn open(&self) -> Result<Vec<SubmissionRecord>, StoreError> {
        let ids = self.inner.store.list(&OPEN_SUBMISSIONS).await?;
        let keys: Vec<_> = ids.into_iter().map(|(_, id)| records::submission(id)).collect();
        Ok(self
            .inner
            .store
            .get_many(&keys)
            .await?
            .into_iter()
            .flatten()
            .filter(|record| !record.stage.is_terminal())
            .collect())
    }
}

impl Reputation {
    /// The open payments that the account of the submissions settles, oldest first.
    pub(super) async fn open_payments(&self) -> Result<Vec<PaymentRecord>, StoreError> {
        match &self.inner.payments {
            Some(local) => local.open().await,
            None => Ok(Vec::new()),
        }
    }
}

/// A worker that holds the lease.
struct SubmissionWorker<'a> {
    reputation: &'a Reputation,
    lease: &'a Lease,
    preparing: Preparing<'a>,
}

/// Submissions that are being prepared.
#[derive(Default)]
struct Preparing<'a> {
    ids: HashSet<Uuid>,
    work: FuturesUnordered<BoxFuture<'a, (Uuid, Result<(), Lost>)>>,
}

impl Preparing<'_> {
    /// Completes when the next submission is prepared, and never if there is none.
    async fn next(&mut self) -> Result<(), Lost> {
        match self.work.next().await {
            Some((id, done)) => {
                self.ids.remove(&id);
                done
            }
            None => std::future::pending().await,
        }
    }
}

impl SubmissionWorker<'_> {
    /// One round over all open submissions, and a pause.
    async fn round(&mut self) -> Result<(), Lost> {
        let Self { reputation, lease, .. } = *self;
        let open = reputation.open().await?;
        let payments = reputation.open_payments().await?;
        Queue::of(&open).measure();
        let (landing, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(|record| record.stage == Stage::Submitting);
        self.prepare(rest).await?;
        let nothing = landing.is_empty() && payments.is_empty();
        let idle = nothing && self.preparing.work.is_empty();
        if !nothing {
            // Documents that are finished meanwhile are taken with the next round.
            let mut land = pin!(reputation.inner.effects.land(reputation, lease, landing, payments));
            loop {
                tokio::select! {
                    done = &mut land => break done?,
                    done = self.preparing.next() => done?,
                }
            }
        }
        let poll = reputation.inner.settings.poll;
        tokio::select! {
            () = tokio::time::sleep(if idle { poll.max(IDLE_POLL) } else { poll }) => Ok(()),
            () = reputation.inner.accepted.notified() => Ok(()),
            () = reputation.payment_added() => Ok(()),
            done = self.preparing.next() => done,
        }
    }

    /// Starts on the submissions that are due, as far as there is room.
    async fn prepare(&mut self, records: Vec<SubmissionRecord>) -> Result<(), Lost> {
        let Self { reputation, lease, .. } = *self;
        let now = Utc::now();
        for record in records.into_iter().filter(|record| record.next_at <= now) {
            let id = record.id;
            if self.preparing.work.len() < AT_ONCE {
                if self.preparing.ids.insert(id) {
                    self.preparing.work.push(async move { (id, reputation.prepare(lease, record).await) }.boxed());
                }
            } else if !self.preparing.ids.contains(&id) && record.trouble.is_none() {
                let turn = format!("{AT_ONCE} submissions are being prepared, the maximum; this one waits");
                reputation.advance(lease, &record, Event::Waits(Some(turn))).await?;
            }
        }
        Ok(())
    }
}
