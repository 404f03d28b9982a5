//! The steps of a nonce of the account, as pure functions of its record and one read of the chain: which transaction is
//! signed next and at which price, and how the nonce ended. Submissions and payments share it.
//!
//! A nonce is kept until a transaction with it has its confirmations. Its price is raised only if the market asks for
//! more than it offers, and starts from the market again if no node holds a transaction with it.

mod outbox;
mod records;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, time::Duration};

use crate::sender::{AccountView, FeeMarket, Offer, SendOutcome, TransactionStatus};
use assay_domain::{B256, Time};

pub use outbox::{Next, Outbox, Quote, Round, TransactionCall, Unopened};
pub use records::{LandedRecord, NonceRecord, SignedRecord};

/// The limits of the account's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The highest fee that is offered for a unit of gas, in wei.
    pub ceiling: u64,
    /// Age at which the price of a waiting transaction is compared with the market.
    pub replace_after: Duration,
    /// Time between two sends of the same transaction.
    pub resend_after: Duration,
    /// Maximum number of nonces in use at once.
    pub most: usize,
}

/// The state of a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceState {
    /// No transaction with it is mined. A node holds one of ours if `held`.
    Waiting {
        held: bool,
    },
    /// Used, and the outcome may still change or is not known now.
    Unsettled,
    Ended(Ended),
}

/// How a nonce ended, with enough confirmations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Succeeded(LandedRecord),
    Reverted(LandedRecord),
    /// Our own empty transaction took it.
    Cancelled(LandedRecord),
    /// It is used, and no transaction of ours has a receipt.
    NoReceipt,
}

/// The next action for a waiting nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Send the newest transaction again, if due.
    Send,
    /// Sign another transaction at this price.
    Sign(Offer),
}

/// What is known of a pending nonce besides its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// A node holds one of its transactions.
    pub held: bool,
    /// It is the next nonce of the account. The others wait for it, whatever they offer.
    pub first: bool,
    /// A node's answer to the newest transaction, if this process sent it.
    pub answer: Option<SendOutcome>,
}

/// The state of `slot` in `view`. `statuses` has its transactions.
pub fn state_of(slot: &NonceRecord, view: &AccountView, statuses: &HashMap<B256, TransactionStatus>) -> NonceState {
    let status = |hash: &B256| statuses.get(hash).copied().unwrap_or(TransactionStatus::Unknown);
    for signed in &slot.signed {
        if let TransactionStatus::Mined { block, gas_used, cost, succeeded, settled } = status(&signed.hash) {
            let landed = LandedRecord { hash: signed.hash, block, gas_used, cost };
            return match (settled, signed.cancels, succeeded) {
                (false, ..) => NonceState::Unsettled,
                (true, true, _) => NonceState::Ended(Ended::Cancelled(landed)),
                (true, false, true) => NonceState::Ended(Ended::Succeeded(landed)),
                (true, false, false) => NonceState::Ended(Ended::Reverted(landed)),
            };
        }
    }
    let any = |wanted| slot.signed.iter().any(|signed| status(&signed.hash) == wanted);
    if slot.nonce >= view.used_nonce {
        // Where a node does not answer about a transaction, it may hold it.
        NonceState::Waiting { held: any(TransactionStatus::Pooled) || any(TransactionStatus::Unknown) }
    } else if slot.nonce < view.settled_nonce && !any(TransactionStatus::Unknown) {
        NonceState::Ended(Ended::NoReceipt)
    } else {
        NonceState::Unsettled
    }
}

/// The next action for a waiting nonce; with `cancel` an empty transaction is to take it.
pub fn next_move(
    slot: &NonceRecord,
    seen: Seen,
    cancel: bool,
    market: FeeMarket,
    rules: &Rules,
    now: Time,
) -> Option<Move> {
    let last = slot.signed.last()?;
    let cancel = cancel && !last.cancels;
    let old = (now - last.at).to_std().is_ok_and(|age| age >= rules.replace_after);
    let due = cancel || (old && seen.first);
    if !due {
        return Some(Move::Send);
    }
    let held = seen.held || seen.answer == Some(SendOutcome::ReplacementUnderpriced);
    let offer = if held {
        // A node that keeps asking for more is followed for three times the market and no further.
        let refused = seen.answer == Some(SendOutcome::Underpriced) && !market.is_far_below(last.offer());
        let asked = !market.is_met_by(last.offer()) || refused;
        let payable = market.offer(rules.ceiling).is_some();
        (cancel || asked && payable).then(|| market.replacement(slot.highest(), rules.ceiling)).flatten()
    } else {
        // No node has it, so no earlier offer has to be exceeded.
        let fits = market.is_met_by(last.offer()) && !market.is_far_below(last.offer());
        (cancel || !fits).then(|| market.offer(rules.ceiling)).flatten()
    };
    // The same transaction at the same price is the same transaction.
    let offer = offer.filter(|offer| cancel || *offer != last.offer());
    Some(offer.map_or(Move::Send, Move::Sign))
}
