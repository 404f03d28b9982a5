//! Transactions of a nonce: the first, the same again, one that offers more, and one that cancels.

use std::time::Instant;

use chrono::Utc;

use super::{Round, Step};
use crate::reputation::{
    Event,
    records::{DocumentRecord, FeedbackRecord, SubmissionRecord},
};
use assay_outbox::sender::{Feedback, Offer, SendOutcome, Sender, SenderError, Signed, SignedRecord, SlotRecord};

/// Most open nonces: nodes hold as many waiting transactions of one account.
const MOST_OPEN: usize = 16;
/// Polls of the chain before the same transaction is sent again.
const RESEND: u32 = 5;

impl Round<'_> {
    /// Signs and sends the first transaction of a nonce.
    pub(super) async fn begin(&mut self, record: &mut SubmissionRecord, feedback: &FeedbackRecord) -> Step {
        let Some(document) = record.document.clone() else { return Ok(Ok(())) };
        if self.held.len() >= MOST_OPEN {
            return Ok(Ok(()));
        }
        let sender = &self.reputation.inner.sender;
        let Some(offer) = self.view.market.offer(sender.ceiling()) else {
            return Ok(Err(SenderError::Chain("gas costs more than reputation.max_fee_gwei at the moment".into())));
        };
        let call = self.call(record, feedback, &document);
        let nonce = (self.view.next_nonce..).find(|nonce| !self.held.contains(nonce)).unwrap_or(self.view.next_nonce);
        let signed = async { sender.sign(nonce, sender.gas(&call).await?, offer, &call) };
        let signed = match signed.await {
            Ok(signed) => signed_record(signed, offer, false),
            Err(error) => return Ok(Err(error)),
        };
        self.held.insert(nonce);
        self.advance(record, Event::Signed { tag: feedback.tag, nonce, signed: signed.clone() }).await?;
        self.send_if_recorded(record, &signed).await
    }

    /// Sends a waiting transaction again, or replaces it by one that offers more or by one that cancels it.
    pub(super) async fn press(
        &mut self,
        record: &mut SubmissionRecord,
        feedback: &FeedbackRecord,
        slot: &SlotRecord,
    ) -> Step {
        let Some(last) = slot.signed.last() else { return Ok(Ok(())) };
        let settings = &self.reputation.inner.settings;
        let old = (Utc::now() - last.at).to_std().is_ok_and(|age| age >= settings.replace_after);
        // A later nonce waits for the first one, and more gas would not help it.
        let stuck = old && slot.nonce == self.view.used_nonce;
        let cancel = record.giving_up.is_some() && !last.cancels;
        let offered = Offer { max_fee: last.max_fee, priority_fee: last.priority_fee };
        let sender = self.reputation.inner.sender.clone();
        let offer = if stuck || cancel { self.view.market.replacement(offered, sender.ceiling()) } else { None };
        let (Some(offer), Some(document)) = (offer, record.document.clone()) else {
            if self.memory.sent.get(&last.hash).is_some_and(|at| at.elapsed() < settings.poll * RESEND) {
                return Ok(Ok(()));
            }
            return Ok(self.send(record, last).await);
        };
        let signed = match self.replacement(&sender, record, feedback, slot.nonce, offer, &document).await {
            Ok(signed) => signed_record(signed, offer, record.giving_up.is_some()),
            Err(error) => return Ok(Err(error)),
        };
        metrics::counter!("assay_transactions_replaced_total").increment(1);
        let (nonce, max_fee, cancels) = (slot.nonce, offer.max_fee, signed.cancels);
        tracing::info!(submission = %record.id, nonce, max_fee, cancels, "replaced a waiting transaction");
        self.advance(record, Event::Replaced { tag: feedback.tag, signed: signed.clone() }).await?;
        self.send_if_recorded(record, &signed).await
    }

    async fn replacement(
        &self,
        sender: &Sender,
        record: &SubmissionRecord,
        feedback: &FeedbackRecord,
        nonce: u64,
        offer: Offer,
        document: &DocumentRecord,
    ) -> Result<Signed, SenderError> {
        if record.giving_up.is_some() {
            return sender.sign_cancellation(nonce, offer);
        }
        let call = self.call(record, feedback, document);
        sender.sign(nonce, sender.gas(&call).await?, offer, &call)
    }

    /// Sends a transaction only where the stored record has it.
    async fn send_if_recorded(&mut self, record: &SubmissionRecord, signed: &SignedRecord) -> Step {
        let slots = record.feedback.iter().filter_map(|feedback| feedback.slot.as_ref());
        let is_recorded = slots.flat_map(|slot| &slot.signed).any(|recorded| recorded.hash == signed.hash);
        Ok(if is_recorded { self.send(record, signed).await } else { Ok(()) })
    }

    async fn send(&mut self, record: &SubmissionRecord, signed: &SignedRecord) -> Result<(), SenderError> {
        let sent = self.reputation.inner.sender.send(&signed.raw).await?;
        self.memory.sent.insert(signed.hash, Instant::now());
        match sent {
            SendOutcome::Accepted | SendOutcome::NonceUsed => Ok(()),
            SendOutcome::Underpriced => {
                let max_fee = signed.max_fee;
                tracing::info!(submission = %record.id, max_fee, "a transaction offers too little at the moment");
                Ok(())
            }
            SendOutcome::InsufficientFunds => {
                Err(SenderError::Chain("the account of this service cannot pay for gas".into()))
            }
        }
    }

    fn call<'r>(
        &'r self,
        record: &SubmissionRecord,
        feedback: &'r FeedbackRecord,
        document: &DocumentRecord,
    ) -> Feedback<'r> {
        Feedback {
            agent_id: record.agent_id,
            tag: feedback.tag,
            value: feedback.value,
            version: &feedback.version,
            endpoint: &self.reputation.inner.settings.endpoint,
            uri: uri(document),
            hash: document.hash,
        }
    }
}

/// Where the document is.
pub fn uri(document: &DocumentRecord) -> String {
    format!("ipfs://{}", document.cid)
}

fn signed_record(signed: Signed, offer: Offer, cancels: bool) -> SignedRecord {
    SignedRecord {
        hash: signed.hash,
        raw: signed.raw,
        max_fee: offer.max_fee,
        priority_fee: offer.priority_fee,
        at: Utc::now(),
        cancels,
    }
}
