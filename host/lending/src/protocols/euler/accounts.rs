//! Accounts, and the parts of a position. An owner has 256 accounts: the addresses that share its first 19 bytes. The
//! part of an account in a vault has the first 12 bytes of the vault's address, then the account, as its id.

use std::collections::BTreeMap;

use alloy::primitives::{I256, U256};

use crate::{
    asset::Asset,
    figures::{
        indexed::{Entry, What},
        record::Side,
        sums::Move,
    },
};
use assay_domain::{Address, B256};

/// Bytes of an address that all accounts of an owner share.
const PREFIX: usize = 19;
/// Bytes of the vault in the id of a part. A factory's contracts are created by number, so nobody chooses them.
const OF_VAULT: usize = 12;
const ROUNDING: U256 = U256::from_limbs([2, 0, 0, 0]);

/// The id of the part of `account` in `vault`.
pub(super) fn part(vault: Address, account: Address) -> B256 {
    let mut id = account.into_word();
    let (start, _) = id.split_at_mut(OF_VAULT);
    start.iter_mut().zip(vault.iter()).for_each(|(to, byte)| *to = *byte);
    id
}

/// The account of a part.
pub(super) fn account(part: B256) -> Address {
    Address::from_word(part)
}

/// Whether `part` is one in `vault`.
pub(super) fn is_in(part: B256, vault: Address) -> bool {
    part.iter().zip(vault.iter()).take(OF_VAULT).all(|(one, other)| one == other)
}

/// Whether both have the same owner.
pub(super) fn are_of_one_owner(one: Address, other: Address) -> bool {
    one.iter().zip(other.iter()).take(PREFIX).all(|(one, other)| one == other)
}

/// The word that stands for all accounts of an owner in the connector's logs.
pub(super) fn prefix(account: Address) -> B256 {
    let (start, _) = account.split_at(PREFIX);
    B256::right_padding_from(start)
}

/// Whether one account repaid what another borrowed, in the same block and vault.
pub(super) fn may_have_moved_debt(entries: &[Entry]) -> bool {
    let mut moved = BTreeMap::<(u64, B256), Vec<(Address, I256)>>::new();
    for entry in entries {
        if let What::Moved(Move { side: Side::Debt, asset: Asset::Market(id), amount, .. }) = entry.what {
            let vault = B256::right_padding_from(id.split_at(OF_VAULT).0);
            moved.entry((entry.block, vault)).or_default().push((account(id), amount));
        }
    }
    // The amounts are rounded separately.
    let is_same = |one: I256, other: I256| one.saturating_add(other).unsigned_abs() <= ROUNDING;
    let is_moved = |all: &Vec<(Address, I256)>| {
        all.iter().any(|(from, repaid)| {
            let mut others = all.iter().filter(|(to, _)| repaid.is_negative() && to != from);
            others.any(|(_, borrowed)| borrowed.is_positive() && is_same(*repaid, *borrowed))
        })
    };
    moved.values().any(is_moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_tells_its_vault_and_its_account() {
        let [vault, other, account_] = [0xaa, 0xbb, 0xcc].map(Address::repeat_byte);
        let id = part(vault, account_);
        assert_eq!((account(id), is_in(id, vault), is_in(id, other)), (account_, true, false));
    }

    #[test]
    fn debt_may_have_moved_if_one_account_repaid_what_another_borrowed() {
        let [vault, other, one, two] = [0xaa, 0xbb, 0x11, 0x12].map(Address::repeat_byte);
        let entry = |block, vault, account, amount: i64| {
            let (asset, amount) = (Asset::Market(part(vault, account)), I256::try_from(amount).unwrap());
            Entry { block, what: What::Moved(Move { side: Side::Debt, asset, amount, fixed_rate: false }) }
        };
        let repaid = entry(5, vault, one, -100);
        assert!(may_have_moved_debt(&[repaid, entry(5, vault, two, 101)]));
        for unlike in [
            entry(6, vault, two, 100),
            entry(5, other, two, 100),
            entry(5, vault, one, 100),
            entry(5, vault, two, 200),
            entry(5, vault, two, -100),
        ] {
            assert!(!may_have_moved_debt(&[repaid, unlike]), "{unlike:?}");
        }
    }

    #[test]
    fn accounts_of_an_owner_differ_in_the_last_byte() {
        let owner = Address::repeat_byte(0x11);
        let (mut next, mut stranger) = (owner, owner);
        next.0[19] = 0xff;
        stranger.0[18] = 0x12;
        assert!(are_of_one_owner(owner, next) && !are_of_one_owner(owner, stranger));
        assert_eq!((prefix(owner), prefix(owner)), (prefix(next), B256::right_padding_from(&[0x11; 19])));
    }
}
