//! Bringing documented feedback onto the chain, exactly once.
//!
//! Each tag has at most one nonce at a time. All transactions ever signed with it are kept: whichever is mined counts,
//! and a replacement can never be a second one. A tag gets another nonce only after a transaction that is none of ours
//! used its nonce up, with enough confirmations, and the registry, which counts what it was given, does not have the
//! feedback either.

use crate::access::x402::records::PaymentRecord;
use crate::reputation::records::{DocumentRecord, FeedbackRecord, SubmissionRecord};
use assay_outbox::sender::{LandedRecord, SignedRecord, SlotRecord};
use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use chrono::Utc;

use super::{Event, Reputation, step::Undone};
use assay_domain::{B256, Tag};
use assay_outbox::sender::{
    AccountView, Feedback, GivenFeedback, Offer, SendOutcome, Sender, SenderError, Signed, TransactionStatus,
};
use assay_store::{Lease, Lost};

/// Nonces under way at once: nodes keep as many waiting transactions of one account.
const UNDER_WAY: usize = 16;
/// Looks at the chain between two sendings of the same transaction.
const RESEND: u32 = 5;

/// What this process remembers between two looks. Losing it costs nothing but a transaction sent once more.
#[derive(Default)]
pub(super) struct Memory {
    sent: HashMap<B256, Instant>,
}

/// One look at the chain, and what is done about it.
struct Look<'a> {
    reputation: &'a Reputation,
    lease: &'a Lease,
    memory: &'a mut Memory,
    view: AccountView,
    sights: HashMap<B256, TransactionStatus>,
    /// Nonces that our transactions have.
    held: BTreeSet<u64>,
}

impl Reputation {
    /// Looks at the chain once for all of `records` and `errands`, oldest first, and does what is next for each.
    pub(super) async fn land(
        &self,
        lease: &Lease,
        memory: &mut Memory,
        records: Vec<SubmissionRecord>,
        errands: Vec<PaymentRecord>,
    ) -> Result<(), Lost> {
        let read = async {
            let view = self.inner.sender.view().await?;
            let spent = slots(&records).filter(|slot| slot.nonce < view.used_nonce);
            let hashes: Vec<B256> = spent.flat_map(|slot| slot.signed.iter().map(|signed| signed.hash)).collect();
            let sights = self.inner.sender.statuses(&view, &hashes).await?;
            Ok::<_, SenderError>((view, hashes.into_iter().zip(sights).collect()))
        };
        let (view, sights) = match read.await {
            Ok(read) => read,
            Err(error) => {
                for record in &records {
                    self.advance(lease, record, Event::Trouble(error.to_string())).await?;
                }
                return Ok(());
            }
        };
        let theirs = errands.iter().filter_map(|errand| errand.slot.as_ref());
        let mut held: BTreeSet<u64> = slots(&records).chain(theirs).map(|slot| slot.nonce).collect();
        // First, for somebody waits for the answer.
        if !errands.is_empty() && !self.inner.errands.run(lease, &view, &mut held, errands).await? {
            return Err(Lost::Lease);
        }
        memory.sent.retain(|_, at| at.elapsed() < Duration::from_secs(600));
        let mut look = Look { reputation: self, lease, memory, view, sights, held };
        for record in records {
            look.at(record).await?;
        }
        Ok(())
    }
}

/// Slots that nothing is known of for good.
fn slots(records: &[SubmissionRecord]) -> impl Iterator<Item = &SlotRecord> {
    let open = records.iter().flat_map(|record| &record.feedback).filter(|feedback| feedback.landed.is_none());
    open.filter_map(|feedback| feedback.slot.as_ref())
}

impl Look<'_> {
    async fn at(&mut self, mut record: SubmissionRecord) -> Result<(), Lost> {
        if !self.reputation.is_ours(&record) {
            // Its transactions are another account's: they can neither be replaced nor told.
            let why = "The account or the registries of this service were changed while it was under way".to_owned();
            return self.advance(&mut record, Event::Trouble(why)).await;
        }
        for tag in record.tags.clone() {
            if record.stage.is_terminal() {
                return Ok(());
            }
            let Some(feedback) =
                record.feedback.iter().find(|feedback| feedback.tag == tag && feedback.landed.is_none()).cloned()
            else {
                continue;
            };
            let done = match &feedback.slot {
                Some(slot) => self.follow(&mut record, &feedback, slot).await?,
                None if record.giving_up.is_none() => self.begin(&mut record, &feedback).await?,
                None => Ok(()),
            };
            if let Err(error) = done {
                let event = match error {
                    SenderError::Refused(_) => Event::Refused(error.to_string()),
                    SenderError::Chain(_) | SenderError::Unsigned(_) => Event::Trouble(error.to_string()),
                };
                self.advance(&mut record, event).await?;
            }
        }
        // Time may have run out without anything else happening.
        self.advance(&mut record, Event::Tick).await
    }

    /// Signs the first transaction of a nonce.
    async fn begin(
        &mut self,
        record: &mut SubmissionRecord,
        feedback: &FeedbackRecord,
    ) -> Result<Result<(), SenderError>, Lost> {
        let Some(document) = record.document.clone() else { return Ok(Ok(())) };
        if self.held.len() >= UNDER_WAY {
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
            Ok(signed) => kept(signed, offer, false),
            Err(error) => return Ok(Err(error)),
        };
        self.held.insert(nonce);
        self.advance(record, Event::Signed { tag: feedback.tag, nonce, signed: signed.clone() }).await?;
        self.send_if_kept(record, &signed).await
    }

    /// Sees what became of a nonce.
    async fn follow(
        &mut self,
        record: &mut SubmissionRecord,
        feedback: &FeedbackRecord,
        slot: &SlotRecord,
    ) -> Result<Result<(), SenderError>, Lost> {
        let (tag, nonce) = (feedback.tag, slot.nonce);
        let mined = slot.signed.iter().find_map(|signed| match self.sights.get(&signed.hash) {
            Some(TransactionStatus::Mined { block, gas_used, succeeded, settled }) => {
                Some((signed, *block, *gas_used, *succeeded, *settled))
            }
            _ => None,
        });
        match mined {
            Some((signed, block, gas_used, succeeded, true)) => {
                let event = if signed.cancels {
                    Event::Undone { tag, nonce, how: Undone::Cancelled }
                } else if succeeded {
                    Event::Landed { tag, landed: LandedRecord { hash: signed.hash, block, gas_used } }
                } else {
                    Event::Undone { tag, nonce, how: Undone::Reverted }
                };
                self.advance(record, event).await.map(Ok)
            }
            Some(_) => Ok(Ok(())),
            None if slot
                .signed
                .iter()
                .any(|signed| self.sights.get(&signed.hash) == Some(&TransactionStatus::Unknown)) =>
            {
                Ok(Ok(()))
            }
            None if nonce < self.view.settled_nonce => match self.without_receipt(record, tag).await {
                Ok(Some(Ok(landed))) => self.advance(record, Event::Landed { tag, landed }).await.map(Ok),
                Ok(Some(Err(how))) => {
                    metrics::counter!("assay_nonces_lost_total").increment(1);
                    tracing::warn!(submission = %record.id, nonce, "a transaction from elsewhere has used a nonce of the account");
                    self.advance(record, Event::Undone { tag, nonce, how }).await.map(Ok)
                }
                Ok(None) => Ok(Ok(())),
                Err(error) => Ok(Err(error)),
            },
            // Used up a moment ago; by what will be seen once it is settled.
            None if nonce < self.view.used_nonce => Ok(Ok(())),
            None => self.press(record, feedback, slot).await,
        }
    }

    /// What the registry says of a nonce that is used up for good without a receipt of ours: the feedback is there, or
    /// it is not and never will be. `None` where it cannot be told.
    async fn without_receipt(
        &self,
        record: &SubmissionRecord,
        tag: Tag,
    ) -> Result<Option<Result<LandedRecord, Undone>>, SenderError> {
        let (Some(start), Some(document)) = (record.start, &record.document) else { return Ok(None) };
        let sender = &self.reputation.inner.sender;
        let GivenFeedback::Complete(told) =
            sender.feedback_since(record.agent_id, start.block, start.given, self.view.settled).await?
        else {
            return Ok(None);
        };
        let uri = uri(document);
        let Some(ours) =
            told.iter().find(|told| told.tag == tag.as_str() && told.uri == uri && told.hash == document.hash)
        else {
            return Ok(Some(Err(Undone::Taken)));
        };
        let sights = sender.statuses(&self.view, &[ours.transaction]).await?;
        Ok(sights.first().and_then(|sight| match sight {
            TransactionStatus::Mined { block, gas_used, settled: true, .. } => {
                Some(Ok(LandedRecord { hash: ours.transaction, block: *block, gas_used: *gas_used }))
            }
            _ => None,
        }))
    }

    /// Sends a waiting transaction again, or one that offers more in its place, or one that gives its nonce to nothing.
    async fn press(
        &mut self,
        record: &mut SubmissionRecord,
        feedback: &FeedbackRecord,
        slot: &SlotRecord,
    ) -> Result<Result<(), SenderError>, Lost> {
        let Some(last) = slot.signed.last() else { return Ok(Ok(())) };
        let settings = &self.reputation.inner.settings;
        let old = (Utc::now() - last.at).to_std().is_ok_and(|age| age >= settings.replace_after);
        // Later nonces wait for the first, not for more gas.
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
        let signed = match self.another(&sender, record, feedback, slot.nonce, offer, &document).await {
            Ok(signed) => kept(signed, offer, record.giving_up.is_some()),
            Err(error) => return Ok(Err(error)),
        };
        metrics::counter!("assay_transactions_replaced_total").increment(1);
        tracing::info!(submission = %record.id, nonce = slot.nonce, max_fee = offer.max_fee, cancels = signed.cancels, "replaced a waiting transaction");
        self.advance(record, Event::Replaced { tag: feedback.tag, signed: signed.clone() }).await?;
        self.send_if_kept(record, &signed).await
    }

    async fn another(
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

    /// Nothing is sent that the record does not have.
    async fn send_if_kept(
        &mut self,
        record: &SubmissionRecord,
        signed: &SignedRecord,
    ) -> Result<Result<(), SenderError>, Lost> {
        let mut kept =
            record.feedback.iter().filter_map(|feedback| feedback.slot.as_ref()).flat_map(|slot| &slot.signed);
        let is_kept = kept.any(|kept| kept.hash == signed.hash);
        Ok(if is_kept { self.send(record, signed).await } else { Ok(()) })
    }

    async fn send(&mut self, record: &SubmissionRecord, signed: &SignedRecord) -> Result<(), SenderError> {
        let sent = self.reputation.inner.sender.send(&signed.raw).await?;
        self.memory.sent.insert(signed.hash, Instant::now());
        match sent {
            SendOutcome::Accepted | SendOutcome::NonceUsed => Ok(()),
            SendOutcome::Underpriced => {
                tracing::info!(submission = %record.id, max_fee = signed.max_fee, "a transaction offers too little at the moment");
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

    async fn advance(&self, record: &mut SubmissionRecord, event: Event) -> Result<(), Lost> {
        if let Some(next) = self.reputation.advance(self.lease, record, event).await? {
            *record = next;
        }
        Ok(())
    }
}

/// Where the document is.
pub(super) fn uri(document: &DocumentRecord) -> String {
    format!("ipfs://{}", document.cid)
}

fn kept(signed: Signed, offer: Offer, cancels: bool) -> SignedRecord {
    SignedRecord {
        hash: signed.hash,
        raw: signed.raw,
        max_fee: offer.max_fee,
        priority_fee: offer.priority_fee,
        at: Utc::now(),
        cancels,
    }
}
