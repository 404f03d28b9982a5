//! Credit delegation: a wallet lets another address borrow against its collateral. The debt is the wallet's; the other
//! one receives the money. The debt tokens at the variable rate log each allowance, and each mint with the address that
//! drew it. Adapters and gateways that borrow for a wallet are delegates too.

use alloy::{
    primitives::{Bytes, I256},
    rpc::types::Log,
    sol,
    sol_types::SolEvent,
};

use super::{
    Version,
    scaled::{MINT, MINT_DEBT_V2},
};
use crate::{
    asset::Asset,
    figures::{
        hints::{Hint, Naming},
        record::Side,
        sums::{Move, Sums, amount_at, signed},
    },
};
use assay_domain::{Address, B256, U256};
use assay_evm::{Call, returned};

sol! {
    event BorrowAllowanceDelegated(address indexed fromUser, address indexed toUser, address asset, uint256 amount);
    function borrowAllowance(address fromUser, address toUser) external view returns (uint256 amount);
}

const ALLOWED: B256 = BorrowAllowanceDelegated::SIGNATURE_HASH;

/// Credit that one address gave another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Credit {
    /// The debt token.
    pub token: Address,
    pub owner: Address,
    pub delegate: Address,
    /// All that the delegate drew.
    pub drawn: U256,
}

/// The logs of the debt token of a reserve about credit: allowances, and mints for another address.
pub(super) fn hints(version: Version, debt: Address) -> Vec<Hint> {
    let mint = if version == Version::V3 { MINT } else { MINT_DEBT_V2 };
    let hint = |(topic0, topic)| Hint { contract: debt.into(), topic0, naming: Naming::At(topic), explained_by: &[] };
    let hints = [(ALLOWED, 1), (ALLOWED, 2), (mint, 1)].map(hint);
    hints.into_iter().filter(|_| !debt.is_zero()).collect()
}

/// Whether `log`, which matches `hint`, is about credit and leaves the position of `wallet` as it is.
pub(super) fn is_apart(hint: &Hint, log: &Log, wallet: B256) -> bool {
    match hint.topic0 {
        ALLOWED => true,
        MINT | MINT_DEBT_V2 => log.topics().get(2) != Some(&wallet),
        _ => false,
    }
}

/// The credit in `logs`, each log that draws with its amount.
pub(super) fn moves<'a>(logs: &[&'a Log], listed: &[Hint], wallet: B256) -> Vec<(Move, &'a Log)> {
    // An aToken logs the mint of a supply for another address in the same way.
    let is_debt = |token: Address| listed.iter().any(|hint| hint.topic0 == ALLOWED && hint.contract.has(token));
    let moved = |log: &Log| {
        let [topic0, from, to, ..] = *log.topics() else { return None };
        let (owner, delegate, amount) = match topic0 {
            ALLOWED => (from, to, I256::ZERO),
            // The amount includes the interest since the owner's last change.
            MINT => (to, from, signed(amount_at(log, 0)?).saturating_sub(signed(amount_at(log, 1)?))),
            MINT_DEBT_V2 => (to, from, signed(amount_at(log, 0)?)),
            _ => return None,
        };
        let token = log.address();
        let asset = match () {
            () if owner == delegate || !is_debt(token) => return None,
            () if owner == wallet => Asset::CreditTo { token, delegate: Address::from_word(delegate) },
            () if delegate == wallet => Asset::CreditOf { token, owner: Address::from_word(owner) },
            () => return None,
        };
        Some(Move { side: Side::Supply, asset, amount, fixed_rate: false })
    };
    logs.iter().filter_map(|log| Some((moved(log)?, *log))).collect()
}

impl Credit {
    /// The credit of `wallet` in `sums`.
    pub(super) fn all(sums: &Sums, wallet: Address) -> impl Iterator<Item = Self> {
        sums.credit().filter_map(move |(asset, drawn)| match asset {
            Asset::CreditTo { token, delegate } => Some(Self { token, owner: wallet, delegate, drawn }),
            Asset::CreditOf { token, owner } => Some(Self { token, owner, delegate: wallet, drawn }),
            _ => None,
        })
    }

    pub(super) fn call(&self) -> Call {
        Call::new(self.token, &borrowAllowanceCall { fromUser: self.owner, toUser: self.delegate })
    }

    /// What the delegate may still draw.
    pub(super) fn allowance(answer: Option<&Option<Bytes>>) -> Option<U256> {
        returned::<borrowAllowanceCall>(answer)
    }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::LogData;

    use super::*;

    const TOKEN: Address = Address::repeat_byte(2);
    const ME: Address = Address::repeat_byte(0xaa);
    const PEER: Address = Address::repeat_byte(5);
    const OTHER: Address = Address::repeat_byte(6);

    fn log(topic0: B256, from: Address, to: Address, words: &[u64]) -> Log {
        let data: Vec<u8> = words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect();
        let topics = vec![topic0, from.into_word(), to.into_word()];
        let data = LogData::new_unchecked(topics, Bytes::from(data));
        Log { inner: alloy::primitives::Log { address: TOKEN, data }, ..Log::default() }
    }

    #[test]
    fn credit_is_of_both_addresses_and_what_one_draws_for_itself_is_none() {
        let logs = [
            log(ALLOWED, ME, PEER, &[0, 900]),
            log(MINT, PEER, ME, &[110, 10, 7]),
            log(MINT, PEER, ME, &[50, 0, 7]),
            log(ALLOWED, OTHER, ME, &[0, 70]),
            log(MINT_DEBT_V2, ME, OTHER, &[30, 7]),
            log(MINT, ME, ME, &[500, 0, 7]),
        ];
        let mut supplied = log(MINT, PEER, ME, &[800, 0, 7]);
        supplied.inner.address = OTHER;
        let logs: Vec<&Log> = logs.iter().chain([&supplied]).collect();
        let mut sums = Sums::default();
        moves(&logs, &hints(Version::V3, TOKEN), ME.into_word()).iter().for_each(|(moved, _)| sums.add(moved));
        let found: Vec<_> = sums.credit().map(|(asset, drawn)| (asset, u64::try_from(drawn).unwrap())).collect();
        let (to, of) =
            (Asset::CreditTo { token: TOKEN, delegate: PEER }, Asset::CreditOf { token: TOKEN, owner: OTHER });
        assert_eq!(found, [(to, 150), (of, 30)]);
        assert_eq!(sums.left().count(), 0, "no part of the position");
    }

    #[test]
    fn a_mint_for_another_address_needs_no_receipt_and_one_for_the_wallet_may() {
        let [allowed, received, mint] = &hints(Version::V3, TOKEN)[..] else { panic!("three hints") };
        let apart = |topic0, from, to| {
            let (log, wallet) = (log(topic0, from, to, &[1, 0, 1]), ME.into_word());
            let hint = [mint, allowed, received].into_iter().find(|hint| hint.is(&log, wallet));
            is_apart(hint.unwrap(), &log, wallet)
        };
        assert!(apart(ALLOWED, ME, PEER) && apart(ALLOWED, PEER, ME) && apart(MINT, ME, OTHER));
        assert!(!apart(MINT, ME, ME), "its borrowing is in a log of the pool, which may be missing");
        assert_eq!(hints(Version::V2, Address::ZERO), []);
    }
}
