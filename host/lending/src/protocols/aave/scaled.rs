//! Scaled balances: a pool's token stores the wallet's balance divided by the reserve's index. Only supplies,
//! withdrawals, borrowings, repayments, liquidations and transfers change it; interest does not. Each change emits a
//! log with the index of its block, so the sum of the changes equals the stored number, apart from rounding.

use std::collections::{HashMap, VecDeque};

use alloy::{primitives::I256, rpc::types::Log, sol_types::SolEvent};

use super::Version;
use crate::{
    asset::Asset,
    figures::{
        balance::RAY,
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::{Move, amount_at, signed},
    },
};
use assay_domain::{Address, B256, U256, address};

/// Both tokens of v3, with the interest since the last change; the debt token of v2 mints without it.
mod token {
    alloy::sol! {
        event Mint(
            address indexed caller, address indexed onBehalfOf, uint256 value, uint256 balanceIncrease, uint256 index);
        event Burn(
            address indexed from, address indexed target, uint256 value, uint256 balanceIncrease, uint256 index);
        /// The aToken, with the index of a transfer. The amount is scaled in some versions of the token and plain in
        /// others.
        event BalanceTransfer(address indexed from, address indexed to, uint256 value, uint256 index);
    }
}

/// The debt token of v2.
mod debt_v2 {
    alloy::sol! {
        event Mint(address indexed from, address indexed onBehalfOf, uint256 value, uint256 index);
        event Burn(address indexed user, uint256 amount, uint256 index);
    }
}

/// The aToken of v2.
mod supply_v2 {
    alloy::sol! {
        event Mint(address indexed from, uint256 value, uint256 index);
        event Burn(address indexed from, address indexed target, uint256 value, uint256 index);
    }
}

pub(super) const MINT: B256 = token::Mint::SIGNATURE_HASH;
const BURN: B256 = token::Burn::SIGNATURE_HASH;
pub(super) const BALANCE_TRANSFER: B256 = token::BalanceTransfer::SIGNATURE_HASH;
pub(super) const MINT_DEBT_V2: B256 = debt_v2::Mint::SIGNATURE_HASH;
const BURN_DEBT_V2: B256 = debt_v2::Burn::SIGNATURE_HASH;
const MINT_SUPPLY_V2: B256 = supply_v2::Mint::SIGNATURE_HASH;
const BURN_SUPPLY_V2: B256 = supply_v2::Burn::SIGNATURE_HASH;

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
        (Version::V3, _) => [MINT, BURN],
        (Version::V2, Side::Debt) => [MINT_DEBT_V2, BURN_DEBT_V2],
        (Version::V2, _) => [MINT_SUPPLY_V2, BURN_SUPPLY_V2],
    };
    let hint =
        |contract: Address, topic0, naming| Hint { contract: contract.into(), topic0, naming, explained_by: &[] };
    let of_token = |(side, contract): (Side, Address)| {
        let topics = changes(side).into_iter().filter_map(|topic0| Some((topic0, holder_at(topic0)?)));
        topics.map(move |(topic0, topic)| hint(contract, topic0, Naming::Balance { topic, side, asset }))
    };
    let is_read = |(side, token): &(Side, Address)| is_shown(*side, asset) && !token.is_zero();
    let tokens = [(Side::Supply, supply), (Side::Debt, debt)];
    let mut hints: Vec<Hint> = tokens.into_iter().filter(is_read).flat_map(of_token).collect();
    if is_shown(Side::Supply, asset) {
        hints.push(hint(supply, BALANCE_TRANSFER, Naming::Holder(asset)));
    }
    hints
}

/// The topic of a mint or a burn in which it names the holder.
pub(super) fn holder_at(topic0: B256) -> Option<usize> {
    match topic0 {
        MINT | MINT_DEBT_V2 => Some(2),
        BURN | BURN_DEBT_V2 | MINT_SUPPLY_V2 | BURN_SUPPLY_V2 => Some(1),
        _ => None,
    }
}

/// The changes of stored balances, including changes of nothing, in the `logs` that match the hints in `listed`.
pub(super) fn moves<'a>(logs: &[&'a Log], listed: &[Hint], wallet: B256) -> Vec<(Move, &'a Log)> {
    let mut transfers = HashMap::<_, VecDeque<U256>>::new();
    for log in logs.iter().filter(|log| log.topic0() == Some(&TRANSFER)) {
        transfers.entry(parties(log)).or_default().extend(amount_at(log, 0));
    }
    let mut moved = |log: &Log| {
        let topic0 = log.topic0()?;
        // A log may also name the wallet only as the delegate of another one's debt.
        let is_balance = |hint: &&Hint| matches!(hint.naming, Naming::Balance { .. } | Naming::Holder(_));
        let hint = listed.iter().filter(is_balance).find(|hint| hint.is(log, wallet))?;
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
