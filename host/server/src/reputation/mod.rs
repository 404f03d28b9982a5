//! Submissions of reputation: accepted and paid in one write, scored, documented on IPFS, and given to the ERC-8004
//! registry, each tag once. The record holds every decision, `step` alone changes it, and one worker takes the next
//! step.
//!
//! No submission is lost: an accepted one is listed as open in the store until it ends. No feedback is given twice:
//! every outside effect is recorded before it happens, and all transactions for one feedback share a nonce until that
//! nonce is spent for good.

mod appraiser;
mod counter;
mod document;
mod estimate;
mod landing;
mod losses;
mod notices;
mod own;
mod prepare;
mod queue;
pub mod records;
mod rehearsal;
mod request;
#[cfg(test)]
mod sample;
mod step;
mod submit;
mod warnings;
mod worker;

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    access::{
        records::{self as access, Payer},
        x402::{
            Local,
            records::{self as payments, PaymentState},
        },
    },
    config,
};
use assay_chain::Ipfs;
use assay_domain::Tag;
use assay_outbox::slot::Outbox;
use assay_store::{Batch, Lease, Lost, Store, StoreError};
use losses::{Limits, Loss};
use records::{Stage, SubmissionRecord};
use step::{Event, step};
use warnings::Warnings;

pub use appraiser::{Appraiser, NoAppraisal};
pub use counter::Counter;
pub use losses::Barred;
pub use notices::{Notices, Submissions, Waiting};
pub use own::{OwnPage, OwnQuery};
pub use queue::Queue;
pub use rehearsal::Rehearsal;
pub use request::Request;
pub use submit::SubmitError;

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct Reputation {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    outbox: Outbox,
    ipfs: Ipfs,
    appraiser: Appraiser,
    /// The payments that the same account settles; `None` if this server settles none.
    payments: Option<Local>,
    settings: Settings,
    warnings: Warnings,
    /// Wakes the worker when a submission is accepted.
    accepted: Notify,
    /// Tells of a step that is stored.
    changed: Notify,
}

#[derive(Debug, Clone)]
struct Settings {
    poll: Duration,
    coverage_wait: Duration,
    give_up_after: Duration,
    endpoint: String,
    limits: Limits,
}

impl Reputation {
    pub fn new(
        config: &config::Reputation,
        store: Store,
        outbox: Outbox,
        ipfs: Ipfs,
        appraiser: Appraiser,
        payments: Option<Local>,
    ) -> Self {
        let settings = Settings {
            poll: config.poll,
            coverage_wait: config.coverage_wait,
            give_up_after: config.give_up_after,
            endpoint: config.endpoint.clone(),
            limits: Limits::new(config),
        };
        let (warnings, accepted, changed) = (Warnings::default(), Notify::new(), Notify::new());
        let inner = Inner { store, outbox, ipfs, appraiser, payments, settings, warnings, accepted, changed };
        Self { inner: Arc::new(inner) }
    }

    /// The submission with this id for this agent.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn find(&self, agent_id: u64, id: Uuid) -> Result<Option<SubmissionRecord>, StoreError> {
        Ok(self.inner.store.get(&records::submission(id)).await?.filter(|record| record.agent_id == agent_id))
    }

    /// The submissions with these ids, whichever agent they are for.
    ///
    /// # Errors
    /// The store's failure.
    async fn several(&self, ids: &[Uuid]) -> Result<Vec<Option<SubmissionRecord>>, StoreError> {
        let keys: Vec<_> = ids.iter().copied().map(records::submission).collect();
        self.inner.store.get_many(&keys).await
    }

    /// Completes when a payment may have been added.
    async fn payment_added(&self) {
        match &self.inner.payments {
            Some(local) => local.news().await,
            None => std::future::pending().await,
        }
    }

    /// Completes after a step of this process; steps since the last call count as one.
    async fn changed(&self) {
        self.inner.changed.notified().await;
    }

    /// Expected seconds from the acceptance of `record` to its confirmation.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn expected_seconds(&self, record: &SubmissionRecord) -> Result<u32, StoreError> {
        let durations = self.inner.store.get(&records::submission_durations()).await?.unwrap_or_default();
        Ok(estimate::expected(&durations, record.ahead, self.at_once()))
    }

    /// Submissions whose transactions are under way at once.
    fn at_once(&self) -> usize {
        (self.inner.outbox.rules().most / Tag::ALL.len()).max(1)
    }

    /// Applies `event` to `record` and stores the result in one write, with refund, duration and the gas of a reverted
    /// transaction. `None` where nothing changes.
    ///
    /// # Errors
    /// [`Lost`] where another worker has taken over, or the store fails: nothing more may be done then.
    async fn advance(
        &self,
        lease: &Lease,
        record: &SubmissionRecord,
        event: Event,
    ) -> Result<Option<SubmissionRecord>, Lost> {
        if let Event::Retry(what) = &event {
            metrics::counter!("assay_submission_retries_total", "status" => record.stage.as_str()).increment(1);
            self.warn(record, what);
        }
        let loss = Loss::of(&event);
        let Some(next) = step(record, event, chrono::Utc::now(), self.inner.settings.give_up_after) else {
            return Ok(None);
        };
        let mut batch = Batch::new().if_leased(lease).put(&records::submission(next.id), &next)?;
        if next.stage != record.stage {
            batch = next.listed(batch)?;
        }
        if next.stage.is_terminal() {
            batch = batch.remove(&records::open_submission(next.created_at, next.id));
        }
        match next.stage {
            Stage::Confirmed => {
                let seconds = u32::try_from((next.updated_at - next.created_at).num_seconds()).unwrap_or_default();
                let known = self.inner.store.get(&records::submission_durations()).await?.unwrap_or_default();
                let known = estimate::remembered(known, seconds, next.ahead, self.at_once());
                batch = batch.put(&records::submission_durations(), &known)?;
            }
            Stage::Failed if !next.charged => batch = self.refund(batch, &next.payer).await?,
            _ => {}
        }
        if let Some(loss) = loss {
            batch = self.count(batch, &next, loss).await?;
        }
        if !self.inner.store.commit(batch).await? {
            return Err(Lost::Lease);
        }
        self.inner.changed.notify_one();
        if next.stage != record.stage {
            let (id, status, error) = (next.id, next.stage.as_str(), next.error.as_deref());
            metrics::counter!("assay_submissions_total", "status" => status).increment(1);
            tracing::info!(submission = %id, agent = next.agent_id, status, error, "submission");
        }
        Ok(Some(next))
    }

    /// Says what a submission waits for. That chains are still being read is usual.
    fn warn(&self, record: &SubmissionRecord, what: &str) {
        let (submission, status) = (record.id, record.stage.as_str());
        if record.stage == Stage::Scoring {
            tracing::debug!(%submission, status, what, "a submission waits");
        } else if self.inner.warnings.is_due(what) {
            tracing::warn!(%submission, status, what, "a submission waits");
        }
    }

    /// Adds the refund of units, or the release of the payment, to `batch`.
    async fn refund(&self, batch: Batch, payer: &Payer) -> Result<Batch, StoreError> {
        let id = match payer {
            Payer::Key { limit: None, .. } => return Ok(batch),
            Payer::Key { meter, units, limit: Some(_) } => return Ok(batch.refund(&access::units(meter), *units)),
            Payer::Payment(id) => id,
        };
        let read = self.inner.store.read(&payments::payment(id)).await?;
        let Some(mut payment) = read.value else { return Ok(batch) };
        if let PaymentState::Settled { bought, .. } = &mut payment.state {
            // It stays bound to its request: its signature is public by now.
            *bought = None;
            payment.updated_at = chrono::Utc::now();
        }
        batch.if_unchanged(&payments::payment(id), read.revision).put(&payments::payment(id), &payment)
    }
}
