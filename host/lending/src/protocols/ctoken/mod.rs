//! Compound v2, one market per cToken. None of its events about debt names a wallet in a topic, so no query finds a
//! wallet's borrowings. Queries find other logs of the same transactions, whose receipts then have the events:
//!
//! - the cToken's own transfers: a mint, a redemption, and the seizure at the end of a liquidation of the wallet;
//! - transfers of the underlying token between the wallet and the cToken: its borrowings and its own repayments;
//! - the Comptroller's distributions to borrowers, one with every borrowing and repayment by any payer: they find debt
//!   in ETH, which has no token to transfer, and repayments by others. Its distributions to suppliers are ignored: each
//!   comes with a transfer of the cToken. Forks name the distributions differently ([`dialect`]); a market whose names
//!   are unknown is partial.
//!
//! The logs show a wallet's deposits as well, but the API has no count for them in this protocol.
//!
//! Not found, as the `remarks` of reports say: before the first distribution (block 10,228,864, June 2020), debt in ETH
//! and repayments by others, unless another log of the transaction is a hint; and until the Comptroller was replaced in
//! the autumn of 2021, a wallet's first borrowing of ETH, for which it emitted no log. If such a debt still exists, or
//! a repayment or liquidation is found without a borrowing, the market's coverage is partial. A repaid debt leaves a
//! trace in the cToken's storage, which makes a history without any event partial ([`position`]). That slot is not
//! read for a wallet that left the market before the distributions began.

mod dialect;
mod position;

use alloy::{
    primitives::{U256, b256},
    rpc::types::Log,
};

use futures::FutureExt;

use crate::{
    config::MarketConfig,
    history::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::Move,
    },
    protocols::{EventKind, Evidence, FoundTerms, LendingProtocol, Signature, boxed},
};
use assay_domain::{Address, B256, EventCounts};
use assay_evm::{Block, Client};
use dialect::Rewards;
use position::Terms;

/// The logs do not show all moves, and debts without any hint leave a trace without a log.
#[derive(Debug)]
pub(crate) struct CompoundV2;

impl LendingProtocol for CompoundV2 {
    fn family(&self) -> &'static str {
        "ctoken"
    }

    fn look_up<'a>(&self, client: &'a Client, ctokens: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        let ctokens: Vec<_> = ctokens.iter().map(|market| (market.address, market.dialect)).collect();
        async move { Ok(boxed(Terms::look_up(client, &ctokens, at.hash).await?)) }.boxed()
    }

    /// Hints find all events.
    fn signatures(&self) -> &'static [Signature] {
        &[]
    }

    fn in_receipts(&self) -> &'static [B256] {
        &[BORROW, REPAY_BORROW, LIQUIDATE_BORROW]
    }

    fn no_events(&self) -> EventCounts {
        EventCounts { supply: None, withdraw: None, ..EventCounts::ZERO }
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        events(&evidence.receipts, wallet)
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        evidence.receipts.iter().filter_map(|log| Some((moved(log, wallet)?, *log))).collect()
    }

    /// Each change of a debt has a log. Supplies are not tracked.
    fn adds_up(&self, _: &[Hint]) -> bool {
        true
    }

    fn reads_without_terms(&self) -> bool {
        false
    }

    fn lacks_a_borrowing(&self, counts: &EventCounts) -> bool {
        lacks_a_borrowing(counts)
    }
}

const BORROW: B256 = b256!("0x13ed6866d4e1ee6da46f845c46d7e54120883d75c5ea9a2dacc1c4ca8984ab80");
const REPAY_BORROW: B256 = b256!("0x1a2a22cb034d26d1854bdc6666a5b91fe25efbbb5dcad3b0355478d6f5c362a1");
const LIQUIDATE_BORROW: B256 = b256!("0x298637f684da70674f26509b10f07ec2fbc77a335ab1e7d6215a4b2484d8bb52");

/// The hints of `ctoken`. The native currency has no contract; `rewards` are the distributions to borrowers, if their
/// name is known.
fn hints(ctoken: Address, underlying: Option<Address>, rewards: Option<Rewards>) -> Vec<Hint> {
    let hint = |contract, topic0, naming| Hint { contract, topic0, naming, explained_by: &[] };
    let mut hints = vec![hint(ctoken, TRANSFER, Naming::At(1)), hint(ctoken, TRANSFER, Naming::At(2))];
    hints.extend(rewards.map(|rewards| hint(rewards.contract, rewards.topic0, Naming::At(rewards.borrower_at))));
    hints.extend(underlying.map(|token| hint(token, TRANSFER, Naming::With(ctoken.into_word()))));
    hints
}

/// Whether a debt was repaid or liquidated without any borrowing: no hint pointed at its borrowing.
fn lacks_a_borrowing(counts: &EventCounts) -> bool {
    counts.borrow == Some(0) && counts.repay.max(counts.liquidation) > Some(0)
}

/// A repayment in the log of a cToken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repayment {
    payer: B256,
    amount: U256,
    transaction: Option<B256>,
}

/// The events of `wallet` in `logs`, all logs of one cToken in some transactions, in chain order. An amount of zero is
/// not an event.
///
/// A liquidation first emits a repayment: the last one before it in its transaction with the same payer and amount.
/// This repayment is not counted; others in the transaction are.
fn events<'a>(logs: &[&'a Log], wallet: B256) -> Vec<(EventKind, &'a Log)> {
    let mut found: Vec<(EventKind, &Log, Option<Repayment>)> = Vec::new();
    for log in logs {
        let word = |index: usize| word(log, index);
        let amount = |index| word(index).map(|word| U256::from_be_bytes(word.0)).filter(|amount| !amount.is_zero());
        let repayment = || {
            let (payer, amount) = word(0).zip(amount(2))?;
            Some(Repayment { payer, amount, transaction: log.transaction_hash })
        };
        match log.topics() {
            [BORROW] if word(0) == Some(wallet) && amount(1).is_some() => found.push((EventKind::Borrow, log, None)),
            [REPAY_BORROW] if word(1) == Some(wallet) => {
                found.extend(repayment().map(|repayment| (EventKind::Repay, *log, Some(repayment))));
            }
            [LIQUIDATE_BORROW] if word(1) == Some(wallet) => {
                let repaid = repayment();
                if let Some(place) = found.iter().rposition(|(.., earlier)| earlier.is_some() && *earlier == repaid) {
                    found.remove(place);
                }
                found.push((EventKind::Liquidation, log, None));
            }
            _ => {}
        }
    }
    found.into_iter().map(|(kind, log, _)| (kind, log)).collect()
}

/// The change of the debt of `wallet` that a log reports. Liquidations report none: the market logs a repayment before
/// each.
fn moved(log: &Log, wallet: B256) -> Option<Move> {
    let amount = |index| word(log, index).map(|word| U256::from_be_bytes(word.0));
    match log.topics() {
        [BORROW] if word(log, 0) == Some(wallet) => Some(Move::gain(Side::Debt, log.address(), amount(1)?)),
        [REPAY_BORROW] if word(log, 1) == Some(wallet) => Some(Move::loss(Side::Debt, log.address(), amount(2)?)),
        _ => None,
    }
}

fn word(log: &Log, index: usize) -> Option<B256> {
    let start = index.checked_mul(32)?;
    log.data().data.get(start..start.checked_add(32)?).map(B256::from_slice)
}

#[cfg(test)]
mod tests;
