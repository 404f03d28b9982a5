//! Transfers of the base asset between two wallets. The market logs the supply that the sender lost, and in the next
//! log the supply that the receiver got. If these differ, the rest was debt: borrowed by the sender, or repaid for the
//! receiver. The receipt shows both logs. If a transfer moved debt of both, or no supply of one, it shows less.

use alloy::{primitives::I256, rpc::types::Log};

use super::{
    events::{ABSORB_DEBT, SUPPLY, WITHDRAW, follows},
    principal::event,
    split::is_part,
};
use crate::{
    figures::{
        hints::TRANSFER,
        sums::{Move, amount_at, signed},
    },
    protocols::EventKind,
    tolerances,
};
use assay_domain::{B256, U256};

/// A change of supply in a separate log.
#[derive(Clone, Copy)]
enum SupplyChange {
    /// A wallet lost it.
    Burnt(B256, U256),
    /// A wallet got it.
    Minted(B256, U256),
}

fn change(log: &Log) -> Option<SupplyChange> {
    let (TRANSFER, [_, from, to]) = (*log.topic0()?, log.topics()) else { return None };
    match (from.is_zero(), to.is_zero()) {
        (false, true) => Some(SupplyChange::Burnt(*from, amount_at(log, 0)?)),
        (true, false) => Some(SupplyChange::Minted(*to, amount_at(log, 0)?)),
        _ => None,
    }
}

/// Whether `log`, a change of supply, is part of the supply, withdrawal or absorption in the log before it.
pub(super) fn belongs_to(before: &Log, log: &Log) -> bool {
    let amount = |log| amount_at(log, 0).unwrap_or_default();
    let owner = match (before.topic0().copied(), change(log)) {
        (Some(SUPPLY | ABSORB_DEBT), Some(SupplyChange::Minted(wallet, _))) => before.topics().get(2) == Some(&wallet),
        (Some(WITHDRAW), Some(SupplyChange::Burnt(wallet, _))) => before.topics().get(1) == Some(&wallet),
        _ => false,
    };
    owner && follows(before, log) && is_part(amount(before), amount(log))
}

/// Whether `log` shows a transfer whose receipt can reveal debt. `own` are logs of the market that name the same wallet
/// in the same transaction.
pub(super) fn is_transfer(log: &Log, own: &[&Log]) -> bool {
    change(log).is_some() && !own.iter().any(|before| belongs_to(before, log))
}

/// A transfer of which the market logged both sides.
struct Transfer<'a> {
    sent: &'a Log,
    sender: B256,
    lost: U256,
    received: &'a Log,
    receiver: B256,
    got: U256,
}

/// The two-sided transfers in `logs`, which are all logs of one market in some transactions, in chain order.
fn transfers<'a>(logs: &[&'a Log]) -> Vec<Transfer<'a>> {
    let pairs = logs.windows(2).enumerate().filter_map(|(index, pair)| {
        let [sent, received] = *pair else { return None };
        let (SupplyChange::Burnt(sender, lost), SupplyChange::Minted(receiver, got)) =
            (change(sent)?, change(received)?)
        else {
            return None;
        };
        let before = index.checked_sub(1).and_then(|index| logs.get(index));
        let whole = follows(sent, received) && !before.is_some_and(|before| belongs_to(before, sent));
        whole.then_some(Transfer { sent, sender, lost, received, receiver, got })
    });
    pairs.collect()
}

/// The borrowings and repayments of `wallet` that the transfers in `logs` show.
pub(super) fn debts<'a>(logs: &[&'a Log], wallet: B256) -> Vec<(EventKind, Move, &'a Log)> {
    let debts = transfers(logs).into_iter().filter_map(|transfer| {
        let Transfer { sent, sender, lost, received, receiver, got } = transfer;
        let (borrowed, repaid) = (got.saturating_sub(lost), lost.saturating_sub(got));
        let (debt, log) = match () {
            () if sender == wallet && borrowed >= tolerances::COMET_SPLIT_ROUNDING => (-signed(borrowed), sent),
            () if receiver == wallet && repaid >= tolerances::COMET_SPLIT_ROUNDING => (signed(repaid), received),
            () => return None,
        };
        let (kind, moved) = event(debt);
        Some((kind, moved, log))
    });
    debts.collect()
}

/// The logs of transfers of `wallet` that may have moved more of its debt than they show: the market logged nothing for
/// the other side, or another amount. After supply that appeared, the wallet owned at least that amount.
pub(super) fn incomplete<'a>(logs: &[&'a Log], wallet: B256) -> Vec<(I256, &'a Log)> {
    let plain = transfers(logs)
        .into_iter()
        .filter(|transfer| transfer.lost.abs_diff(transfer.got) < tolerances::COMET_SPLIT_ROUNDING);
    let plain: Vec<_> = plain.flat_map(|transfer| [transfer.sent, transfer.received]).collect();
    let doubtful = logs.iter().enumerate().filter_map(|(index, log)| {
        let owned = match change(log)? {
            SupplyChange::Minted(owner, amount) if owner == wallet => signed(amount),
            SupplyChange::Burnt(owner, _) if owner == wallet => I256::MIN,
            _ => return None,
        };
        let before = index.checked_sub(1).and_then(|index| logs.get(index));
        let is_part = before.is_some_and(|before| belongs_to(before, log));
        (!is_part && !plain.iter().any(|side| std::ptr::eq(*side, *log))).then_some((owned, *log))
    });
    doubtful.collect()
}

#[cfg(test)]
mod tests;
