//! Pairs of logs: each transfer of the underlying token between a wallet and the cToken has a log of the cToken in the
//! same transaction, of a borrowing or a repayment, or of cTokens that were minted or redeemed. A transfer without one
//! shows that it was left out, or that the token was simply sent there.

use std::collections::BTreeMap;

use alloy::rpc::types::Log;

use super::events::{BORROW, REPAY_BORROW, word};
use crate::{
    figures::hints::{Naming, TRANSFER},
    protocols::Evidence,
};
use assay_domain::B256;

/// How often the underlying token moved between a wallet and the cToken in one transaction, and how often the cToken
/// logged a reason.
#[derive(Debug, Default)]
struct Moves {
    /// From the wallet to the cToken, and back.
    paid: [usize; 2],
    reasons: [usize; 2],
}

/// The transfers in `evidence` without a reason, one of each transaction.
pub(super) fn unpaired<'a>(evidence: &Evidence<'a>, wallet: B256) -> Vec<&'a Log> {
    let place = |log: &Log| (log.block_hash, log.transaction_hash);
    let mut found = BTreeMap::<_, (Moves, Option<&'a Log>)>::new();
    for log in &evidence.hints {
        let is_paid = evidence.listed.iter().any(|hint| matches!(hint.naming, Naming::With(_)) && hint.is(log, wallet));
        if is_paid {
            let (moves, first) = found.entry(place(log)).or_default();
            let [to, from] = &mut moves.paid;
            *(if log.topics().get(1) == Some(&wallet) { to } else { from }) += 1;
            first.get_or_insert(log);
        }
    }
    for log in &evidence.receipts {
        let Some((moves, _)) = found.get_mut(&place(log)) else { continue };
        let ctoken = log.address().into_word();
        let [to, from] = &mut moves.reasons;
        match log.topics() {
            [REPAY_BORROW] if word(log, 0) == Some(wallet) => *to += 1,
            [BORROW] if word(log, 0) == Some(wallet) => *from += 1,
            [TRANSFER, minter, owner] if (*minter, *owner) == (ctoken, wallet) => *to += 1,
            [TRANSFER, owner, redeemer] if (*owner, *redeemer) == (wallet, ctoken) => *from += 1,
            _ => {}
        }
    }
    let lacks = |(Moves { paid, reasons }, first): (Moves, Option<&'a Log>)| {
        first.filter(|_| paid.iter().zip(reasons).any(|(paid, reasons)| *paid > reasons))
    };
    found.into_values().filter_map(lacks).collect()
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{LogData, U256};

    use super::{super::events::hints, *};
    use assay_domain::Address;

    const WALLET: Address = Address::repeat_byte(0xaa);
    const OTHER: Address = Address::repeat_byte(0xbb);
    const CTOKEN: Address = Address::repeat_byte(1);
    const UNDERLYING: Address = Address::repeat_byte(2);

    fn log(contract: Address, topics: &[B256], words: &[B256]) -> Log {
        let data: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
        let data = LogData::new_unchecked(topics.to_vec(), data.into());
        Log { inner: alloy::primitives::Log { address: contract, data }, ..Log::default() }
    }

    fn transfer(contract: Address, from: Address, to: Address) -> Log {
        log(contract, &[TRANSFER, from.into_word(), to.into_word()], &[U256::from(5).into()])
    }

    /// A log of the cToken about a debt, with the address that it names first.
    fn debt(topic0: B256, by: Address) -> Log {
        log(CTOKEN, &[topic0], &[by.into_word(), WALLET.into_word(), U256::from(5).into()])
    }

    fn lacks(hints_found: &[Log], receipts: &[Log]) -> bool {
        let listed = hints(CTOKEN, Some(UNDERLYING), None);
        let evidence = Evidence {
            hints: hints_found.iter().collect(),
            receipts: receipts.iter().collect(),
            listed: &listed,
            ..Evidence::default()
        };
        !unpaired(&evidence, WALLET.into_word()).is_empty()
    }

    #[test]
    fn each_transfer_has_a_reason() {
        let (paid, got) = (transfer(UNDERLYING, WALLET, CTOKEN), transfer(UNDERLYING, CTOKEN, WALLET));
        for (moved, reason, other) in [
            (&paid, debt(REPAY_BORROW, WALLET), debt(REPAY_BORROW, OTHER)),
            (&paid, transfer(CTOKEN, CTOKEN, WALLET), transfer(CTOKEN, CTOKEN, OTHER)),
            (&got, debt(BORROW, WALLET), debt(BORROW, OTHER)),
            (&got, transfer(CTOKEN, WALLET, CTOKEN), transfer(CTOKEN, WALLET, OTHER)),
        ] {
            let moved = std::slice::from_ref(moved);
            assert!(!lacks(moved, std::slice::from_ref(&reason)));
            assert!(lacks(moved, &[]) && lacks(moved, &[other]));
            // A second one needs its own.
            let twice = [moved, moved].concat();
            assert!(lacks(&twice, std::slice::from_ref(&reason)) && !lacks(&twice, &[reason.clone(), reason]));
        }
        assert!(!lacks(&[transfer(CTOKEN, OTHER, WALLET), transfer(UNDERLYING, OTHER, WALLET)], &[]));
    }
}
