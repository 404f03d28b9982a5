//! Compound v2, one market per cToken. No event that matters names anybody in a topic, so that no query finds a
//! wallet's borrowings. What can be found are logs beside them, which point at the transactions; their receipts tell
//! the rest:
//!
//! - the cToken's own transfers: a mint, a redemption, and the seizure that a liquidation of the wallet ends with;
//! - transfers of the underlying token between the wallet and the cToken: what it borrowed, and what it repaid itself;
//! - the Comptroller's distributions to borrowers, one with every borrowing and repayment, whoever pays: ETH, which has
//!   no token to transfer, and debt that others repay. Its distributions to suppliers come with a transfer of the
//!   cToken each, and say no more.
//!
//! A wallet's deposits are told as well, but not collected: the contract of this protocol has no count for them.
//!
//! Not found, and named in `reading.not_covered`: before the Comptroller distributed anything (block 10,228,864, June
//! 2020), debt in ETH and repayments by others, unless something else in the same transaction points at it; and until
//! the autumn of 2021, when it was replaced, the first borrowing of ETH by a wallet, which it passed over in silence.
//! Where such a debt is still there, or a repayment or liquidation is found and no borrowing, the market's coverage is
//! partial. What was borrowed and repaid leaves its mark in the cToken's storage, and a history without any event is
//! partial beside one ([`positions`]). Only a wallet that also took itself off the market again before the
//! distributions began is not looked up there.

mod positions;

use alloy::{
    primitives::{U256, b256},
    rpc::types::Log,
};

use crate::{
    EventKind,
    hints::{Hint, Naming, TRANSFER},
};
use assay_domain::{Address, B256, EventCounts};

pub(super) use positions::{Terms, is_mark};

const BORROW: B256 = b256!("0x13ed6866d4e1ee6da46f845c46d7e54120883d75c5ea9a2dacc1c4ca8984ab80");
const REPAY_BORROW: B256 = b256!("0x1a2a22cb034d26d1854bdc6666a5b91fe25efbbb5dcad3b0355478d6f5c362a1");
const LIQUIDATE_BORROW: B256 = b256!("0x298637f684da70674f26509b10f07ec2fbc77a335ab1e7d6215a4b2484d8bb52");
const DISTRIBUTED_BORROWER_COMP: B256 = b256!("0x1fc3ecc087d8d2d15e23d0032af5a47059c3892d003d8e139fdcb6bb327c99a6");

/// Where to look for what concerns a wallet in `ctoken`, which belongs to `comptroller`. The native currency is no
/// contract.
fn hints(ctoken: Address, underlying: Option<Address>, comptroller: Address) -> Vec<Hint> {
    let hint = |contract, topic0, naming| Hint { contract, topic0, naming, explained_by: &[] };
    let mut hints = vec![
        hint(ctoken, TRANSFER, Naming::At(1)),
        hint(ctoken, TRANSFER, Naming::At(2)),
        hint(comptroller, DISTRIBUTED_BORROWER_COMP, Naming::At(2)),
    ];
    hints.extend(underlying.map(|token| hint(token, TRANSFER, Naming::With(ctoken.into_word()))));
    hints
}

/// Whether something was repaid or liquidated that was never borrowed: the borrowing is one of those that nothing
/// points at.
pub(super) fn lacks_a_borrowing(counts: &EventCounts) -> bool {
    counts.borrow == Some(0) && counts.repay.max(counts.liquidation) > Some(0)
}

/// A repayment as a cToken logs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repayment {
    payer: B256,
    amount: U256,
    transaction: Option<B256>,
}

/// The events of `wallet` in `logs`, all that one cToken logged in some transactions, in the order of the chain.
/// Amounts of nothing are not events.
///
/// A liquidation first repays what it liquidates, with a log of its own: the last repayment before it in its
/// transaction by the same payer of the same amount is that one, and not counted as a repayment. Others in the
/// transaction are.
pub(super) fn events<'a>(logs: &[&'a Log], wallet: B256) -> Vec<(EventKind, &'a Log)> {
    let mut found: Vec<(EventKind, &Log, Option<Repayment>)> = Vec::new();
    for log in logs {
        let word = |index: usize| word(log, index);
        let amount = |index| word(index).map(|word| U256::from_be_bytes(word.0)).filter(|amount| !amount.is_zero());
        match log.topics() {
            [BORROW] if word(0) == Some(wallet) && amount(1).is_some() => found.push((EventKind::Borrow, log, None)),
            [REPAY_BORROW] if word(1) == Some(wallet) => {
                let Some((payer, amount)) = word(0).zip(amount(2)) else { continue };
                found.push((
                    EventKind::Repay,
                    log,
                    Some(Repayment { payer, amount, transaction: log.transaction_hash }),
                ));
            }
            [LIQUIDATE_BORROW] if word(1) == Some(wallet) => {
                let its = word(0).zip(amount(2)).map(|(payer, amount)| Repayment {
                    payer,
                    amount,
                    transaction: log.transaction_hash,
                });
                if let Some(repaid) =
                    found.iter().rposition(|(_, _, repayment)| repayment.is_some() && *repayment == its)
                {
                    found.remove(repaid);
                }
                found.push((EventKind::Liquidation, log, None));
            }
            _ => {}
        }
    }
    found.into_iter().map(|(kind, log, _)| (kind, log)).collect()
}

fn word(log: &Log, index: usize) -> Option<B256> {
    let start = index.checked_mul(32)?;
    log.data().data.get(start..start.checked_add(32)?).map(B256::from_slice)
}

#[cfg(test)]
mod tests;
