//! Pairs of logs: a cToken logs a reason for each transfer of the underlying token between a wallet and itself: a
//! borrowing, a repayment, or cTokens that were minted or redeemed. A transfer without a reason in its transaction
//! shows that a log was left out, or that the token was simply sent to the contract.
//!
//! cTokens that are minted or redeemed have two logs, their transfer and a `Mint` or a `Redeem`. Either is a reason.

use std::collections::BTreeMap;

use alloy::{rpc::types::Log, sol, sol_types::SolEvent};

use super::events::{BORROW, REPAY_BORROW, word};
use crate::{
    figures::hints::{Naming, TRANSFER},
    protocols::Evidence,
};
use assay_domain::B256;

sol! {
    event Mint(address minter, uint256 mintAmount, uint256 mintTokens);
    event Redeem(address redeemer, uint256 redeemAmount, uint256 redeemTokens);
    // Venus: the cTokens are another wallet's.
    event MintBehalf(address payer, address receiver, uint256 mintAmount, uint256 mintTokens);
}

const MINT: B256 = Mint::SIGNATURE_HASH;
const REDEEM: B256 = Redeem::SIGNATURE_HASH;
const MINT_BEHALF: B256 = MintBehalf::SIGNATURE_HASH;

/// The transfers of the underlying token between a wallet and a cToken in one transaction, and their reasons, each from
/// the wallet to the cToken and back.
#[derive(Debug, Default)]
struct Moves {
    paid: [usize; 2],
    /// Repayments and borrowings.
    debts: [usize; 2],
    /// cTokens that were minted and redeemed, by their transfers and by the other log of each.
    transferred: [usize; 2],
    logged: [usize; 2],
}

impl Moves {
    fn add_reason(&mut self, log: &Log, wallet: B256) {
        let (ctoken, is_by) = (log.address().into_word(), |index| word(log, index) == Some(wallet));
        let Self { debts: [repaid, borrowed], transferred: [minted, redeemed], logged: [mints, redeems], .. } = self;
        let reason = match log.topics() {
            [REPAY_BORROW] if is_by(0) => repaid,
            [BORROW] if is_by(0) => borrowed,
            [TRANSFER, from, to] if (*from, *to) == (ctoken, wallet) => minted,
            [TRANSFER, from, to] if (*from, *to) == (wallet, ctoken) => redeemed,
            [MINT | MINT_BEHALF] if is_by(0) => mints,
            [REDEEM] if is_by(0) => redeems,
            _ => return,
        };
        *reason += 1;
    }

    fn lacks_a_reason(&self) -> bool {
        let reasons = self.debts.iter().zip(self.transferred.iter().zip(self.logged));
        let reasons = reasons.map(|(debts, (transferred, logged))| debts + (*transferred).max(logged));
        self.paid.iter().zip(reasons).any(|(paid, reasons)| *paid > reasons)
    }
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
        if let Some((moves, _)) = found.get_mut(&place(log)) {
            moves.add_reason(log, wallet);
        }
    }
    found.into_values().filter_map(|(moves, first)| first.filter(|_| moves.lacks_a_reason())).collect()
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

    /// A log of the cToken without topics, with the address that it names first.
    fn stated(topic0: B256, by: Address) -> Log {
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
            (&paid, stated(REPAY_BORROW, WALLET), stated(REPAY_BORROW, OTHER)),
            (&paid, transfer(CTOKEN, CTOKEN, WALLET), transfer(CTOKEN, CTOKEN, OTHER)),
            (&got, stated(BORROW, WALLET), stated(BORROW, OTHER)),
            (&got, transfer(CTOKEN, WALLET, CTOKEN), transfer(CTOKEN, WALLET, OTHER)),
            (&paid, stated(MINT, WALLET), stated(REDEEM, WALLET)),
            (&paid, stated(MINT_BEHALF, WALLET), stated(MINT_BEHALF, OTHER)),
            (&got, stated(REDEEM, WALLET), stated(MINT, WALLET)),
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

    #[test]
    fn both_logs_of_a_mint_are_one_reason() {
        let (paid, minted) = (transfer(UNDERLYING, WALLET, CTOKEN), transfer(CTOKEN, CTOKEN, WALLET));
        let both = [minted, stated(MINT, WALLET)];
        assert!(!lacks(std::slice::from_ref(&paid), &both));
        assert!(lacks(&[paid.clone(), paid.clone()], &both), "a repayment beside it was left out");
        assert!(!lacks(&[paid.clone(), paid], &[both.as_slice(), &[stated(REPAY_BORROW, WALLET)]].concat()));
    }
}
