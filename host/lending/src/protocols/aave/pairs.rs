//! Pairs of logs: if a token logs a change of a wallet's balance, the pool logs the event in the same transaction, or
//! the change is interest that a transfer minted. A log without its pair shows that one was left out; the receipt of
//! the transaction has both.
//!
//! Amounts do not always show a missing log: it may have moved less than the possible interest.

use std::collections::BTreeMap;

use alloy::{rpc::types::Log, sol_types::SolEvent};

use super::{
    events::{changes_debt, changes_supply, event, moved},
    fixed, scaled,
};
use crate::{
    asset::Asset,
    figures::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::{Move, address_at},
    },
    protocols::Evidence,
};
use assay_domain::{Address, B256};

mod v2 {
    alloy::sol! {
        event Swap(address indexed reserve, address indexed user, uint256 rateMode);
    }
}

mod v3 {
    alloy::sol! {
        event SwapBorrowRateMode(address indexed reserve, address indexed user, uint8 interestRateMode);
    }
}

alloy::sol! {
    event RebalanceStableBorrowRate(address indexed reserve, address indexed user);
}

/// The pool's logs of a change of a debt's rate. They are not events, but they explain logs of the debt's tokens.
pub(super) const RATES_V2: &[B256] = &[v2::Swap::SIGNATURE_HASH, RebalanceStableBorrowRate::SIGNATURE_HASH];
pub(super) const RATES_V3: &[B256] =
    &[v3::SwapBorrowRateMode::SIGNATURE_HASH, RebalanceStableBorrowRate::SIGNATURE_HASH];

/// A token of a reserve, and the side of a position that its balance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub address: Address,
    pub side: Side,
    pub asset: Address,
}

/// The logs of one token about a wallet in one transaction.
#[derive(Debug, Default)]
struct TokenLogs {
    /// Transfers from or to the zero address.
    minted: usize,
    /// Transfers between two addresses, and the logs of the scaled amounts that they moved.
    moved: usize,
    moved_scaled: usize,
    /// Mints and burns of the scaled balance.
    stored: usize,
}

impl TokenLogs {
    fn of<'a>(logs: impl Iterator<Item = &'a Log>, wallet: B256) -> Self {
        let mut found = Self::default();
        for log in logs {
            let topic = |at: usize| log.topics().get(at).copied().unwrap_or_default();
            match log.topic0() {
                Some(&TRANSFER) if topic(1).is_zero() || topic(2).is_zero() => found.minted += 1,
                Some(&TRANSFER) => found.moved += 1,
                Some(&scaled::BALANCE_TRANSFER) => found.moved_scaled += 1,
                Some(topic0) => {
                    let holder = scaled::holder_at(*topic0).or_else(|| fixed::holder_at(*topic0));
                    found.stored += usize::from(holder.is_some_and(|at| topic(at) == wallet));
                }
                None => {}
            }
        }
        found
    }
}

/// Whether the logs of `token` in a transaction have their pairs: `own`, the pool's logs that name the wallet, or
/// transfers. `beside` are the logs of all tokens. A transaction may have several of each.
pub(super) fn is_paired(token: Token, wallet: B256, own: &[&Log], beside: &[&Log]) -> bool {
    let logs = beside.iter().copied().filter(|log| log.address() == token.address);
    let TokenLogs { minted, moved, moved_scaled, stored } = TokenLogs::of(logs, wallet);
    let logged: usize = own.iter().map(|log| changes(log, token)).sum();
    minted.max(stored) <= logged + moved && moved_scaled <= moved
}

/// The number of logs of `token` that a log of the pool explains.
fn changes(log: &Log, Token { side, asset, .. }: Token) -> usize {
    let is_rate = |topic0: &B256| RATES_V2.contains(topic0) || RATES_V3.contains(topic0);
    match side {
        Side::Supply => usize::from(changes_supply(log, asset)),
        // A token of debts at a fixed rate burns the whole debt and mints it again.
        _ if log.topic0() == Some(&RebalanceStableBorrowRate::SIGNATURE_HASH) && address_at(log, 1) == Some(asset) => 2,
        _ if log.topic0().is_some_and(is_rate) => usize::from(address_at(log, 1) == Some(asset)),
        _ => usize::from(changes_debt(log, asset)),
    }
}

/// The logs in `own`, the pool's logs that name the wallet, whose change of a token has no log in `beside`, the logs of
/// tokens.
pub(super) fn lonely<'a>(own: &[&'a Log], beside: &[&Log], listed: &[Hint], wallet: B256) -> Vec<&'a Log> {
    let place = |log: &Log| (log.block_hash, log.transaction_hash);
    let mut of_tokens = BTreeMap::<_, Vec<&Log>>::new();
    for log in beside {
        of_tokens.entry(place(log)).or_default().push(log);
    }
    let mut logged = BTreeMap::<_, (usize, Vec<&'a Log>)>::new();
    for log in own {
        // A liquidation and the write-off of the remaining debt burn once.
        for Move { side, asset, .. } in moved(log).filter(|_| event(log).is_some()).unwrap_or_default() {
            let Asset::Token(asset) = asset else { continue };
            let (count, logs) = logged.entry((place(log), side, asset)).or_default();
            *count += 1;
            logs.push(*log);
        }
    }
    let lacks = |((place, side, asset), (count, logs)): ((_, Side, Address), (usize, Vec<&'a Log>))| {
        let is_it = |naming| matches!(naming, Naming::Balance { side: of, asset: by, .. } if (of, by) == (side, asset));
        let tokens = listed.iter().filter(|hint| is_it(hint.naming));
        let tokens: Vec<Address> = tokens.flat_map(|hint| hint.contract.addresses()).collect();
        let beside = of_tokens.get(&place).into_iter().flatten().copied();
        let found = TokenLogs::of(beside.filter(|log| tokens.contains(&log.address())), wallet);
        let lacks = !tokens.is_empty() && found.stored < count;
        logs.into_iter().filter(move |_| lacks)
    };
    logged.into_iter().flat_map(lacks).collect()
}

/// The logs without a pair, one for each token and transaction.
pub(super) fn unpaired<'a>(evidence: &Evidence<'a>, wallet: B256) -> Vec<&'a Log> {
    let place = |log: &Log| (log.block_hash, log.transaction_hash);
    let mut tokens = BTreeMap::<_, Vec<&'a Log>>::new();
    for log in &evidence.hints {
        tokens.entry((place(log), log.address())).or_default().push(log);
    }
    // No query asks for logs of a rate: only receipts have them.
    let is_rate = |log: &&&Log| {
        let topics = log.topics();
        topics.first().is_some_and(|topic0| RATES_V2.contains(topic0) || RATES_V3.contains(topic0))
            && topics.get(2) == Some(&wallet)
    };
    let mut logged = BTreeMap::<_, Vec<&'a Log>>::new();
    for log in evidence.own.iter().chain(evidence.receipts.iter().filter(is_rate)) {
        logged.entry(place(log)).or_default().push(log);
    }
    let lacks = |((place, address), logs): ((_, Address), Vec<&'a Log>)| {
        let token = token(evidence, address)?;
        let own = logged.get(&place).map(Vec::as_slice).unwrap_or_default();
        let log = logs.first().copied()?;
        (!is_paired(token, wallet, own, &logs)).then_some(log)
    };
    tokens.into_iter().filter_map(lacks).collect()
}

/// The token at `address`, if it logs every change of a wallet's balance.
fn token(evidence: &Evidence<'_>, address: Address) -> Option<Token> {
    let mut own = evidence.listed.iter().filter(|hint| hint.contract.has(address));
    own.find_map(|hint| match hint.naming {
        Naming::Holder(asset) => Some(Token { address, side: Side::Supply, asset }),
        Naming::Balance { side, asset, .. } => Some(Token { address, side, asset }),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
