//! The wallets that owed in a market at a block, by the amounts in the logs. Logs do not contain interest, so amounts
//! exclude it:
//!
//! - Debt of Aave is what was borrowed and not repaid. Each repayment reduces it, down to zero, so the debt was at
//!   least this amount. A wallet that repaid exactly what it had borrowed and owed only interest is left out.
//! - The base asset of a Comet market, named by the zero address, is what was withdrawn beyond what was supplied, of
//!   wallets that borrowed. Interest on an earlier supply, once withdrawn, counts as owed.
//! - Debt in Morpho Blue and of Maker is in shares of its market, which are exact. An urn stands for its vault's owner.
//! - Logs of Compound v2 show no amounts: every wallet that has borrowed is returned, without an amount.

use std::collections::BTreeMap;

use alloy::primitives::{I256, U256};
use assay_domain::{Address, ChainId};
use assay_lending::{Asset, Entry, EventKind, Side, What};

use crate::{Index, IndexError, WalletEntries};

/// A wallet that owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owing {
    pub wallet: Address,
    /// The debt per asset, in the smallest unit; `None` if the protocol's logs show no amounts.
    pub owed: Option<Vec<(Asset, U256)>>,
    /// Whether changes without a log are possible.
    pub incomplete: bool,
}

impl Index {
    /// Returns the wallets that owed in the market at `address` after block `at`, ordered by address.
    ///
    /// # Errors
    /// [`IndexError::NoMarket`], [`IndexError::Above`], and those of [`wallets`](Self::wallets).
    pub fn owing(
        &self,
        chain: ChainId,
        address: Address,
        at: u64,
    ) -> Result<impl Iterator<Item = Result<Owing, IndexError>> + use<>, IndexError> {
        let wallets = self.wallets_of(chain, address, at)?;
        Ok(wallets.filter_map(move |item| item.map(|item| owing(&item, at)).transpose()))
    }

    /// Returns the wallets that did anything in the market at `address` up to block `at`, ordered by address.
    ///
    /// # Errors
    /// Those of [`owing`](Self::owing).
    pub fn active(
        &self,
        chain: ChainId,
        address: Address,
        at: u64,
    ) -> Result<impl Iterator<Item = Result<Address, IndexError>> + use<>, IndexError> {
        let wallets = self.wallets_of(chain, address, at)?;
        let active = move |item: &WalletEntries| item.entries.first().is_some_and(|entry| entry.block <= at);
        Ok(wallets.filter_map(move |item| item.map(|item| active(&item).then_some(item.wallet)).transpose()))
    }

    /// The wallets of a market, without what stands for positions.
    fn wallets_of(
        &self,
        chain: ChainId,
        address: Address,
        at: u64,
    ) -> Result<impl Iterator<Item = Result<WalletEntries, IndexError>> + use<>, IndexError> {
        let progress = self.progress(chain)?.ok_or(IndexError::Unknown(chain))?;
        let market = progress.market(address).ok_or(IndexError::NoMarket { chain, market: address })?;
        let through = progress.through().map_or(0, |through| through.number);
        if at > through {
            return Err(IndexError::Above { chain, through });
        }
        let is_wallet = |item: &Result<WalletEntries, IndexError>| {
            item.as_ref().map_or(true, |item| !assay_lending::is_number(item.wallet))
        };
        Ok(self.wallets(chain, market)?.filter(is_wallet))
    }
}

/// Returns `None` if the wallet owed nothing.
fn owing(item: &WalletEntries, at: u64) -> Option<Owing> {
    let before = || item.entries.iter().take_while(|entry| entry.block <= at);
    let any = |is: fn(&Entry) -> bool| before().any(is);
    let borrowed = any(|entry| matches!(entry.what, What::Event { kind: EventKind::Borrow, .. }));
    let incomplete = any(|entry| matches!(entry.what, What::Incomplete { .. }));
    if !any(|entry| matches!(entry.what, What::Moved(_))) {
        return borrowed.then_some(Owing { wallet: item.wallet, owed: None, incomplete });
    }
    let mut sums = BTreeMap::<_, I256>::new();
    for entry in before() {
        let What::Moved(moved) = entry.what else { continue };
        let sum = sums.entry((moved.asset, moved.side)).or_default();
        match moved.side {
            // A market's debt is counted in its shares, and one that is also logged as it is stored in its token: each
            // debt once.
            Side::Debt if matches!(moved.asset, Asset::Market(_) | Asset::Scaled(_) | Asset::Fixed(_)) => {}
            Side::Debt => *sum = sum.saturating_add(moved.amount).max(I256::ZERO),
            Side::Base if borrowed => *sum = sum.saturating_add(moved.amount),
            Side::Base | Side::Supply | Side::Collateral => {}
        }
    }
    let owed = |((asset, side), sum): ((Asset, Side), I256)| {
        let owed = if side == Side::Debt { sum } else { sum.saturating_neg() };
        owed.is_positive().then(|| (asset, owed.unsigned_abs()))
    };
    let owed: Vec<_> = sums.into_iter().filter_map(owed).collect();
    (!owed.is_empty()).then_some(Owing { wallet: item.wallet, owed: Some(owed), incomplete })
}

#[cfg(test)]
mod tests {
    use assay_lending::Move;

    use super::*;

    fn moved(block: u64, side: Side, amount: i64) -> Entry {
        let amount = I256::try_from(amount).unwrap();
        Entry { block, what: What::Moved(Move { side, asset: Address::ZERO.into(), amount, fixed_rate: false }) }
    }

    fn borrowing(block: u64) -> Entry {
        Entry { block, what: What::Event { kind: EventKind::Borrow, time: 0 } }
    }

    fn owed(entries: &[Entry], at: u64) -> Option<Option<u64>> {
        let item = WalletEntries { wallet: Address::ZERO, market: 0, entries: entries.to_vec() };
        let amount = |(_, amount): (Asset, U256)| amount.to::<u64>();
        owing(&item, at).map(|owing| owing.owed.map(|owed| owed.into_iter().map(amount).sum()))
    }

    #[test]
    fn interest_that_was_repaid_reduces_no_later_debt() {
        let debt = |block, amount| moved(block, Side::Debt, amount);
        let entries = [borrowing(1), debt(1, 100), debt(5, -105), borrowing(9), debt(9, 40), debt(10, -10)];
        let at = |block| owed(&entries, block);
        assert_eq!(
            [at(0), at(1), at(4), at(5), at(9), at(10)],
            [None, Some(Some(100)), Some(Some(100)), None, Some(Some(40)), Some(Some(30))]
        );
    }

    #[test]
    fn a_debt_that_is_also_logged_as_it_is_stored_is_owed_once() {
        let mut stored = moved(1, Side::Debt, 90);
        if let What::Moved(moved) = &mut stored.what {
            moved.asset = Asset::Scaled(Address::ZERO);
        }
        assert_eq!(owed(&[borrowing(1), moved(1, Side::Debt, 100), stored], 1), Some(Some(100)));
    }

    #[test]
    fn a_base_below_zero_is_owed_by_those_who_borrowed() {
        let base = |block, amount| moved(block, Side::Base, amount);
        assert_eq!(owed(&[base(1, 100), base(2, -101)], 2), None, "interest was withdrawn");
        let entries = [base(1, 100), borrowing(2), base(2, -130), moved(2, Side::Collateral, 9)];
        assert_eq!([owed(&entries, 1), owed(&entries, 2)], [None, Some(Some(30))]);
    }

    #[test]
    fn without_amounts_who_borrowed_may_owe() {
        assert_eq!(owed(&[borrowing(3)], 3), Some(None));
        assert_eq!(owed(&[borrowing(3)], 2), None);
        assert_eq!(owed(&[moved(1, Side::Supply, 5)], 2), None);
    }
}
