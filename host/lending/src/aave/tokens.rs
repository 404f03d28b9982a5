//! aTokens: supplies that move without the pool. Which of their transfers say that something happened in the pool that
//! it told under another name, and what they moved.
//!
//! Of a transfer to the wallet no receipt is ever read, so that dust sent by strangers costs nothing but its log.

use crate::progress::Side;
use std::collections::{HashMap, HashSet};

use alloy::rpc::types::Log;

use super::{LIQUIDATION, REPAY_V3, WITHDRAW};
use crate::{
    events::Evidence,
    hints::{Hint, Naming},
    sums::{Move, word},
};
use assay_domain::{Address, B256};

/// Whether nothing has to be looked up for `log`, a transfer of the aToken of `asset` from or to the wallet. `own` are
/// logs of the same transaction in which the pool names the wallet, `transfers` all transfers of aTokens from or to it.
pub(crate) fn is_explained(log: &Log, asset: Address, wallet: B256, own: &[&Log], transfers: &[&Log]) -> bool {
    let [_, from, to, ..] = *log.topics() else { return true };
    let about = asset.into_word();
    let told = |signatures: &[B256]| {
        own.iter().any(|own| {
            own.topic0().is_some_and(|topic| signatures.contains(topic)) && own.topics().get(1) == Some(&about)
        })
    };
    if from == wallet {
        // Burnt by the pool, which says why; or given away, which it does only where it seizes.
        to == wallet || if to.is_zero() { told(&[WITHDRAW, REPAY_V3, LIQUIDATION]) } else { told(&[LIQUIDATION]) }
    } else if from.is_zero() {
        // Minted by the pool, or the interest that is put down with any other change, also a seizure of less than it.
        let beside = |other: &&&Log| {
            other.address() == log.address() && other.topics().get(1).is_some_and(|from| !from.is_zero())
        };
        own.iter().any(|own| own.topics().get(1) == Some(&about)) || transfers.iter().any(|other| beside(&other))
    } else {
        true
    }
}

/// What a transfer moved. What is minted and burnt is told by the pool's own logs, without the interest that the tokens
/// put on top.
pub(super) fn moved(log: &Log, listed: &[Hint], wallet: B256) -> Option<Move> {
    let [_, from, to, ..] = *log.topics() else { return None };
    if from == to || from.is_zero() || to.is_zero() {
        return None;
    }
    let (asset, amount) = (asset(log, listed)?, word(log, 0)?);
    Some(if from == wallet { Move::loss(Side::Supply, asset, amount) } else { Move::gain(Side::Supply, asset, amount) })
}

/// Withdrawals by those whom the wallet gave its aTokens in the same transaction: gateways and adapters. `own` are the
/// pool's logs that name the wallet. A liquidator who withdraws what was seized does it for himself.
pub(super) fn withdrawals<'a>(evidence: &Evidence<'a>, wallet: B256, own: &[&'a Log]) -> Vec<&'a Log> {
    let seized: HashSet<_> = own
        .iter()
        .filter(|log| log.topic0() == Some(&LIQUIDATION))
        .map(|log| whose(log, log.topics().get(1)))
        .collect();
    let mut withdrawn = HashMap::<_, Vec<&Log>>::new();
    // From the last to the first, so that the first is taken first.
    for log in evidence.receipts.iter().filter(|log| log.topic0() == Some(&WITHDRAW)).rev() {
        withdrawn.entry((whose(log, log.topics().get(1)), log.topics().get(2).copied())).or_default().push(log);
    }
    let mut found = Vec::new();
    for log in &evidence.hints {
        let ([_, from, to, ..], Some(asset)) = (log.topics(), asset(log, evidence.listed)) else { continue };
        let about = whose(log, Some(&asset.into_word()));
        if *from != wallet || *to == wallet || to.is_zero() || seized.contains(&about) {
            continue;
        }
        let Some(candidates) = withdrawn.get_mut(&(about, Some(*to))) else { continue };
        // What came before the transfer was of other tokens.
        while let Some(candidate) = candidates.pop() {
            if candidate.log_index > log.log_index {
                found.push(candidate);
                break;
            }
        }
    }
    found
}

/// A transaction and a reserve.
fn whose(log: &Log, reserve: Option<&B256>) -> (Option<B256>, Option<B256>, Option<B256>) {
    (log.block_hash, log.transaction_hash, reserve.copied())
}

fn asset(log: &Log, listed: &[Hint]) -> Option<Address> {
    listed.iter().find(|hint| hint.contract == log.address()).and_then(|hint| match hint.naming {
        Naming::Holder(asset) => Some(asset),
        Naming::At(_) | Naming::With(_) => None,
    })
}

#[cfg(test)]
mod tests;
