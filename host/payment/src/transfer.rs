//! The transfer of a payment by the account: its transaction, and what its outcome says. The caller saves the record,
//! then sends.

use std::collections::HashMap;

use super::{
    Refused, X402, reason,
    records::{PaymentRecord, Waits},
    verify::{signature_refused, unix_now},
};
use crate::token::{Asset, AuthorizationUse, PaymentError, Standing};
use assay_domain::{Address, U256, signer};
use assay_outbox::{
    gas::{Admission, Class, Ledger, NativePrice, Party, Spent},
    nonce::{Ended, LandedRecord, Next, NonceRecord, Round, SignedRecord, TransactionCall, Unopened},
    sender::SenderError,
};

/// Maximum gas of the transfer of a payer without code. Circle's takes about 90,000.
const ACCOUNT_GAS: u64 = 200_000;
/// Maximum gas of the transfer of a payer with code, which may use any amount.
const CONTRACT_GAS: u64 = 500_000;
/// Nonces that other senders may take from a payment.
const MOST_LOST: u32 = 3;
/// Payments without a transaction that are checked in one round.
const MOST_TRIES: usize = 32;
/// The most that the clock of the chain may be behind ours, in seconds.
const CLOCK_SKEW: u64 = 60;

/// The effect of a step, once the record is saved.
#[derive(Default)]
pub(super) struct Step {
    pub send: Option<SignedRecord>,
    /// Gas of a transaction that ended.
    pub spent: Spent,
}

impl Step {
    fn send(newest: Option<SignedRecord>) -> Self {
        Self { send: newest, ..Self::default() }
    }
}

/// The transfers of one round.
pub(super) struct Transfers<'a, 'r> {
    x402: &'a X402,
    asset: &'a Asset,
    round: &'a mut Round<'r>,
    ledger: &'a mut Ledger,
    price: NativePrice,
    /// Nonces that payments may still take; the rest is kept for submissions.
    left: usize,
    tries: usize,
    /// The sum of each payer's transfers in flight.
    promised: HashMap<Address, U256>,
    /// The first payment of a class that waits for its turn; those behind it wait too.
    turns: HashMap<Class, Waits>,
}

fn chain(error: PaymentError) -> SenderError {
    SenderError::Chain(error.to_string())
}

impl<'a, 'r> Transfers<'a, 'r> {
    /// Payments use half of the account's nonces at most.
    pub(super) fn new(
        x402: &'a X402,
        asset: &'a Asset,
        (round, ledger, price): (&'a mut Round<'r>, &'a mut Ledger, NativePrice),
        open: &[PaymentRecord],
        most: usize,
    ) -> Self {
        let mut promised = HashMap::<Address, U256>::new();
        for record in open.iter().filter(|record| record.slot.is_some()) {
            let sum = promised.entry(record.id.from).or_default();
            *sum = sum.saturating_add(record.authorization.value);
        }
        let own = open.iter().filter_map(|record| record.slot.as_ref()).filter(|slot| round.is_own(slot)).count();
        let left = most.div_ceil(2).saturating_sub(own);
        Self { x402, asset, round, ledger, price, left, tries: MOST_TRIES, promised, turns: HashMap::new() }
    }

    /// Moves `record` to its next state.
    pub(super) async fn step(&mut self, record: &mut PaymentRecord) -> Result<Step, SenderError> {
        let Some(slot) = record.slot.clone() else { return self.begin(record).await };
        let call = self.call(record);
        let call = if self.is_payable(record, &slot).await? { Some(call) } else { None };
        let risk = record.risk(self.price.usd(slot.most_cost()));
        let most_cost = slot.most_cost().saturating_add(self.price.wei(self.ledger.most(&risk)));
        let send = match self.round.follow(&slot, call.as_ref(), most_cost).await? {
            Next::Wait if !self.round.is_own(&slot) => return self.expired(record).await,
            Next::Wait => None,
            Next::Send => slot.signed.last().cloned(),
            Next::Store(slot) => {
                let most = self.price.usd(slot.most_cost()).minus(risk.most);
                self.ledger.add(&record.risk(most));
                let newest = slot.signed.last().cloned();
                record.slot = Some(slot);
                newest
            }
            Next::Ended(ended) => return self.ended(record, ended).await,
        };
        Ok(Step::send(send))
    }

    /// Whether the transfer of a waiting nonce would still succeed. A transfer that would not is cancelled.
    async fn is_payable(&self, record: &PaymentRecord, slot: &NonceRecord) -> Result<bool, SenderError> {
        if !self.round.is_waiting(slot) {
            return Ok(!record.is_expired(unix_now(), CLOCK_SKEW));
        }
        let standing = self.asset.standing(&record.authorization).await.map_err(chain)?;
        Ok(record.is_payable(&standing, unix_now()))
    }

    /// Signs the first transaction of a nonce, after the newest block confirms again that the transfer would succeed.
    async fn begin(&mut self, record: &mut PaymentRecord) -> Result<Step, SenderError> {
        // Also in the queue, so that its payer can sign again and keep its place.
        if !record.holds(unix_now(), reason::SIGNING_MARGIN) {
            record.refused(Refused::expired_in_queue());
            return Ok(Step::default());
        }
        if self.left == 0 || self.tries == 0 || self.round.free() == 0 {
            return Ok(Step::default());
        }
        if let Some(turn) = self.turns.get(&record.class())
            && !self.ledger.has_credit(&Party::payer(record.id.from))
        {
            record.waits = record.waits.or(Some(*turn));
            return Ok(Step::default());
        }
        self.tries -= 1;
        let standing = self.asset.standing(&record.authorization).await.map_err(chain)?;
        let promised = self.promised.get(&record.id.from).copied().unwrap_or_default();
        if !record.may_begin(&standing, promised, unix_now(), self.x402.inner.contract_signatures) {
            return Ok(Step::default());
        }
        let market = self.round.view().market;
        if let Some(purchase) = &record.purchase
            && let Some(loss) = self.x402.loss_of_sale(purchase, market.price(), self.price)
        {
            record.waits_for(loss);
            return Ok(Step::default());
        }
        let quote = match self.round.quote(self.call(record)).await? {
            Ok(quote) => quote,
            Err(Unopened::Full) => return Ok(Step::default()),
            Err(Unopened::Costly(gas)) => {
                let most_gas = most_gas(record);
                let detail = format!("The transfer needs {gas} gas, more than the limit of {most_gas}");
                record.refused(Refused::new(reason::STATE, detail));
                return Ok(Step::default());
            }
            Err(Unopened::Reverts(words)) => {
                self.unpayable(record, &words).await?;
                return Ok(Step::default());
            }
        };
        let risk = record.risk(self.price.usd(quote.most_cost()));
        match self.ledger.admit(&risk) {
            Admission::Granted => {}
            Admission::Busy => return Ok(Step::default()),
            Admission::Turn => {
                let turn = Waits::Turn { most: risk.most };
                record.waits = Some(turn);
                self.turns.insert(risk.class, turn);
                return Ok(Step::default());
            }
            Admission::Spent(spent) => {
                record.refused(Refused::out_of_gas(&spent));
                return Ok(Step::default());
            }
            Admission::Dear(limit) => {
                record.waits_for(Waits::Price { cost: risk.most, limit });
                let what = format!(
                    "the gas of one transfer can cost more than the budget of {limit}; raise reputation.gas.{}_usd, or \
                     set access.x402.facilitator",
                    risk.class.as_str()
                );
                record.trouble = Some(what);
                return Ok(Step::default());
            }
        }
        let slot = self.round.sign(quote)?;
        let newest = slot.signed.last().cloned();
        self.ledger.add(&risk);
        let promised = self.promised.entry(record.id.from).or_default();
        *promised = promised.saturating_add(record.authorization.value);
        self.left -= 1;
        (record.slot, record.waits, record.trouble) = (Some(slot), None, None);
        Ok(Step::send(newest))
    }

    /// A transfer that would be reverted now. A used authorization may lack confirmations, or somebody else used it.
    async fn unpayable(&self, record: &mut PaymentRecord, words: &str) -> Result<(), SenderError> {
        let refused = Refused::reverted(words);
        if refused.reason != reason::USED {
            record.refused(refused);
            return Ok(());
        }
        let usage = self.usage(record).await?;
        if usage != AuthorizationUse::Unused && !record.concluded(usage, None, unix_now()) {
            return Err(unclear());
        }
        Ok(())
    }

    /// The transaction is of an account that was configured before, and was not seen in a block. Once no block can hold
    /// it any more, the authorization has its last state.
    async fn expired(&self, record: &mut PaymentRecord) -> Result<Step, SenderError> {
        let settled = self.asset.settled().await.map_err(chain)?;
        if !record.is_expired(settled.time, 0) {
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

    /// The asset's events decide the outcome of the authorization.
    fn concluded(
        &self,
        record: &mut PaymentRecord,
        ended: Ended,
        usage: AuthorizationUse,
    ) -> Result<Step, SenderError> {
        if !record.concluded(usage, Some(ended), unix_now()) {
            return Err(unclear());
        }
        record.slot = None;
        if let Ended::Reverted(landed) = ended {
            metrics::counter!("assay_gas_reverted_total", "of" => "payment").increment(landed.gas_used);
            tracing::warn!(payer = %record.id.from, gas = landed.gas_used, hash = %landed.hash,
                "the transfer of a payment was reverted");
        }
        Ok(Step { send: None, spent: spent(ended, self.price) })
    }

    async fn usage(&self, record: &PaymentRecord) -> Result<AuthorizationUse, SenderError> {
        let start = record.start.unwrap_or_default();
        let settled = self.round.view().settled;
        self.asset.authorization_use(&record.authorization, start, settled).await.map_err(chain)
    }

    fn call(&self, record: &PaymentRecord) -> TransactionCall {
        let hash = self.x402.terms().domain.hash(&record.authorization);
        let by_key = signer(hash, &record.signature) == Some(record.authorization.from);
        let data = self.asset.call(&record.authorization, &record.signature, by_key);
        TransactionCall { to: self.asset.contract(), data, most_gas: most_gas(record) }
    }
}

/// The gas of a transfer. One that moved no money is a loss that its payer can have caused.
pub fn spent(ended: Ended, price: NativePrice) -> Spent {
    let cost = |landed: LandedRecord| price.usd(landed.cost.into());
    match ended {
        Ended::Succeeded(landed) => Spent { cost: cost(landed), ..Spent::default() },
        Ended::Reverted(landed) | Ended::Cancelled(landed) => {
            let cost = cost(landed);
            Spent { cost, lost: cost, blamed: cost }
        }
        Ended::NoReceipt => Spent::default(),
    }
}

impl PaymentRecord {
    /// The first amounts are kept while it waits for the same, to write it once.
    fn waits_for(&mut self, what: Waits) {
        let known = self.waits.as_ref().map(std::mem::discriminant);
        if known != Some(std::mem::discriminant(&what)) {
            self.waits = Some(what);
        }
    }

    /// Whether the signature holds for `margin` seconds from `now`.
    pub fn holds(&self, now: u64, margin: u64) -> bool {
        self.authorization.valid_before > U256::from(now.saturating_add(margin))
    }

    /// Whether the signature has expired by more than the clocks may differ.
    pub(super) fn is_expired(&self, now: u64, skew: u64) -> bool {
        self.authorization.valid_before < U256::from(now.saturating_sub(skew))
    }

    /// Whether its transfer may be signed in the state of `standing`; it is refused if it never can be. `promised` is
    /// the sum of the payer's transfers in flight.
    pub fn may_begin(&mut self, standing: &Standing, promised: U256, now: u64, contracts_may_pay: bool) -> bool {
        self.by_contract = standing.has_code;
        if !self.holds(standing.time.max(now), reason::SIGNING_MARGIN) {
            self.refused(Refused::expired_in_queue());
            false
        } else if self.by_contract && !contracts_may_pay {
            self.refused(signature_refused(self.id.from));
            false
        } else {
            // A payer that signs for more than its balance must not cost gas for reverted transfers.
            promised.is_zero() || standing.balance >= promised.saturating_add(self.authorization.value)
        }
    }

    /// Whether the signed transfer would still succeed after the block of `standing`.
    pub fn is_payable(&self, standing: &Standing, now: u64) -> bool {
        !standing.used
            && standing.balance >= self.authorization.value
            && standing.has_code == self.by_contract
            && self.holds(standing.time.max(now), reason::CANCELLING_MARGIN)
    }

    /// Settles or refuses it by the outcome of the authorization, once its nonce has `ended`, if it had one. A transfer
    /// by anybody is the payment if the payment was stored before the block of the transfer: `pay_to` belongs to one
    /// store. `false` if the outcome is not known.
    pub fn concluded(&mut self, usage: AuthorizationUse, ended: Option<Ended>, now: u64) -> bool {
        match usage {
            AuthorizationUse::Unknown => return false,
            AuthorizationUse::Paid { transaction, block } if self.is_paid_by(transaction, block) => {
                self.settled(transaction);
            }
            AuthorizationUse::Paid { transaction, .. } => {
                self.refused(Refused::paid_before(transaction));
                self.reverted = true;
            }
            AuthorizationUse::Elsewhere => self.refused(Refused::used()),
            AuthorizationUse::Unused => self.unpaid(ended, now),
        }
        true
    }

    fn is_paid_by(&self, transaction: assay_domain::B256, block: u64) -> bool {
        let is_ours = self.slot.as_ref().is_some_and(|slot| slot.has(transaction));
        is_ours || self.start.is_some_and(|start| block > start)
    }

    /// No money moved, and the authorization is unused.
    fn unpaid(&mut self, ended: Option<Ended>, now: u64) {
        self.attempts = self.attempts.saturating_add(1);
        match ended {
            Some(Ended::Reverted(_)) => {
                self.refused(Refused::reverted_on_chain());
                self.reverted = true;
            }
            Some(Ended::Cancelled(_)) if !self.holds(now, reason::SIGNING_MARGIN) => {
                let detail = "The signature expired before the transfer was mined; sign a new one";
                self.refused(Refused::new(reason::VALID_BEFORE, detail));
            }
            _ if self.attempts >= MOST_LOST => self.not_landed(),
            // The next round begins again, or says why it cannot.
            _ => {}
        }
    }

    /// Refuses a payment whose transfer did not come to the chain.
    fn not_landed(&mut self) {
        self.refused(Refused::not_landed());
    }
}

fn most_gas(record: &PaymentRecord) -> u64 {
    if record.by_contract { CONTRACT_GAS } else { ACCOUNT_GAS }
}

fn unclear() -> SenderError {
    SenderError::Chain("the node does not show how the payment was used".into())
}
