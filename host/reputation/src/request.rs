//! A request for a submission: its identity, and its record at acceptance.

use alloy::primitives::keccak256;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{
    Client,
    records::{self, RetryRecord, Stage, SubmissionRecord},
};
use assay_access::records::Payer;
use assay_domain::{Address, B256, Tag, Time};
use assay_payment::records::{PurchaseRecord, Purchased};
use assay_store::{Key, Store, StoreError, Versioned};

/// A request for a submission.
#[derive(Debug, Clone)]
pub struct Request {
    pub agent_id: u64,
    pub address: Address,
    /// Each once.
    pub tags: Vec<Tag>,
    pub payer: Payer,
    /// The `Idempotency-Key`: a second request with it is the same submission.
    pub retry_key: Option<String>,
}

impl Request {
    /// The hash of the identity of a request, which does not include the order of the tags.
    pub fn digest(&self) -> B256 {
        let mut tags = self.tags.clone();
        tags.sort_unstable();
        keccak256(format!("{}|{:#x}|{:?}", self.agent_id, self.address, tags))
    }

    /// The request as it is stored with a payment.
    pub fn purchase(&self) -> PurchaseRecord {
        let Self { agent_id, address, ref tags, .. } = *self;
        PurchaseRecord {
            order: Purchased::Submission { agent_id, address, tags: tags.clone() },
            retry_key: self.retry_key.clone(),
            digest: self.digest(),
        }
    }

    /// The store key of the `Idempotency-Key`: each API key and each paying account has separate keys.
    pub(super) fn retry(&self) -> Option<Key<RetryRecord>> {
        let hash = Sha256::digest(self.retry_key.as_ref()?).into();
        Some(match &self.payer {
            Payer::Key { meter, .. } => records::submission_retry(meter, &hash),
            Payer::Payment(payment) => records::submission_retry(&format!("x402:{:#x}", payment.from), &hash),
        })
    }

    /// Its record at acceptance.
    pub(super) fn record(&self, Client { registries, account }: Client, now: Time) -> SubmissionRecord {
        SubmissionRecord {
            id: Uuid::new_v4(),
            agent_id: self.agent_id,
            address: self.address,
            tags: self.tags.clone(),
            payer: self.payer.clone(),
            chain: registries.chain,
            identity_registry: registries.identity,
            reputation_registry: registries.reputation,
            client: account,
            created_at: now,
            updated_at: now,
            stage: Stage::Pending,
            attempts: 0,
            next_at: now,
            ahead: 0,
            trouble: None,
            scores: None,
            document: None,
            start: None,
            feedback: Vec::new(),
            giving_up: None,
            error: None,
            charged: false,
            was_read: false,
        }
    }
}

/// The record of an `Idempotency-Key`, and the submission that holds the key: none if its payment was kept for the same
/// request, which is then tried again.
pub(super) async fn holder(
    store: &Store,
    key: &Key<RetryRecord>,
) -> Result<(Versioned<RetryRecord>, Option<SubmissionRecord>), StoreError> {
    let known = store.read(key).await?;
    let begun = match &known.value {
        Some(retry) => store.get(&records::submission(retry.submission)).await?,
        None => None,
    };
    Ok((known, begun.filter(|record| !record.keeps_payment())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_order_of_tags_does_not_make_another_request() {
        let digest = |tags: &[Tag]| {
            let SubmissionRecord { agent_id, address, payer, .. } = sample::pending();
            Request { agent_id, address, tags: tags.to_vec(), payer, retry_key: None }.digest()
        };
        assert_eq!(digest(&[Tag::SybilRisk, Tag::CreditScore]), digest(&[Tag::CreditScore, Tag::SybilRisk]));
        assert_ne!(digest(&[Tag::SybilRisk]), digest(&[Tag::CreditScore]));
    }
}
