//! Sends documented feedback to the chain, exactly once.
//!
//! Each tag has at most one nonce at a time, which the outbox follows: whichever of its transactions is mined counts,
//! and a replacement can never be mined beside it. A tag gets another nonce only after the first one was used without
//! feedback, with enough confirmations, and the registry, which counts what it receives, does not have the feedback.

use chrono::Utc;

use super::{
    Barred, Event, OnChain, Reputation,
    no_new_block::silence,
    prepare::ELSEWHERE,
    records::{DocumentRecord, FeedbackRecord, SubmissionRecord, nonces},
    step::SpentBy,
};
use crate::feedback::{Feedback, FeedbackRegistry, Subject, give_call, registry_reason};
use assay_outbox::{
    gas::{Admission, Class, GasState, Ledger, NativePrice, Risk},
    nonce::{Ended, Next, NonceRecord, Outbox, Quote, Round, TransactionCall, Unopened},
    sender::SenderError,
};
use assay_payment::{Local, records::PaymentRecord};
use assay_store::{Lease, Lost, StoreError};

/// Why a submission waits while its budget for gas has no room.
const TURN: &str = "Feedback that was reverted has used the budget for gas; submissions are served in turn";
/// Maximum gas of one feedback, which takes about 200,000.
const MOST_GAS: u64 = 1_000_000;

/// One read of the chain, and the work that follows from it.
pub(super) struct Look<'a> {
    reputation: &'a Reputation,
    pub(super) registry: &'a FeedbackRegistry,
    pub(super) outbox: &'a Outbox,
    lease: &'a Lease,
    pub(super) round: Round<'a>,
    ledger: Ledger,
    price: NativePrice,
}

/// The transactions of `records` and `payments` that have not ended.
fn in_flight(records: &[SubmissionRecord], payments: &[PaymentRecord], price: NativePrice) -> Vec<Risk> {
    let of_payments =
        payments.iter().filter_map(|payment| Some(payment.risk(price.usd(payment.slot.as_ref()?.most_cost()))));
    let of_feedback = records.iter().flat_map(move |record| {
        let slots = nonces(std::slice::from_ref(record));
        slots.map(move |slot| record.risk(price.usd(slot.most_cost())))
    });
    of_payments.chain(of_feedback).collect()
}

impl Reputation {
    /// The ledger of gas at risk, by the stored records of all hosts. It makes no call.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn gas(&self) -> Result<GasState, StoreError> {
        let (records, payments) = (self.open().await?, self.open_payments().await?);
        let gas = &self.inner.gas;
        let ledger = gas.ledger(&in_flight(&records, &payments, gas.last_price()), []).await?;
        Ok(GasState::of(&ledger, |class| match class {
            Class::Feedback => records.iter().filter(|record| record.trouble.as_deref() == Some(TURN)).count(),
            class => payments.iter().filter(|payment| payment.class() == class && payment.is_in_turn()).count(),
        }))
    }
}

/// Why feedback is not signed.
enum Withheld {
    /// It waits for this.
    Now(String),
    Declined(String),
}

/// The result of one step about a tag: the chain's failure inside, the loss of lease or store outside.
type ChainStep = Result<Result<(), SenderError>, Lost>;

impl<'a> Look<'a> {
    /// Reads the chain once for all of `records` and `payments`, oldest first, and takes the next step of each.
    pub(super) async fn run(
        OnChain { registry, outbox, gas, payments: local, .. }: &'a OnChain,
        reputation: &'a Reputation,
        lease: &'a Lease,
        mut records: Vec<SubmissionRecord>,
        payments: Vec<PaymentRecord>,
    ) -> Result<(), Lost> {
        let of_payments = payments.iter().filter_map(|payment| payment.slot.as_ref());
        let mut round = match outbox.look(nonces(&records).chain(of_payments)).await {
            Ok(round) => round,
            Err(error) => {
                for record in &records {
                    reputation.advance(lease, record, Event::Retry(error.to_string())).await?;
                }
                return Ok(());
            }
        };
        let price = gas.native_price().await;
        let in_flight = in_flight(&records, &payments, price);
        let waiting = Local::parties(&payments).chain(records.iter().flat_map(SubmissionRecord::parties));
        let mut ledger = gas.ledger(&in_flight, waiting).await?;
        ledger.measure();
        // Payments come first, for a client waits for the answer.
        if let Some(local) = local
            && !payments.is_empty()
            && !local.run(lease, (&mut round, &mut ledger, price), payments).await?
        {
            return Err(Lost::Lease);
        }
        // The party with the least loss and risk comes first, then the oldest.
        records.sort_by_key(|record| record.parties().map(|party| ledger.debt(&party)).max());
        let mut look = Look { reputation, registry, outbox, lease, round, ledger, price };
        for record in records {
            look.submission(record).await?;
        }
        Ok(())
    }
}

impl Look<'_> {
    /// Takes the next step of every tag of one submission.
    async fn submission(&mut self, mut record: SubmissionRecord) -> Result<(), Lost> {
        if !self.reputation.is_ours(&record) && !self.is_followed(&mut record).await? {
            return Ok(());
        }
        let unsigned = |feedback: &FeedbackRecord| feedback.slot.is_none() && feedback.landed.is_none();
        if record.giving_up.is_none() && self.round.free() > 0 && record.feedback.iter().any(unsigned) {
            let owner = record.start.and_then(|start| start.owner);
            if let Some(barred) = self.reputation.barred(record.agent_id, owner, &record.payer).await? {
                self.advance(&mut record, Event::Declined(barred.to_string())).await?;
            }
        }
        let mut turn = None;
        let mut obstacle = None;
        for tag in record.tags.clone() {
            if record.stage.is_terminal() {
                return Ok(());
            }
            let open = |feedback: &&FeedbackRecord| feedback.tag == tag && feedback.landed.is_none();
            let Some(feedback) = record.feedback.iter().find(open).cloned() else { continue };
            let done = match &feedback.slot {
                Some(slot) => self.follow(&mut record, &feedback, slot).await?,
                None if record.giving_up.is_none() && turn.is_none() => {
                    self.begin(&mut record, &feedback, &mut turn).await?
                }
                None => Ok(()),
            };
            obstacle = obstacle.or(done.err());
        }
        let event = match obstacle {
            Some(error) => Event::Retry(error.to_string()),
            None => Event::Waits(turn.or_else(|| silence(&record, self.round.head_since(), Utc::now()))),
        };
        self.advance(&mut record, event).await?;
        // The time limit may have passed without any other event.
        self.advance(&mut record, Event::Tick).await
    }

    /// Whether the transactions of a submission of an earlier configuration can be followed, and it with them.
    async fn is_followed(&self, record: &mut SubmissionRecord) -> Result<bool, Lost> {
        let is_own = (record.chain, record.client) == (self.registry.registries().chain, self.registry.account());
        let event = match is_own {
            // Waiting feedback is cancelled, and mined feedback counts.
            true => Event::Refused(ELSEWHERE.to_owned()),
            false => Event::Retry("The account of this service was changed during the submission".to_owned()),
        };
        self.advance(record, event).await?;
        Ok(is_own)
    }

    /// Signs and sends the first transaction of a nonce. `turn` is set if the budget for gas has no room for it now.
    async fn begin(
        &mut self,
        record: &mut SubmissionRecord,
        feedback: &FeedbackRecord,
        turn: &mut Option<String>,
    ) -> ChainStep {
        let Some(call) = self.call(record, feedback) else { return Ok(Ok(())) };
        let event = match self.round.quote(call).await {
            Err(error) => return Ok(Err(error)),
            Ok(Ok(quote)) => match self.admission(record, &quote) {
                Ok(risk) => {
                    let slot = match self.round.sign(quote) {
                        Ok(slot) => slot,
                        Err(error) => return Ok(Err(error)),
                    };
                    self.ledger.add(&risk);
                    let (nonce, Some(signed)) = (slot.nonce, slot.signed.last().cloned()) else { return Ok(Ok(())) };
                    self.advance(record, Event::Signed { tag: feedback.tag, nonce, signed }).await?;
                    return self.send(record, feedback, &slot).await;
                }
                Err(Withheld::Now(what)) => {
                    *turn = Some(what);
                    return Ok(Ok(()));
                }
                Err(Withheld::Declined(what)) => Event::Declined(what),
            },
            Ok(Err(Unopened::Full)) => {
                let most = self.outbox.rules().most;
                return Ok(Err(SenderError::Full(most)));
            }
            Ok(Err(Unopened::Reverts(reason))) => Event::Declined(by_registry(&registry_reason(&reason))),
            Ok(Err(Unopened::Costly(gas))) => {
                Event::Refused(by_registry(&format!("it needs {gas} gas, more than the limit of {MOST_GAS}")))
            }
        };
        self.advance(record, event).await.map(Ok)
    }

    /// The feedback of `quote`, if the ledger admits it now.
    fn admission(&self, record: &SubmissionRecord, quote: &Quote) -> Result<Risk, Withheld> {
        let risk = record.risk(self.price.usd(quote.most_cost()));
        let waits = |what: String| Err(Withheld::Now(what));
        match self.ledger.admit(&risk) {
            Admission::Granted => Ok(risk),
            Admission::Busy => waits("Other feedback of the same caller or owner is in progress".to_owned()),
            Admission::Turn => waits(TURN.to_owned()),
            Admission::Spent(spent) => {
                let owner = record.start.and_then(|start| start.owner);
                Err(Withheld::Declined(Barred::by(spent, owner).to_string()))
            }
            Admission::Dear(limit) => waits(format!(
                "The gas of one feedback can cost more than the budget of {limit}; the operator can raise \
                 reputation.gas.feedback_usd"
            )),
        }
    }

    /// Records the outcome of a nonce, or moves its transaction on.
    async fn follow(
        &mut self,
        record: &mut SubmissionRecord,
        feedback: &FeedbackRecord,
        slot: &NonceRecord,
    ) -> ChainStep {
        let (tag, nonce) = (feedback.tag, slot.nonce);
        let call = self.call(record, feedback).filter(|_| record.giving_up.is_none());
        // An owner may have approved the account since, or the agent is gone: the waiting feedback would be reverted.
        let call = match call {
            Some(call) if self.round.is_waiting(slot) => match self.registry.subject(record.agent_id).await {
                Ok(Subject::Other(_)) => Some(call),
                Ok(Subject::Own | Subject::Missing) => None,
                Err(error) => return Ok(Err(error)),
            },
            call => call,
        };
        let risk = record.risk(self.price.usd(slot.most_cost()));
        let most_cost = slot.most_cost().saturating_add(self.price.wei(self.ledger.most(&risk)));
        let spent = |by| Event::NonceSpent { tag, nonce, by };
        let event = match self.round.follow(slot, call.as_ref(), most_cost).await {
            Err(error) => return Ok(Err(error)),
            Ok(Next::Wait) => return Ok(Ok(())),
            Ok(Next::Send) => return self.send(record, feedback, slot).await,
            Ok(Next::Store(slot)) => {
                self.ledger.add(&record.risk(self.price.usd(slot.most_cost()).minus(risk.most)));
                let Some(signed) = slot.signed.last().cloned() else { return Ok(Ok(())) };
                self.advance(record, Event::Replaced { tag, signed }).await?;
                return self.send(record, feedback, &slot).await;
            }
            Ok(Next::Ended(Ended::Succeeded(landed))) => Event::Landed { tag, landed },
            Ok(Next::Ended(Ended::Reverted(landed))) => {
                metrics::counter!("assay_gas_reverted_total", "of" => "feedback").increment(landed.gas_used);
                spent(if slot.ran_out_of_gas(&landed) { SpentBy::OutOfGas(landed) } else { SpentBy::Revert(landed) })
            }
            Ok(Next::Ended(Ended::Cancelled(landed))) => spent(SpentBy::Cancellation(landed)),
            Ok(Next::Ended(Ended::NoReceipt)) => match self.without_receipt(record, tag, nonce).await {
                Err(error) => return Ok(Err(error)),
                Ok(None) => return Ok(Ok(())),
                Ok(Some(event)) => event,
            },
        };
        self.advance(record, event).await.map(Ok)
    }

    /// Sends the newest transaction of `slot`, only if the stored record has it.
    async fn send(&self, record: &SubmissionRecord, feedback: &FeedbackRecord, slot: &NonceRecord) -> ChainStep {
        let stored = record.feedback.iter().find(|stored| stored.tag == feedback.tag);
        let stored = stored.and_then(|stored| stored.slot.as_ref());
        match slot.signed.last().filter(|signed| stored.is_some_and(|slot| slot.has(signed.hash))) {
            Some(signed) => Ok(self.outbox.send(signed).await),
            None => Ok(Ok(())),
        }
    }

    /// The call that gives this feedback; `None` before there is a document.
    fn call(&self, record: &SubmissionRecord, feedback: &FeedbackRecord) -> Option<TransactionCall> {
        let document = record.document_of(feedback.tag)?;
        let data = give_call(&Feedback {
            agent_id: record.agent_id,
            tag: feedback.tag,
            value: feedback.value,
            version: &feedback.version,
            endpoint: &self.reputation.inner.settings.endpoint,
            uri: uri(document),
            hash: document.hash,
        });
        Some(TransactionCall { to: record.reputation_registry, data, most_gas: MOST_GAS })
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

/// Why nothing is submitted that the registry would revert.
pub fn by_registry(reason: &str) -> String {
    format!("the Reputation Registry refuses the feedback: {reason}")
}
