//! The transfer of a payment by the account: its transaction, and what its outcome says. The caller saves the record,
//! then sends.

use super::{
    Refused, X402, reason,
    records::PaymentRecord,
    under_way::{MOST_GAS, Turn, UnderWay},
    verify::unix_now,
};
use assay_domain::signer;
use assay_outbox::{
    nonce::{Ended, Next, Round, SignedRecord, TransactionCall, Unopened},
    payment::{Asset, AuthorizationUse, PaymentError},
    sender::SenderError,
};

/// Nonces that other senders may take from a payment.
const MOST_LOST: u32 = 3;
/// Payments without a transaction that are looked at in one round.
const MOST_TRIES: usize = 32;
/// The most that the clock of the chain may be behind ours, in seconds.
const CLOCK_SKEW: u64 = 60;

/// What follows from a step, once the record is saved.
#[derive(Default)]
pub(super) struct Step {
    pub send: Option<SignedRecord>,
    /// Gas of a transaction that was reverted.
    pub reverted: Option<u64>,
}

/// The transfers of one round.
pub(super) struct Transfers<'a, 'r> {
    x402: &'a X402,
    asset: &'a Asset,
    round: &'a mut Round<'r>,
    /// Nonces that payments may still take; the rest is kept for submissions.
    left: usize,
    tries: usize,
    under_way: UnderWay,
}

fn chain(error: PaymentError) -> SenderError {
    SenderError::Chain(error.to_string())
}

impl<'a, 'r> Transfers<'a, 'r> {
    /// Payments use half of the account's nonces at most.
    pub(super) fn new(
        x402: &'a X402,
        asset: &'a Asset,
        round: &'a mut Round<'r>,
        open: &[PaymentRecord],
        most: usize,
    ) -> Self {
        let started = open.iter().filter(|record| record.slot.is_some());
        let own = open.iter().filter_map(|record| record.slot.as_ref()).filter(|slot| round.is_own(slot)).count();
        let (left, under_way) = (most.div_ceil(2).saturating_sub(own), UnderWay::new(started));
        Self { x402, asset, round, left, tries: MOST_TRIES, under_way }
    }

    /// Moves `record` to its next state.
    pub(super) async fn step(&mut self, record: &mut PaymentRecord) -> Result<Step, SenderError> {
        let Some(slot) = record.slot.clone() else { return self.begin(record).await };
        let call = self.call(record, record.most_gas.unwrap_or(MOST_GAS));
        let call = Some(call).filter(|_| !record.is_expired(unix_now(), CLOCK_SKEW));
        let send = match self.round.follow(&slot, call.as_ref()).await? {
            Next::Wait if !self.round.is_own(&slot) => return self.expired(record).await,
            Next::Wait => None,
            Next::Send => slot.signed.last().cloned(),
            Next::Store(slot) => {
                let newest = slot.signed.last().cloned();
                record.slot = Some(slot);
                newest
            }
            Next::Ended(ended) => return self.ended(record, ended).await,
        };
        Ok(Step { send, reverted: None })
    }

    /// Signs the first transaction of a nonce, after the chain confirms again that the transfer would succeed.
    async fn begin(&mut self, record: &mut PaymentRecord) -> Result<Step, SenderError> {
        if self.left == 0 || self.tries == 0 || self.round.free() == 0 {
            return Ok(Step::default());
        }
        self.tries -= 1;
        if record.is_expired(unix_now(), CLOCK_SKEW) {
            let detail = "The signature expired before the transfer was sent; sign a new one";
            record.refused(Refused::new(reason::VALID_BEFORE, detail));
            return Ok(Step::default());
        }
        let most_gas = match self.under_way.admission(self.x402, self.asset, record).await? {
            Turn::Now(most_gas) => most_gas,
            Turn::Later => return Ok(Step::default()),
            Turn::Never(refused) => {
                record.refused(refused);
                return Ok(Step::default());
            }
        };
        match self.round.open(&self.call(record, most_gas)).await? {
            Ok(slot) => {
                let newest = slot.signed.last().cloned();
                self.under_way.add(record);
                self.left -= 1;
                // A replacement may take no more: the other transfers under way share what is left.
                (record.slot, record.most_gas, record.trouble) = (Some(slot), Some(most_gas), None);
                return Ok(Step { send: newest, reverted: None });
            }
            Err(Unopened::Full) => {}
            Err(Unopened::Costly(gas)) => {
                let detail = format!("The transfer would take {gas} gas, and may take {most_gas} at most");
                record.refused(Refused::new(reason::STATE, detail));
            }
            Err(Unopened::Reverts(words)) => self.unpayable(record, &words).await?,
        }
        Ok(Step::default())
    }

    /// A transfer that would be reverted now. A used authorization may lack confirmations, or somebody else used it.
    async fn unpayable(&self, record: &mut PaymentRecord, words: &str) -> Result<(), SenderError> {
        let refused = Refused::reverted(words);
        if refused.reason != reason::USED {
            record.refused(refused);
            return Ok(());
        }
        match self.usage(record).await? {
            AuthorizationUse::Paid(transaction) => self.x402.refuse_foreign(record, transaction),
            AuthorizationUse::Elsewhere => record.refused(Refused::used()),
            AuthorizationUse::Unused => {}
            AuthorizationUse::Unknown => return Err(unclear()),
        }
        Ok(())
    }

    /// The transaction is of an account that was configured before, and was not seen in a block. Once no block can hold
    /// it any more, the authorization has its last state.
    async fn expired(&self, record: &mut PaymentRecord) -> Result<Step, SenderError> {
        let (settled, time) = self.asset.settled().await.map_err(chain)?;
        if !record.is_expired(time, 0) {
            return Ok(Step::default());
        }
        let start = record.start.unwrap_or_default();
        let usage = self.asset.authorization_use(&record.authorization, start, settled).await.map_err(chain)?;
        self.concluded(record, Ended::NoReceipt, usage)
    }

    /// The nonce is settled.
    async fn ended(&self, record: &mut PaymentRecord, ended: Ended) -> Result<Step, SenderError> {
        let usage = self.usage(record).await?;
        self.concluded(record, ended, usage)
    }

    /// The asset's events decide what became of the authorization.
    fn concluded(
        &self,
        record: &mut PaymentRecord,
        ended: Ended,
        usage: AuthorizationUse,
    ) -> Result<Step, SenderError> {
        let ours = record.slot.clone();
        let is_ours = |hash| ours.as_ref().is_some_and(|slot| slot.has(hash));
        match usage {
            AuthorizationUse::Unknown => return Err(unclear()),
            AuthorizationUse::Paid(transaction) if is_ours(transaction) => record.settled(transaction),
            AuthorizationUse::Paid(transaction) => self.x402.refuse_foreign(record, transaction),
            AuthorizationUse::Elsewhere => record.refused(Refused::used()),
            AuthorizationUse::Unused => self.unpaid(record, ended),
        }
        record.slot = None;
        let reverted = match ended {
            Ended::Reverted(landed) => {
                metrics::counter!("assay_gas_reverted_total", "of" => "payment").increment(landed.gas_used);
                tracing::warn!(payer = %record.id.from, gas = landed.gas_used, hash = %landed.hash,
                    "the transfer of a payment was reverted");
                Some(landed.gas_used)
            }
            _ => None,
        };
        Ok(Step { send: None, reverted })
    }

    /// No money moved, and the authorization is unused.
    fn unpaid(&self, record: &mut PaymentRecord, ended: Ended) {
        record.attempts = record.attempts.saturating_add(1);
        match ended {
            Ended::Reverted(_) => {
                record.refused(Refused::reverted_on_chain());
                record.reverted = true;
            }
            Ended::Cancelled(_) if record.is_expired(unix_now(), CLOCK_SKEW) => {
                let detail = "The signature expired before the transfer was mined; sign a new one";
                record.refused(Refused::new(reason::VALID_BEFORE, detail));
            }
            _ if record.attempts >= MOST_LOST => record.not_landed(),
            // The next round begins again, or says why it cannot.
            _ => {}
        }
    }

    async fn usage(&self, record: &PaymentRecord) -> Result<AuthorizationUse, SenderError> {
        let start = record.start.unwrap_or_default();
        let settled = self.round.view().settled;
        self.asset.authorization_use(&record.authorization, start, settled).await.map_err(chain)
    }

    fn call(&self, record: &PaymentRecord, most_gas: u64) -> TransactionCall {
        let hash = self.x402.terms().domain.hash(&record.authorization);
        let by_key = signer(hash, &record.signature) == Some(record.authorization.from);
        let data = self.asset.call(&record.authorization, &record.signature, by_key);
        TransactionCall { to: self.asset.contract(), data, most_gas }
    }
}

fn unclear() -> SenderError {
    SenderError::Chain("the node does not show how the payment was used".into())
}
