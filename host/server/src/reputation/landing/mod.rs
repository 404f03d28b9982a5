//! Brings documented feedback onto the chain, exactly once.
//!
//! Each tag has at most one nonce at a time. All signed transactions of a nonce are stored: whichever is mined counts,
//! and a replacement can never be mined beside it. A tag gets another nonce only after a foreign transaction used the
//! first one, with enough confirmations, and the registry, which counts what it receives, does not have the feedback.

mod nonce;
mod transaction;

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use super::{
    Event, Reputation,
    records::{FeedbackRecord, SubmissionRecord},
};
use crate::access::x402::records::PaymentRecord;
use assay_domain::B256;
use assay_outbox::sender::{AccountView, SenderError, SlotRecord, TransactionStatus};
use assay_store::{Lease, Lost};

pub(super) use transaction::uri;

/// How long this process remembers that it sent a transaction.
const REMEMBERED: Duration = Duration::from_secs(600);

/// When this process sent which transaction. Without it a transaction is sent once more, which is harmless.
#[derive(Default)]
pub(super) struct Memory {
    sent: HashMap<B256, Instant>,
}

/// One view of the chain, and the work that follows from it.
struct Round<'a> {
    reputation: &'a Reputation,
    lease: &'a Lease,
    memory: &'a mut Memory,
    view: AccountView,
    sights: HashMap<B256, TransactionStatus>,
    /// Nonces of open transactions.
    held: BTreeSet<u64>,
}

/// The result of one step about a tag: the chain's failure inside, the loss of lease or store outside.
type Step = Result<Result<(), SenderError>, Lost>;

impl Reputation {
    /// Reads the chain once for all of `records` and `payments`, oldest first, and takes the next step of each.
    pub(super) async fn land(
        &self,
        lease: &Lease,
        memory: &mut Memory,
        records: Vec<SubmissionRecord>,
        payments: Vec<PaymentRecord>,
    ) -> Result<(), Lost> {
        let (view, sights) = match self.read_chain(&records).await {
            Ok(read) => read,
            Err(error) => {
                for record in &records {
                    self.advance(lease, record, Event::Retry(error.to_string())).await?;
                }
                return Ok(());
            }
        };
        let of_payments = payments.iter().filter_map(|payment| payment.slot.as_ref());
        let mut held: BTreeSet<u64> = slots(&records).chain(of_payments).map(|slot| slot.nonce).collect();
        // Payments come first, for a client waits for the answer.
        if !payments.is_empty() && !self.inner.payments.settle(lease, &view, &mut held, payments).await? {
            return Err(Lost::Lease);
        }
        memory.sent.retain(|_, at| at.elapsed() < REMEMBERED);
        let mut round = Round { reputation: self, lease, memory, view, sights, held };
        for record in records {
            round.submission(record).await?;
        }
        Ok(())
    }

    /// The account as the chain has it, and the transactions of nonces that are used.
    async fn read_chain(
        &self,
        records: &[SubmissionRecord],
    ) -> Result<(AccountView, HashMap<B256, TransactionStatus>), SenderError> {
        let view = self.inner.sender.view().await?;
        let used = slots(records).filter(|slot| slot.nonce < view.used_nonce);
        let hashes: Vec<B256> = used.flat_map(|slot| slot.signed.iter().map(|signed| signed.hash)).collect();
        let sights = self.inner.sender.statuses(&view, &hashes).await?;
        Ok((view, hashes.into_iter().zip(sights).collect()))
    }
}

/// The slots whose outcome is not final.
fn slots(records: &[SubmissionRecord]) -> impl Iterator<Item = &SlotRecord> {
    let open = records.iter().flat_map(|record| &record.feedback).filter(|feedback| feedback.landed.is_none());
    open.filter_map(|feedback| feedback.slot.as_ref())
}

impl Round<'_> {
    /// Takes the next step of every tag of one submission.
    async fn submission(&mut self, mut record: SubmissionRecord) -> Result<(), Lost> {
        if !self.reputation.is_ours(&record) {
            // Its transactions are another account's, so they can neither be replaced nor followed.
            let why = "The account or the registries of this service were changed while it was under way".to_owned();
            return self.advance(&mut record, Event::Retry(why)).await;
        }
        for tag in record.tags.clone() {
            if record.stage.is_terminal() {
                return Ok(());
            }
            let open = |feedback: &&FeedbackRecord| feedback.tag == tag && feedback.landed.is_none();
            let Some(feedback) = record.feedback.iter().find(open).cloned() else { continue };
            let done = match &feedback.slot {
                Some(slot) => self.follow(&mut record, &feedback, slot).await?,
                None if record.giving_up.is_none() => self.begin(&mut record, &feedback).await?,
                None => Ok(()),
            };
            if let Err(error) = done {
                let event = match error {
                    SenderError::Refused(_) => Event::Refused(error.to_string()),
                    SenderError::Chain(_) | SenderError::Unsigned(_) => Event::Retry(error.to_string()),
                };
                self.advance(&mut record, event).await?;
            }
        }
        // The time limit may have passed without any other event.
        self.advance(&mut record, Event::Tick).await
    }

    async fn advance(&self, record: &mut SubmissionRecord, event: Event) -> Result<(), Lost> {
        if let Some(next) = self.reputation.advance(self.lease, record, event).await? {
            *record = next;
        }
        Ok(())
    }
}
