//! Accepting a submission: record, place in the queue, units and the caller's `Idempotency-Key` in one write, or nothing.

use std::time::Duration;

use alloy::primitives::keccak256;
use chrono::Utc;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Reputation;
use crate::{
    chain::SenderError,
    domain::{Address, B256, Tag},
    store::{
        Batch, Revision, StoreError, keys,
        records::{Payer, RetryRecord, Stage, SubmissionRecord},
    },
};

/// How long a caller's `Idempotency-Key` is remembered.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// How often a write that somebody else came before is tried again.
const TRIES: usize = 4;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub agent_id: u64,
    pub address: Address,
    /// Each once.
    pub tags: Vec<Tag>,
    pub payer: Payer,
    /// Makes a second request with it the same submission.
    pub retry_key: Option<String>,
}

/// A submission that was not accepted. Nothing was spent.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("Agent {0} does not exist in the Identity Registry")]
    NoAgent(u64),
    #[error("the identity registry cannot be read: {0}")]
    Registry(SenderError),
    /// So many units of the key are used.
    #[error("the units of the key are used up")]
    Unpaid { used: u64 },
    #[error("This Idempotency-Key was used for another request")]
    OtherRequest,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Reputation {
    /// Accepts `request`, or finds the submission that the same request with the same key began.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub async fn submit(&self, request: Request) -> Result<SubmissionRecord, SubmitError> {
        if let Some(earlier) = self.earlier(&request).await? {
            return Ok(earlier);
        }
        let owner = self.inner.sender.owner_of(request.agent_id).await.map_err(SubmitError::Registry)?;
        owner.ok_or(SubmitError::NoAgent(request.agent_id))?;
        let record = self.record(&request);
        let Payer::Key { meter, units, limit } = &request.payer;
        for _ in 0..TRIES {
            let mut batch = Batch::new()
                .put(&keys::submission(record.id), &record)?
                .put(&keys::open_submission(record.created_at, record.id), &record.id)?;
            if let Some(limit) = limit {
                batch = batch.take(&keys::units(meter), *units, *limit);
            }
            if let Some(key) = retry(&request) {
                let retry = RetryRecord { submission: record.id, request: digest(&request) };
                batch = batch.if_unchanged(&key, Revision::ABSENT).put_expiring(&key, &retry, REMEMBERED)?;
            }
            if self.inner.store.commit(batch).await? {
                metrics::counter!("assay_submissions_total", "status" => "pending").increment(1);
                self.inner.news.notify_one();
                return Ok(record);
            }
            if let Some(earlier) = self.earlier(&request).await? {
                return Ok(earlier);
            }
            let used = self.inner.store.get(&keys::units(meter)).await?.unwrap_or_default();
            if limit.is_some_and(|limit| used.saturating_add(*units) > limit) {
                return Err(SubmitError::Unpaid { used });
            }
        }
        Err(StoreError::Failed { reason: "a submission found no quiet moment".into() }.into())
    }

    /// What was begun under the request's key.
    async fn earlier(&self, request: &Request) -> Result<Option<SubmissionRecord>, SubmitError> {
        let Some(key) = retry(request) else { return Ok(None) };
        let Some(known) = self.inner.store.get(&key).await? else { return Ok(None) };
        if known.request != digest(request) {
            return Err(SubmitError::OtherRequest);
        }
        Ok(self.inner.store.get(&keys::submission(known.submission)).await?)
    }

    fn record(&self, request: &Request) -> SubmissionRecord {
        let (now, agents) = (Utc::now(), self.inner.sender.agents());
        SubmissionRecord {
            id: Uuid::new_v4(),
            agent_id: request.agent_id,
            address: request.address,
            tags: request.tags.clone(),
            payer: request.payer.clone(),
            chain: agents.chain,
            identity_registry: agents.identity_registry,
            reputation_registry: agents.reputation_registry,
            client: self.inner.sender.address(),
            created_at: now,
            updated_at: now,
            stage: Stage::Pending,
            attempts: 0,
            next_at: now,
            trouble: None,
            scores: None,
            document: None,
            start: None,
            feedback: Vec::new(),
            giving_up: None,
            error: None,
        }
    }
}

fn retry(request: &Request) -> Option<crate::store::Key<RetryRecord>> {
    let Payer::Key { meter, .. } = &request.payer;
    Some(keys::submission_retry(meter, &Sha256::digest(request.retry_key.as_ref()?).into()))
}

/// Of everything that makes a request another one.
pub(super) fn digest(request: &Request) -> B256 {
    keccak256(format!("{}|{:#x}|{:?}", request.agent_id, request.address, request.tags))
}
