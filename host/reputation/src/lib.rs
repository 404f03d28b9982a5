//! Submissions of reputation: accepted and paid in one write, scored, documented on IPFS, and given to the ERC-8004
//! registry, each tag once. The record holds every decision, only `step` changes it, and one worker takes the next
//! step.
//!
//! No submission is lost: an accepted one is listed as open in the store until it ends. No feedback is given twice:
//! every outside effect is recorded before it happens, and all transactions for one feedback share a nonce until that
//! nonce is spent for good.

#[cfg(test)]
mod adversary;
mod appraiser;
pub mod bodies;
pub mod config;
mod document;
mod effects;
mod estimate;
mod factory;
pub mod feedback;
pub mod ipfs;
mod lost_nonce;
mod no_new_block;
mod notices;
mod on_chain;
mod own;
mod prepare;
mod queue;
pub mod records;
mod request;
pub mod responses;
mod routes;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod set_aside;
pub(crate) mod step;
mod submit;
mod worker;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use uuid::Uuid;

use assay_access::records::{self as access, Payer};
use assay_domain::Tag;
use assay_outbox::gas::GasBook;
use assay_payment::{
    Local,
    records::{self as payments, PaymentState},
};
use assay_store::{Batch, Lease, Lost, Store, StoreError};
use records::{Stage, SubmissionRecord};
use set_aside::Ends;
use step::step;

pub use appraiser::{Appraiser, NoAppraisal};
pub use effects::{Client, Effects, OnChain};
pub use factory::SubmissionFactory;
pub use notices::{Notices, Waiting};
pub use on_chain::by_registry;
pub use own::{OwnPage, OwnQuery};
pub use queue::Queue;
pub use request::Request;
pub use routes::{ReputationRoutes, operations, routes};
pub use set_aside::Barred;
pub use step::Event;
pub use step::not_done;
pub use submit::SubmitError;

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct Reputation {
    inner: Arc<ReputationState>,
}

struct ReputationState {
    store: Store,
    effects: Box<dyn Effects>,
    /// The payments that the same account settles; `None` if this server settles none.
    payments: Option<Local>,
    gas: GasBook,
    settings: Settings,
    warnings: Warnings,
    /// Wakes the worker when a submission is accepted.
    accepted: Notify,
    /// Notified after a step is stored.
    changed: Arc<Notify>,
}

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Debug, Clone)]
pub struct Settings {
    pub poll: Duration,
    /// How long a submission waits for chains that are not read completely.
    pub coverage_wait: Duration,
    pub give_up_after: Duration,
    /// The endpoint that documents name; empty if none is configured.
    pub endpoint: String,
    /// Expected seconds of a submission before any was confirmed.
    pub usual_seconds: u32,
    /// How long a submission is stored after its last change; `None` for ever.
    pub lifetime: Option<Duration>,
}

impl From<&config::Reputation> for Settings {
    fn from(config: &config::Reputation) -> Self {
        Self {
            poll: config.poll,
            coverage_wait: config.coverage_wait,
            give_up_after: config.give_up_after,
            endpoint: config.endpoint.clone(),
            usual_seconds: estimate::USUAL,
            lifetime: (config.keep_days > 0).then(|| DAY * config.keep_days),
        }
    }
}

impl Reputation {
    /// `payments` are those that the account of the submissions settles; `gas` is the book of that account.
    pub fn new(
        settings: Settings,
        store: Store,
        gas: GasBook,
        effects: impl Effects + 'static,
        payments: Option<Local>,
    ) -> Self {
        let (warnings, accepted, changed) = (Warnings::default(), Notify::new(), Arc::default());
        let effects = Box::new(effects);
        let state = ReputationState { store, effects, payments, gas, settings, warnings, accepted, changed };
        Self { inner: Arc::new(state) }
    }

    /// Notified after each step of this process.
    pub fn steps(&self) -> Arc<Notify> {
        self.inner.changed.clone()
    }

    /// The submission with this id for this agent.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn find(&self, agent_id: u64, id: Uuid) -> Result<Option<SubmissionRecord>, StoreError> {
        Ok(self.inner.store.get(&records::submission(id)).await?.filter(|record| record.agent_id == agent_id))
    }

    /// Completes when a payment may have been added.
    async fn payment_added(&self) {
        match &self.inner.payments {
            Some(local) => local.news().await,
            None => std::future::pending().await,
        }
    }

    /// Expected seconds from the acceptance of `record` to its confirmation; the usual ones if the store fails.
    pub async fn expected_seconds(&self, record: &SubmissionRecord) -> u32 {
        let durations = self.inner.store.get(&records::submission_durations()).await.unwrap_or_else(|error| {
            tracing::warn!(submission = %record.id, %error, "the durations of earlier submissions were not read");
            None
        });
        let durations = durations.unwrap_or_default();
        estimate::expected(&durations, self.inner.settings.usual_seconds, record.ahead, self.at_once())
    }

    /// Submissions whose transactions are in progress at once.
    fn at_once(&self) -> usize {
        (self.inner.effects.most_transactions() / Tag::ALL.len()).max(1)
    }

    /// Adds `record` to `batch`.
    fn kept(&self, batch: Batch, record: &SubmissionRecord) -> Result<Batch, StoreError> {
        let key = records::submission(record.id);
        match self.inner.settings.lifetime {
            None => batch.put(&key, record),
            Some(lifetime) => batch.put_expiring(&key, record, lifetime),
        }
    }

    /// As [`Reputation::advance_all`], by one event.
    async fn advance(
        &self,
        lease: &Lease,
        record: &SubmissionRecord,
        event: Event,
    ) -> Result<Option<SubmissionRecord>, Lost> {
        self.advance_all(lease, record, vec![event]).await
    }

    /// Applies `events` to `record` and stores the result in one write, with refund, duration and the gas of reverted
    /// transactions. `None` if nothing changes.
    ///
    /// # Errors
    /// [`Lost`] if the lease ended, or the store fails: nothing more may be done then.
    pub async fn advance_all(
        &self,
        lease: &Lease,
        record: &SubmissionRecord,
        events: Vec<Event>,
    ) -> Result<Option<SubmissionRecord>, Lost> {
        let (mut next, mut ends) = (None::<SubmissionRecord>, Ends::default());
        for event in events {
            if let Event::Retry(what) = &event {
                metrics::counter!("assay_submission_retries_total", "status" => record.stage.as_str()).increment(1);
                self.warn(record, what);
            }
            let before = next.as_ref().unwrap_or(record);
            if let Some(stepped) = step(before, event.clone(), chrono::Utc::now(), self.inner.settings.give_up_after) {
                next = Some(stepped);
                ends.add(&event);
            }
        }
        let Some(next) = next else { return Ok(None) };
        let mut batch = self.kept(Batch::new().if_leased(lease), &next)?;
        if next.stage != record.stage {
            batch = self.listed(batch, &next)?;
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
            Stage::Failed if !next.charged => batch = self.refund(batch, &next).await?,
            _ => {}
        }
        batch = self.count(batch, &next, &ends).await?;
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
    async fn refund(&self, batch: Batch, record: &SubmissionRecord) -> Result<Batch, StoreError> {
        let id = match &record.payer {
            Payer::Key { limit: None, .. } => return Ok(batch),
            Payer::Key { meter, units, read, limit: Some(_) } => {
                let spent = if record.was_read { *read } else { 0 };
                return Ok(batch.refund(&access::units(meter), units.saturating_sub(spent)));
            }
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

const AGAIN: Duration = Duration::from_secs(60);
/// Texts that are remembered.
const MOST: usize = 100;

#[derive(Default)]
pub(crate) struct Warnings {
    said: Mutex<HashMap<String, Instant>>,
}

impl Warnings {
    /// Whether `what` is to be logged now.
    pub(crate) fn is_due(&self, what: &str) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.retain(|_, at| at.elapsed() < AGAIN);
        let is_due = said.len() < MOST && !said.contains_key(what);
        if is_due {
            said.insert(what.to_owned(), Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_store::Key;

    #[tokio::test]
    async fn a_submission_has_an_estimate_where_the_durations_cannot_be_read() {
        let (reputation, _folder) = sample::reputation().await;
        let damaged = Batch::new().put(&Key::single("submission-durations"), &"?".to_owned()).unwrap();
        assert!(reputation.inner.store.commit(damaged).await.unwrap());
        assert!(reputation.inner.store.get(&records::submission_durations()).await.is_err());
        assert_eq!(reputation.expected_seconds(&sample::pending()).await, estimate::USUAL);
    }

    #[test]
    fn a_text_is_said_once_and_others_beside_it() {
        let warnings = Warnings::default();
        assert!(warnings.is_due("no gas") && !warnings.is_due("no gas") && warnings.is_due("no IPFS"));
        let said = (0..2 * MOST).filter(|n| warnings.is_due(&n.to_string())).count();
        assert_eq!(said, MOST - 2);
    }
}
