//! Transfers of aTokens, which move supplies without the pool: matches them with pool events that name another address,
//! and reads their amounts.
//!
//! A transfer to the wallet needs a receipt only if the wallet also withdraws in the transaction, so dust from other
//! senders costs only its log.

use std::collections::{HashMap, HashSet};

use alloy::rpc::types::Log;

use super::{
    events::{LIQUIDATION, WITHDRAW, order},
    pairs::{Token, is_paired},
};
use crate::{
    figures::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::{Move, amount_at},
    },
    protocols::Evidence,
};
use assay_domain::{Address, B256};

/// Whether no receipt is needed for `log`, a transfer of the aToken of `asset` from or to the wallet. `own` are the
/// logs of the same transaction in which the pool names the wallet; `transfers` are all its transfers of aTokens.
pub(super) fn is_explained(log: &Log, asset: Address, wallet: B256, own: &[&Log], transfers: &[&Log]) -> bool {
    let [_, from, to, ..] = *log.topics() else { return true };
    let about = asset.into_word();
    let explains = |signatures: &[B256]| {
        own.iter().any(|own| {
            own.topic0().is_some_and(|topic| signatures.contains(topic)) && own.topics().get(1) == Some(&about)
        })
    };
    if from.is_zero() || to.is_zero() {
        is_paired(Token { address: log.address(), side: Side::Supply, asset }, wallet, own, transfers)
    } else if from == wallet {
        // The pool transfers only what it seizes.
        to == wallet || explains(&[LIQUIDATION])
    } else {
        // What the wallet withdraws may be another's, or seized from it.
        !explains(&[WITHDRAW])
    }
}

/// The class of a transfer. For transfers of one token in one transaction, [`is_explained`] depends only on the class.
pub(super) fn class(log: &Log, wallet: B256) -> usize {
    let [_, from, to, ..] = *log.topics() else { return 0 };
    match (from == wallet, to == wallet) {
        _ if from.is_zero() || to.is_zero() => 1,
        (true, true) => 2,
        (true, false) => 3,
        (false, _) => 4,
    }
}

/// Whether `hinting`, logs of the same transaction, has a transfer of the same token as `log`.
pub(super) fn is_beside(log: &Log, hinting: &[&Log]) -> bool {
    hinting.iter().any(|other| other.address() == log.address() && other.topic0() == Some(&TRANSFER))
}

/// The amount of a transfer. Mints and burns are left to the pool's own logs, whose amounts exclude the interest that
/// the token adds.
pub(super) fn moved(log: &Log, listed: &[Hint], wallet: B256) -> Option<Move> {
    let [_, from, to, ..] = *log.topics() else { return None };
    if from == to || from.is_zero() || to.is_zero() {
        return None;
    }
    let (asset, amount) = (asset(log, listed)?, amount_at(log, 0)?);
    Some(if from == wallet { Move::loss(Side::Supply, asset, amount) } else { Move::gain(Side::Supply, asset, amount) })
}

/// Withdrawals in the same transaction by receivers of the wallet's aTokens: gateways and adapters. `own` are the
/// pool's logs that name the wallet. A liquidator who withdraws seized aTokens does so for itself.
pub(super) fn withdrawals<'a>(evidence: &Evidence<'a>, wallet: B256, own: &[&'a Log]) -> Vec<&'a Log> {
    let seized = seized(own);
    let given = transfers(evidence).filter(|given| given.from == wallet && !seized.contains(&(given.about, wallet)));
    matched(given, &evidence.receipts)
}

/// The places of the wallet's withdrawals of aTokens that another address gave it in the same transaction.
pub(super) fn passed_on(evidence: &Evidence<'_>, wallet: B256, own: &[&Log]) -> Vec<(Option<u64>, Option<u64>)> {
    let seized = seized(&evidence.receipts);
    let given = transfers(evidence).filter(|given| given.to == wallet && !seized.contains(&(given.about, given.from)));
    matched(given, own).into_iter().map(order).collect()
}

/// A transfer of aTokens between two holders.
struct Given<'a> {
    log: &'a Log,
    about: ReserveKey,
    from: B256,
    to: B256,
}

fn transfers<'e>(evidence: &'e Evidence<'_>) -> impl Iterator<Item = Given<'e>> {
    evidence.hints.iter().filter_map(|log| {
        let ([_, from, to, ..], asset) = (log.topics(), asset(log, evidence.listed)?) else { return None };
        let is_given = from != to && !from.is_zero() && !to.is_zero();
        let about = key(log, Some(&asset.into_word()));
        is_given.then_some(Given { log, about, from: *from, to: *to })
    })
}

/// The transactions and reserves in which `logs` of the pool seize collateral, and from whom.
fn seized(logs: &[&Log]) -> HashSet<(ReserveKey, B256)> {
    let liquidations = logs.iter().filter(|log| log.topic0() == Some(&LIQUIDATION));
    liquidations.filter_map(|log| Some((key(log, log.topics().get(1)), *log.topics().get(3)?))).collect()
}

/// The withdrawals among `logs` by the receivers of what was `given`, one for each transfer. A withdrawal before the
/// transfer used other aTokens.
fn matched<'g, 'a>(given: impl Iterator<Item = Given<'g>>, logs: &[&'a Log]) -> Vec<&'a Log> {
    let mut withdrawn = HashMap::<_, Vec<&'a Log>>::new();
    // Last to first, because `pop` takes from the end.
    for log in logs.iter().filter(|log| log.topic0() == Some(&WITHDRAW)).rev() {
        withdrawn.entry((key(log, log.topics().get(1)), log.topics().get(2).copied())).or_default().push(log);
    }
    let mut found = Vec::new();
    for Given { log, about, to, .. } in given {
        let Some(candidates) = withdrawn.get_mut(&(about, Some(to))) else { continue };
        while let Some(candidate) = candidates.pop() {
            if candidate.log_index > log.log_index {
                found.push(candidate);
                break;
            }
        }
    }
    found
}

/// A block, a transaction and a reserve.
type ReserveKey = (Option<B256>, Option<B256>, Option<B256>);

fn key(log: &Log, reserve: Option<&B256>) -> ReserveKey {
    (log.block_hash, log.transaction_hash, reserve.copied())
}

/// The asset that the transferred aTokens represent; `None` if the log is not a transfer of aTokens.
fn asset(log: &Log, listed: &[Hint]) -> Option<Address> {
    let is_transfer = log.topic0() == Some(&TRANSFER);
    let mut own = listed.iter().filter(|hint| is_transfer && hint.contract.has(log.address()));
    own.find_map(|hint| match hint.naming {
        Naming::Holder(asset) if hint.topic0 == TRANSFER => Some(asset),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
