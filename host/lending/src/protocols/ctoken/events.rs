//! The events of a cToken about debt. None names a wallet in a topic: they are found in receipts, to which hints point.

use alloy::{primitives::U256, rpc::types::Log, sol, sol_types::SolEvent};

use super::dialect::Rewards;
use crate::{
    figures::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::Move,
    },
    protocols::EventKind,
};
use assay_domain::{Address, B256};

sol! {
    event Borrow(address borrower, uint256 borrowAmount, uint256 accountBorrows, uint256 totalBorrows);
    event RepayBorrow(
        address payer, address borrower, uint256 repayAmount, uint256 accountBorrows, uint256 totalBorrows);
    event LiquidateBorrow(
        address liquidator, address borrower, uint256 repayAmount, address cTokenCollateral, uint256 seizeTokens);
}

pub(super) const BORROW: B256 = Borrow::SIGNATURE_HASH;
pub(super) const REPAY_BORROW: B256 = RepayBorrow::SIGNATURE_HASH;
pub(super) const LIQUIDATE_BORROW: B256 = LiquidateBorrow::SIGNATURE_HASH;

/// The hints of `ctoken`. The native currency has no contract; `rewards` are the distributions to borrowers, if their
/// name is known.
pub(super) fn hints(ctoken: Address, underlying: Option<Address>, rewards: Option<Rewards>) -> Vec<Hint> {
    let hint =
        |contract: Address, topic0, naming| Hint { contract: contract.into(), topic0, naming, explained_by: &[] };
    let mut hints = vec![hint(ctoken, TRANSFER, Naming::At(1)), hint(ctoken, TRANSFER, Naming::At(2))];
    hints.extend(rewards.map(|rewards| hint(rewards.contract, rewards.topic0, Naming::At(rewards.borrower_at))));
    hints.extend(underlying.map(|token| hint(token, TRANSFER, Naming::With(ctoken.into_word()))));
    hints
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
pub(super) fn events<'a>(logs: &[&'a Log], wallet: B256) -> Vec<(EventKind, &'a Log)> {
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
pub(super) fn moved(log: &Log, wallet: B256) -> Option<Move> {
    let amount = |index| word(log, index).map(|word| U256::from_be_bytes(word.0));
    match log.topics() {
        [BORROW] if word(log, 0) == Some(wallet) => Some(Move::gain(Side::Debt, log.address(), amount(1)?)),
        [REPAY_BORROW] if word(log, 1) == Some(wallet) => Some(Move::loss(Side::Debt, log.address(), amount(2)?)),
        _ => None,
    }
}

/// A word of a log's data.
pub(super) fn word(log: &Log, index: usize) -> Option<B256> {
    let start = index.checked_mul(32)?;
    log.data().data.get(start..start.checked_add(32)?).map(B256::from_slice)
}

#[cfg(test)]
mod tests;
