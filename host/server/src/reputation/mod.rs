//! Submissions of reputation: accepted with their price in one write, scored, documented on IPFS, and given to the
//! ERC-8004 registry, each tag once. A record says everything that was decided; `step` alone moves it; a worker does
//! what it says is next.
//!
//! Nothing is lost: an accepted submission is in the store and listed as open until it ends. Nothing happens twice:
//! what has an effect outside is written down before, and all transactions that could give the same feedback share a
//! nonce until that nonce is seen to be used up for good.

mod document;
mod errands;
mod estimate;
mod judge;
mod landing;
mod prepare;
pub mod records;
mod rehearsal;
#[cfg(test)]
mod sample;
mod step;
mod submit;
mod worker;

use crate::access::records as access;
use crate::access::records::Payer;
use crate::access::x402::records as payments;
use crate::access::x402::records::PaymentState;
use crate::reputation::records::{Stage, SubmissionRecord};
use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;
use uuid::Uuid;

use crate::config;
use assay_chain::Ipfs;
use assay_outbox::sender::Sender;
use assay_store::{Batch, Lease, Lost, Store, StoreError};
use step::{Event, step};

pub use errands::Errands;
pub use judge::{Judge, Unjudged};
pub use rehearsal::Rehearsal;
pub use submit::{Request, SubmitError};

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct Reputation {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    sender: Sender,
    ipfs: Ipfs,
    judge: Box<dyn Judge>,
    errands: Box<dyn Errands>,
    settings: Settings,
    /// A submission was accepted.
    news: Notify,
}

#[derive(Debug, Clone)]
struct Settings {
    poll: Duration,
    replace_after: Duration,
    coverage_wait: Duration,
    give_up_after: Duration,
    endpoint: String,
}

impl Reputation {
    pub fn new(
        config: &config::Reputation,
        store: Store,
        sender: Sender,
        ipfs: Ipfs,
        judge: impl Judge,
        errands: impl Errands,
    ) -> Self {
        let settings = Settings {
            poll: Duration::from_millis(config.poll_ms),
            replace_after: Duration::from_millis(config.replace_after_ms),
            coverage_wait: Duration::from_millis(config.coverage_wait_ms),
            give_up_after: Duration::from_millis(config.give_up_after_ms),
            endpoint: config.endpoint.clone(),
        };
        let (judge, errands) = (Box::new(judge), Box::new(errands));
        Self { inner: Arc::new(Inner { store, sender, ipfs, judge, errands, settings, news: Notify::new() }) }
    }

    /// A submission for this agent; `None` where there is none with this id.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn find(&self, agent_id: u64, id: Uuid) -> Result<Option<SubmissionRecord>, StoreError> {
        Ok(self.inner.store.get(&records::submission(id)).await?.filter(|record| record.agent_id == agent_id))
    }

    /// Seconds until a submission that is accepted now will be confirmed.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn expected_seconds(&self) -> Result<u32, StoreError> {
        Ok(estimate::expected(&self.inner.store.get(&records::submission_durations()).await?.unwrap_or_default()))
    }

    /// Moves `record` by `event` and writes that down, with everything that goes with it. `None` where it changes
    /// nothing.
    ///
    /// # Errors
    /// [`Lost`] where another worker has taken over, or the store fails: nothing more may be done then.
    async fn advance(
        &self,
        lease: &Lease,
        record: &SubmissionRecord,
        event: Event,
    ) -> Result<Option<SubmissionRecord>, Lost> {
        if let Event::Trouble(what) = &event {
            metrics::counter!("assay_submission_retries_total", "status" => record.stage.as_str()).increment(1);
            tracing::debug!(submission = %record.id, status = record.stage.as_str(), what, "not yet");
        }
        let Some(next) = step(record, event, chrono::Utc::now(), self.inner.settings.give_up_after) else {
            return Ok(None);
        };
        let mut batch = Batch::new().if_leased(lease).put(&records::submission(next.id), &next)?;
        if next.stage.is_terminal() {
            batch = batch.remove(&records::open_submission(next.created_at, next.id));
        }
        match next.stage {
            Stage::Confirmed => {
                let seconds = u32::try_from((next.updated_at - next.created_at).num_seconds()).unwrap_or_default();
                let known = self.inner.store.get(&records::submission_durations()).await?.unwrap_or_default();
                batch = batch.put(&records::submission_durations(), &estimate::remembered(known, seconds))?;
            }
            Stage::Failed => batch = self.given_back(batch, &next.payer).await?,
            _ => {}
        }
        if !self.inner.store.commit(batch).await? {
            return Err(Lost::Lease);
        }
        if next.stage != record.stage {
            let (id, status, error) = (next.id, next.stage.as_str(), next.error.as_deref());
            metrics::counter!("assay_submissions_total", "status" => status).increment(1);
            tracing::info!(submission = %id, agent = next.agent_id, status, error, "submission");
        }
        Ok(Some(next))
    }

    /// `batch`, and with it what was paid.
    async fn given_back(&self, batch: Batch, payer: &Payer) -> Result<Batch, StoreError> {
        let id = match payer {
            Payer::Key { limit: None, .. } => return Ok(batch),
            Payer::Key { meter, units, limit: Some(_) } => return Ok(batch.refund(&access::units(meter), *units)),
            Payer::Payment(id) => id,
        };
        let read = self.inner.store.read(&payments::payment(id)).await?;
        let Some(mut payment) = read.value else { return Ok(batch) };
        if let PaymentState::Settled { submission, .. } = &mut payment.state {
            *submission = None;
            (payment.request, payment.updated_at) = (None, chrono::Utc::now());
        }
        batch.if_unchanged(&payments::payment(id), read.revision).put(&payments::payment(id), &payment)
    }
}
