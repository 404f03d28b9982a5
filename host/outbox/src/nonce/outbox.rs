//! Sends the transactions of the account: one read of the chain for all nonces, and the next transaction of each. The
//! caller stores each signed transaction before sending it.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use alloy::primitives::Bytes;
use chrono::Utc;

use super::{
    Ended, Move, NonceState, Rules, Seen, next_move,
    records::{NonceRecord, SignedRecord, cost},
    state_of,
};
use crate::sender::{
    AccountView, CANCELLATION_GAS, Offer, SendOutcome, Sender, SenderError, Signed, TransactionStatus,
};
use assay_domain::{Address, B256, Time};

/// How long this process remembers that it sent a transaction.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The transactions of one account. Cheap to clone.
#[derive(Clone)]
pub struct Outbox {
    sender: Sender,
    rules: Rules,
    /// When this process sent which transaction, and the answer. Without it a transaction is sent once more, which is
    /// harmless.
    sent: Arc<Mutex<HashMap<B256, (Instant, SendOutcome)>>>,
    /// The newest block, and when this process first saw it.
    newest: Arc<Mutex<Option<(B256, Time)>>>,
}

/// One read of the chain, and the nonces in use.
pub struct Round<'a> {
    outbox: &'a Outbox,
    view: AccountView,
    head_since: Time,
    statuses: HashMap<B256, TransactionStatus>,
    held: BTreeSet<u64>,
}

/// A call of a contract by the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionCall {
    pub to: Address,
    pub data: Bytes,
    /// Maximum gas that it may take.
    pub most_gas: u64,
}

/// A call with the gas and the fee that it needs now, not signed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    call: TransactionCall,
    gas: u64,
    offer: Offer,
}

impl Quote {
    /// Maximum wei that the transaction can cost.
    pub fn most_cost(&self) -> u128 {
        cost(self.gas, self.offer.max_fee)
    }
}

/// Why no transaction was signed for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unopened {
    /// Every nonce is in use.
    Full,
    /// The call would be reverted, for this reason.
    Reverts(String),
    /// The call would take this much gas, which is more than it may.
    Costly(u64),
}

/// The next step of a nonce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Wait,
    /// Send the newest transaction, which is stored.
    Send,
    /// Store this record, then send its newest transaction.
    Store(NonceRecord),
    /// The nonce is settled.
    Ended(Ended),
}

impl Outbox {
    pub fn new(sender: Sender, rules: Rules) -> Self {
        Self { sender, rules, sent: Arc::default(), newest: Arc::default() }
    }

    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Looks at the chain for all `slots`. Those of a previously configured account use none of this account's nonces.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub async fn look<'s>(&self, slots: impl Iterator<Item = &'s NonceRecord>) -> Result<Round<'_>, SenderError> {
        let (own, others): (Vec<_>, Vec<_>) = slots.partition(|slot| self.is_own(slot));
        let view = self.sender.view().await?;
        let hashes = |used: bool| -> Vec<B256> {
            let of_kind = own.iter().filter(|slot| (slot.nonce < view.used_nonce) == used);
            let of_others = others.iter().filter(|_| used);
            of_kind.chain(of_others).flat_map(|slot| slot.signed.iter().map(|signed| signed.hash)).collect()
        };
        let (used, waiting) = (hashes(true), hashes(false));
        let mined = self.sender.statuses(&view, &used).await?;
        let pooled = self.sender.pooled(&waiting).await?;
        let statuses = used.into_iter().zip(mined).chain(waiting.into_iter().zip(pooled)).collect();
        let held = own.iter().map(|slot| slot.nonce).collect();
        self.remembered(|sent| sent.retain(|_, (at, _)| at.elapsed() < REMEMBERED));
        let head_since = self.first_seen(view.head.hash);
        Ok(Round { outbox: self, view, head_since, statuses, held })
    }

    /// Whether this account signed the transactions of `slot`, and not one that was configured before.
    fn is_own(&self, slot: &NonceRecord) -> bool {
        slot.signer().is_none_or(|signer| signer == (self.sender.chain(), self.sender.address()))
    }

    /// When this process first saw the newest block `hash`.
    fn first_seen(&self, hash: B256) -> Time {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        match *newest {
            Some((known, since)) if known == hash => since,
            _ => newest.insert((hash, Utc::now())).1,
        }
    }

    /// Sends a transaction that is stored.
    ///
    /// # Errors
    /// [`SenderError::Chain`] if it is unknown whether a node has it, or the account cannot pay for it.
    pub async fn send(&self, signed: &SignedRecord) -> Result<(), SenderError> {
        let answer = self.sender.send(&signed.raw).await?;
        self.remembered(|sent| sent.insert(signed.hash, (Instant::now(), answer)));
        match answer {
            SendOutcome::Accepted | SendOutcome::NonceUsed => {}
            SendOutcome::Underpriced | SendOutcome::ReplacementUnderpriced => {
                tracing::info!(hash = %signed.hash, max_fee = signed.max_fee, "a transaction offers too low a fee");
            }
            SendOutcome::InsufficientFunds => return Err(SenderError::NoFunds(self.sender.address())),
        }
        Ok(())
    }

    fn remembered<T>(&self, act: impl FnOnce(&mut HashMap<B256, (Instant, SendOutcome)>) -> T) -> T {
        act(&mut self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Round<'_> {
    pub fn view(&self) -> &AccountView {
        &self.view
    }

    /// When this process first saw the newest block.
    pub fn head_since(&self) -> Time {
        self.head_since
    }

    /// Nonces that can still be taken.
    pub fn free(&self) -> usize {
        self.outbox.rules.most.saturating_sub(self.held.len())
    }

    /// The gas and the fee that `call` needs in the state after the newest block.
    ///
    /// # Errors
    /// [`SenderError`].
    pub async fn quote(&self, call: TransactionCall) -> Result<Result<Quote, Unopened>, SenderError> {
        if self.free() == 0 {
            return Ok(Err(Unopened::Full));
        }
        let gas = match self.outbox.sender.estimate_gas(call.to, &call.data).await? {
            Err(reason) => return Ok(Err(Unopened::Reverts(reason))),
            Ok(gas) if gas > call.most_gas => return Ok(Err(Unopened::Costly(gas))),
            Ok(gas) => gas,
        };
        let offer = self.view.market.offer(self.outbox.rules.ceiling).ok_or(SenderError::Dear)?;
        Ok(Ok(Quote { call, gas, offer }))
    }

    /// Signs the first transaction of a free nonce. The caller stores it, then sends it.
    ///
    /// # Errors
    /// [`SenderError::Unsigned`].
    pub fn sign(&mut self, Quote { call, gas, offer }: Quote) -> Result<NonceRecord, SenderError> {
        let next = self.view.next_nonce;
        let nonce = (next..).find(|nonce| !self.held.contains(nonce)).unwrap_or(next);
        let signed = self.outbox.sender.sign_call(nonce, gas, offer, call.to, call.data)?;
        self.held.insert(nonce);
        Ok(NonceRecord { nonce, signed: vec![record(signed, offer, false)] })
    }

    /// Whether no transaction of `slot` is mined yet.
    pub fn is_waiting(&self, slot: &NonceRecord) -> bool {
        matches!(state_of(slot, &self.view, &self.statuses), NonceState::Waiting { .. })
    }

    /// Whether the account of this round signed the transactions of `slot`.
    pub fn is_own(&self, slot: &NonceRecord) -> bool {
        self.outbox.is_own(slot)
    }

    /// The next step of `slot`, whose transactions make `call`; with `None` an empty transaction is to take the nonce.
    /// A replacement that could cost more than `most_cost` wei is not signed. The transactions of another account can
    /// only be waited for.
    ///
    /// # Errors
    /// [`SenderError`].
    pub async fn follow(
        &self,
        slot: &NonceRecord,
        call: Option<&TransactionCall>,
        most_cost: u128,
    ) -> Result<Next, SenderError> {
        let state = state_of(slot, &self.view, &self.statuses);
        if !self.is_own(slot) {
            return Ok(match state {
                // The nonces of this account say nothing about those of the other.
                NonceState::Ended(ended) if ended != Ended::NoReceipt => Next::Ended(ended),
                _ => Next::Wait,
            });
        }
        let held = match state {
            NonceState::Ended(ended) => return Ok(Next::Ended(ended)),
            NonceState::Unsettled => return Ok(Next::Wait),
            NonceState::Waiting { held } => held,
        };
        let sent = slot.signed.last().and_then(|last| self.outbox.remembered(|sent| sent.get(&last.hash).copied()));
        let first = slot.nonce == self.view.used_nonce;
        let seen = Seen { held, first, answer: sent.map(|(_, answer)| answer) };
        match next_move(slot, seen, call.is_none(), self.view.market, &self.outbox.rules, Utc::now()) {
            Some(Move::Sign(offer)) => {
                Ok(self.replaced(slot, call, offer, most_cost).await?.map_or(Next::Wait, Next::Store))
            }
            Some(Move::Send) if sent.is_none_or(|(at, _)| at.elapsed() >= self.outbox.rules.resend_after) => {
                Ok(Next::Send)
            }
            // Until the account can pay, it is known why the transaction waits.
            _ if seen.answer == Some(SendOutcome::InsufficientFunds) => {
                Err(SenderError::NoFunds(self.outbox.sender.address()))
            }
            Some(Move::Send) | None => Ok(Next::Wait),
        }
    }

    /// `slot` with one more transaction; `None` if that could cost more than `most_cost`. A call that would be reverted
    /// now is cancelled.
    async fn replaced(
        &self,
        slot: &NonceRecord,
        call: Option<&TransactionCall>,
        offer: Offer,
        most_cost: u128,
    ) -> Result<Option<NonceRecord>, SenderError> {
        let (sender, nonce) = (&self.outbox.sender, slot.nonce);
        let gas = match call {
            Some(call) => sender.estimate_gas(call.to, &call.data).await?.ok().filter(|gas| *gas <= call.most_gas),
            None => None,
        };
        if cost(gas.unwrap_or(CANCELLATION_GAS), offer.max_fee) > most_cost {
            return Ok(None);
        }
        let (signed, cancels) = match call.zip(gas) {
            Some((call, gas)) => (sender.sign_call(nonce, gas, offer, call.to, call.data.clone())?, false),
            None => (sender.sign_cancellation(nonce, offer)?, true),
        };
        metrics::counter!("assay_transactions_replaced_total").increment(1);
        tracing::info!(nonce, max_fee = offer.max_fee, cancels, "replaced a waiting transaction");
        let mut slot = slot.clone();
        slot.signed.push(record(signed, offer, cancels));
        Ok(Some(slot))
    }
}

fn record(signed: Signed, offer: Offer, cancels: bool) -> SignedRecord {
    let Offer { max_fee, priority_fee } = offer;
    SignedRecord { hash: signed.hash, raw: signed.raw, max_fee, priority_fee, at: Utc::now(), cancels }
}
