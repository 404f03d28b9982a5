//! The outcome of a nonce: feedback on the chain, a nonce that was spent without it, or still open.

use super::{Round, Step, uri};
use crate::reputation::{
    Event,
    records::{FeedbackRecord, SubmissionRecord},
    step::SpentBy,
};
use assay_domain::Tag;
use assay_outbox::sender::{GivenFeedback, LandedRecord, SenderError, SlotRecord, TransactionStatus};

/// What the chain shows about the transactions of a nonce.
enum Outcome {
    Open,
    /// Not known yet: mined without enough confirmations, or the node did not answer about it.
    Wait,
    Landed(LandedRecord),
    Spent(SpentBy),
    /// The nonce is used for good, and no transaction of ours has a receipt.
    NoReceipt,
}

impl Round<'_> {
    /// Records the outcome of a nonce, or moves its transaction on.
    pub(super) async fn follow(
        &mut self,
        record: &mut SubmissionRecord,
        feedback: &FeedbackRecord,
        slot: &SlotRecord,
    ) -> Step {
        let (tag, nonce) = (feedback.tag, slot.nonce);
        let outcome = match self.outcome(slot) {
            Outcome::NoReceipt => match self.without_receipt(record, tag, nonce).await {
                Ok(outcome) => outcome,
                Err(error) => return Ok(Err(error)),
            },
            outcome => outcome,
        };
        match outcome {
            Outcome::Open => self.press(record, feedback, slot).await,
            Outcome::Wait | Outcome::NoReceipt => Ok(Ok(())),
            Outcome::Landed(landed) => self.record_outcome(record, Event::Landed { tag, landed }).await,
            Outcome::Spent(by) => self.record_outcome(record, Event::NonceSpent { tag, nonce, by }).await,
        }
    }

    async fn record_outcome(&self, record: &mut SubmissionRecord, event: Event) -> Step {
        self.advance(record, event).await.map(Ok::<_, SenderError>)
    }

    fn outcome(&self, slot: &SlotRecord) -> Outcome {
        let sight = |hash| self.sights.get(hash);
        for signed in &slot.signed {
            if let Some(TransactionStatus::Mined { block, gas_used, succeeded, settled }) = sight(&signed.hash) {
                return match (*settled, signed.cancels, *succeeded) {
                    (false, ..) => Outcome::Wait,
                    (true, true, _) => Outcome::Spent(SpentBy::Cancellation),
                    (true, false, true) => {
                        Outcome::Landed(LandedRecord { hash: signed.hash, block: *block, gas_used: *gas_used })
                    }
                    (true, false, false) => Outcome::Spent(SpentBy::Revert),
                };
            }
        }
        if slot.signed.iter().any(|signed| sight(&signed.hash) == Some(&TransactionStatus::Unknown)) {
            Outcome::Wait
        } else if slot.nonce < self.view.settled_nonce {
            Outcome::NoReceipt
        } else if slot.nonce < self.view.used_nonce {
            // Used a moment ago; the receipt is read once it has its confirmations.
            Outcome::Wait
        } else {
            Outcome::Open
        }
    }

    /// Asks the registry about a nonce that is used for good without a receipt of ours: it has the feedback, or it
    /// never will. [`Outcome::Wait`] where the registry does not say.
    async fn without_receipt(&self, record: &SubmissionRecord, tag: Tag, nonce: u64) -> Result<Outcome, SenderError> {
        let (Some(start), Some(document)) = (record.start, &record.document) else { return Ok(Outcome::Wait) };
        let sender = &self.reputation.inner.sender;
        let GivenFeedback::Complete(given) =
            sender.feedback_since(record.agent_id, start.block, start.given, self.view.settled).await?
        else {
            return Ok(Outcome::Wait);
        };
        let uri = uri(document);
        let ours = given.iter().find(|one| one.tag == tag.as_str() && one.uri == uri && one.hash == document.hash);
        let Some(ours) = ours else {
            metrics::counter!("assay_nonces_lost_total").increment(1);
            tracing::warn!(submission = %record.id, nonce, "a foreign transaction has used a nonce of the account");
            return Ok(Outcome::Spent(SpentBy::Foreign));
        };
        let sights = sender.statuses(&self.view, &[ours.transaction]).await?;
        Ok(match sights.first() {
            Some(TransactionStatus::Mined { block, gas_used, settled: true, .. }) => {
                Outcome::Landed(LandedRecord { hash: ours.transaction, block: *block, gas_used: *gas_used })
            }
            _ => Outcome::Wait,
        })
    }
}
