//! Scaled balances: a pool's token stores the wallet's balance divided by the reserve's index. Only supplies,
//! withdrawals, borrowings, repayments, liquidations and transfers change it; interest does not. Each change emits a
//! log with the index of its block, so the sum of the changes equals the stored number, apart from rounding.

use std::collections::{HashMap, VecDeque};

use alloy::{
    primitives::{I256, b256},
    rpc::types::Log,
};

use super::Version;
use crate::{
    asset::Asset,
    history::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::{Move, amount_at, signed},
    },
    position::balance::RAY,
};
use assay_domain::{Address, B256, U256, address};

/// Both tokens of v3, with the interest since the last change; the debt token of v2, without it.
const MINT: B256 = b256!("0x458f5fa412d0f69b08dd84872b0215675cc67bc1d5b6fd93300a1c3878b86196");
const BURN: B256 = b256!("0x4cf25bc1d991c17529c25213d3cc0cda295eeaad5f13f361969b12ea48015f90");
const MINT_DEBT_V2: B256 = b256!("0x2f00e3cdd69a77be7ed215ec7b2a36784dd158f921fca79ac29deffa353fe6ee");
const BURN_DEBT_V2: B256 = b256!("0x49995e5dd6158cf69ad3e9777c46755a1a826a446c6416992167462dad033b2a");
/// The aToken of v2.
const MINT_SUPPLY_V2: B256 = b256!("0x4c209b5fc8ad50758f13e2e1088ba56a560dff690a1c6fef26394f4c03821c4f");
const BURN_SUPPLY_V2: B256 = b256!("0x5d624aa9c148153ab3446c1b154f660ee7701e549fe9b62dab7171b1c80e6fa2");
/// The aToken, with the index of a transfer. The amount is scaled in some versions of the token and plain in others.
const BALANCE_TRANSFER: B256 = b256!("0x4beccb90f994c31aced7a23b5611020728a23d8ec5cddd1a3e9d97b96fda8666");

/// Rebasing tokens, whose balances and those of their aTokens change without transfers: stETH and AMPL, both in v2 on
/// Ethereum. The sum of supplies does not equal their balance.
const REBASING: [Address; 2] =
    [address!("0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84"), address!("0xD46bA6D942050d489DBd938a2C909A5d5039A161")];
/// GHO on Ethereum: until 2025 holders of staked AAVE paid less interest on GHO debt, which changed the stored balance.
const DISCOUNTED: Address = address!("0x40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f");

/// Whether balances in this asset change without moves.
pub(super) fn is_rebasing(asset: Address) -> bool {
    REBASING.contains(&asset)
}

/// Whether the logs show every change of the stored balance on this side of a reserve.
pub(super) fn is_shown(side: Side, asset: Address) -> bool {
    !is_rebasing(asset) && (side, asset) != (Side::Debt, DISCOUNTED)
}

/// The logs of a reserve's aToken (`supply`) and debt token that change a wallet's stored balances.
pub(super) fn hints(version: Version, asset: Address, supply: Address, debt: Address) -> Vec<Hint> {
    let changes = |side| match (version, side) {
        (Version::V3, _) => [(MINT, 2), (BURN, 1)],
        (Version::V2, Side::Debt) => [(MINT_DEBT_V2, 2), (BURN_DEBT_V2, 1)],
        (Version::V2, _) => [(MINT_SUPPLY_V2, 1), (BURN_SUPPLY_V2, 1)],
    };
    let hint = |contract, topic0, naming| Hint { contract, topic0, naming, explained_by: &[] };
    let of_token = |(side, contract): (Side, Address)| {
        changes(side).map(|(topic0, topic)| hint(contract, topic0, Naming::Balance { topic, side, asset }))
    };
    let is_read = |(side, token): &(Side, Address)| is_shown(*side, asset) && !token.is_zero();
    let tokens = [(Side::Supply, supply), (Side::Debt, debt)];
    let mut hints: Vec<Hint> = tokens.into_iter().filter(is_read).flat_map(of_token).collect();
    if is_shown(Side::Supply, asset) {
        hints.push(hint(supply, BALANCE_TRANSFER, Naming::Holder(asset)));
    }
    hints
}

/// The changes of stored balances, including changes of nothing, in the `logs` that match the hints in `listed`.
pub(super) fn moves<'a>(logs: &[&'a Log], listed: &[Hint], wallet: B256) -> Vec<(Move, &'a Log)> {
    let mut transfers = HashMap::<_, VecDeque<U256>>::new();
    for log in logs.iter().filter(|log| log.topic0() == Some(&TRANSFER)) {
        transfers.entry(parties(log)).or_default().extend(amount_at(log, 0));
    }
    let mut moved = |log: &Log| {
        let topic0 = log.topic0()?;
        let hint = listed.iter().find(|hint| hint.contract == log.address() && hint.topic0 == *topic0)?;
        let (side, asset, amount) = match hint.naming {
            Naming::Balance { side, asset, .. } => (side, asset, changed(*topic0, |place| amount_at(log, place))?),
            Naming::Holder(asset) if *topic0 == BALANCE_TRANSFER => {
                let amount = transfers.get_mut(&parties(log))?.pop_front()?;
                (Side::Supply, asset, transferred(log, divided(signed(amount), amount_at(log, 1)?)?, wallet)?)
            }
            _ => return None,
        };
        Some(Move { side, asset: Asset::Scaled(asset), amount, fixed_rate: false })
    };
    logs.iter().filter_map(|log| Some((moved(log)?, *log))).collect()
}

/// The transaction, the token and the parties of a transfer: a transaction may have several between the same two.
fn parties(log: &Log) -> (Option<B256>, Address, Vec<B256>) {
    (log.transaction_hash, log.address(), log.topics().iter().skip(1).copied().collect())
}

/// The change of `wallet` in a transfer of `amount`.
fn transferred(log: &Log, amount: I256, wallet: B256) -> Option<I256> {
    let [_, from, to, ..] = *log.topics() else { return None };
    let change = |is_own: bool| if is_own { amount } else { I256::ZERO };
    Some(change(to == wallet).saturating_sub(change(from == wallet)))
}

/// The change that a mint or a burn with these words makes.
fn changed(topic0: B256, word: impl Fn(usize) -> Option<U256>) -> Option<I256> {
    let at = |place| Some(signed(word(place)?));
    match topic0 {
        // If the interest exceeds the amount repaid or withdrawn, the token mints the difference.
        MINT => divided(at(0)?.saturating_sub(at(1)?), word(2)?),
        BURN => divided(at(0)?.saturating_add(at(1)?).saturating_neg(), word(2)?),
        MINT_DEBT_V2 | MINT_SUPPLY_V2 => divided(at(0)?, word(1)?),
        BURN_DEBT_V2 | BURN_SUPPLY_V2 => divided(at(0)?.saturating_neg(), word(1)?),
        _ => None,
    }
}

/// `amount` divided by an index in ray, rounded half away from zero, as the tokens do.
fn divided(amount: I256, index: U256) -> Option<I256> {
    let scaled = amount.unsigned_abs().checked_mul(RAY)?.checked_add(index >> 1)?.checked_div(index)?;
    let scaled = I256::try_from(scaled).ok()?;
    Some(if amount.is_negative() { -scaled } else { scaled })
}

#[cfg(test)]
mod tests;
