//! The ids of the parts of a position. A vault has a number. An urn without a vault has its kind of collateral,
//! combined with the account if that is not the wallet. What an account has, or a wallet, is also a part:
//!
//! | part | id |
//! |---|---|
//! | vault, also as the wallet has it | its number, at the end |
//! | vault as a proxy has it | its number, then the proxy |
//! | proxy as the wallet has it | the proxy, at the end |
//! | urn of the wallet | the name of the kind of collateral, at the start |
//! | urn of a proxy | the same, with the proxy at the end |

use std::collections::BTreeSet;

use assay_domain::B256;

/// Where the address of an account begins in a word.
const ACCOUNT: usize = 12;
/// Where the number of a vault begins.
const NUMBER: usize = 24;

/// The id of the vault `vault` as `account` has it.
pub(super) fn held_by(vault: B256, account: B256, wallet: B256) -> B256 {
    if account == wallet {
        return vault;
    }
    let mut id = account;
    let (start, _) = id.split_at_mut(ACCOUNT);
    let (_, number) = vault.split_at(NUMBER);
    start.iter_mut().rev().zip(number.iter().rev()).for_each(|(byte, of)| *byte = *of);
    id
}

/// The id of the urn of `account` in the kind `ilk`.
pub(super) fn urn_of(ilk: B256, account: B256, wallet: B256) -> B256 {
    if account == wallet { ilk } else { ilk ^ account }
}

/// The kind and the account of an urn without a vault; `None` for another part, or an account that is not known.
pub(super) fn urn(id: B256, accounts: &BTreeSet<B256>, wallet: B256) -> Option<(B256, B256)> {
    // The names of collateral begin with a letter, and leave the end of the word free.
    let is_kind = |ilk: &B256| ilk.first() != Some(&0) && ilk.ends_with(&[0; 8]);
    let of = |account: &B256| {
        let ilk = if *account == wallet { id } else { id ^ *account };
        Some((ilk, *account)).filter(|(ilk, _)| is_kind(ilk))
    };
    accounts.iter().find_map(of)
}

/// The number of a vault in the id of a vault, also as a proxy has it.
pub(super) fn vault(id: B256) -> Option<B256> {
    let (start, end) = id.split_at(NUMBER);
    if start.iter().all(|byte| *byte == 0) {
        return Some(id);
    }
    let (start, _) = id.split_at(ACCOUNT);
    let is_held = id.first() == Some(&0) && start.iter().any(|byte| *byte != 0);
    is_held.then(|| B256::left_padding_from(start)).filter(|_| !end.is_empty())
}

/// The proxy, if the id is that of a proxy.
pub(super) fn account(id: B256) -> Option<B256> {
    let (start, rest) = id.split_at(ACCOUNT);
    let (head, _) = rest.split_at(NUMBER - ACCOUNT);
    let is_account = start.iter().all(|byte| *byte == 0) && head.iter().any(|byte| *byte != 0);
    is_account.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::Address;

    #[test]
    fn each_id_tells_which_part_it_is() {
        let [wallet, proxy] = [0xaa, 0xbb].map(|byte| Address::repeat_byte(byte).into_word());
        let accounts = BTreeSet::from([wallet, proxy]);
        let (number, ilk) = (B256::left_padding_from(&31_337_u32.to_be_bytes()), B256::right_padding_from(b"ETH-A"));
        for (id, expected) in [
            (number, (Some(number), None, None)),
            (held_by(number, wallet, wallet), (Some(number), None, None)),
            (held_by(number, proxy, wallet), (Some(number), None, None)),
            (proxy, (None, Some(proxy), None)),
            (urn_of(ilk, wallet, wallet), (None, None, Some((ilk, wallet)))),
            (urn_of(ilk, proxy, wallet), (None, None, Some((ilk, proxy)))),
        ] {
            assert_eq!((vault(id), account(id), urn(id, &accounts, wallet)), expected, "{id}");
        }
        assert_ne!(held_by(number, proxy, wallet), number);
        assert_eq!(urn(urn_of(ilk, proxy, wallet), &BTreeSet::from([wallet]), wallet), None, "an unknown account");
    }
}
