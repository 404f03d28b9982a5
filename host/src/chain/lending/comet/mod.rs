//! Comet (Compound v3): one borrowable asset per market, and no events for borrowing and repaying it. A market tells that
//! somebody supplied or withdrew so much of the base asset, and in the log right after how much of it was supply; what is left
//! was debt.
//!
//! A transfer of a position is a withdrawal of the one and a supply of the other, as if it had been done by these two calls.
//! Not told by any log: debt that a transfer of the base asset makes or repays. A debt without a borrowing is found by the
//! position, and lowers the coverage.

mod positions;
mod split;

use alloy::{
    primitives::{U256, b256},
    rpc::types::Log,
};

use super::{EventKind, Signature};
use crate::domain::B256;

pub(super) use positions::Terms;

const SUPPLY: B256 = b256!("0xd1cf3d156d5f8f0d50f6c122ed609cec09d35c9b9fb3fff6ea0959134dae424e");
const WITHDRAW: B256 = b256!("0x9b1bfa7fa9ee420a16e124f794c35ac9f90472acc99140eb2f6447c714cad8eb");
pub(super) const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
const SUPPLY_COLLATERAL: B256 = b256!("0xfa56f7b24f17183d81894d3ac2ee654e3c26388d17a28dbd9549b8114304e1f4");
const WITHDRAW_COLLATERAL: B256 = b256!("0xd6d480d5b3068db003533b170d67561494d72e3bf9fa40a266471351ebba9e16");
const TRANSFER_COLLATERAL: B256 = b256!("0x29db89d45e1a802b4d55e202984fce9faf1d30aedf86503ff1ea0ed9ebb64201");
const ABSORB_DEBT: B256 = b256!("0x1547a878dc89ad3c367b6338b4be6a65a5dd74fb77ae044da1e8747ef1f4f62f");

/// The owner is `dst` of a supply, `src` of a withdrawal, `borrower` of an absorption, and either side of a transfer. The
/// collateral that an absorption seizes has events of its own, which say nothing more.
pub(super) const SIGNATURES: &[Signature] = &[
    Signature { topic0: SUPPLY, wallet_at: 2 },
    Signature { topic0: SUPPLY_COLLATERAL, wallet_at: 2 },
    Signature { topic0: ABSORB_DEBT, wallet_at: 2 },
    Signature { topic0: TRANSFER, wallet_at: 2 },
    Signature { topic0: TRANSFER_COLLATERAL, wallet_at: 2 },
    Signature { topic0: WITHDRAW, wallet_at: 1 },
    Signature { topic0: WITHDRAW_COLLATERAL, wallet_at: 1 },
    Signature { topic0: TRANSFER, wallet_at: 1 },
    Signature { topic0: TRANSFER_COLLATERAL, wallet_at: 1 },
];

/// What a log says of the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Supply(U256),
    Withdraw(U256),
    SupplyCollateral(U256),
    WithdrawCollateral(U256),
    Absorbed,
    /// Base supply that appears, as the part of a supply that is no repayment.
    Minted(U256),
    /// Base supply that disappears, as the part of a withdrawal that is no borrowing.
    Burnt(U256),
}

/// The events of `wallet` in checked logs of one market, in the order of the chain. A supply that also repays is both, and so is
/// a withdrawal that also borrows. Amounts of nothing are not events.
pub(super) fn events<'a>(logs: &[&'a Log], wallet: B256) -> Vec<(EventKind, &'a Log)> {
    let mut found = Vec::new();
    let mut logs = logs.iter().filter_map(|log| Some((told(log, wallet)?, *log))).peekable();
    while let Some((told, log)) = logs.next() {
        let mut neighbour = |wanted: fn(Told) -> Option<U256>| {
            let amount = logs.peek().filter(|(_, next)| follows(log, next)).and_then(|(told, _)| wanted(*told));
            if amount.is_some() {
                logs.next();
            }
            amount.unwrap_or_default()
        };
        let minted = |told| if let Told::Minted(amount) = told { Some(amount) } else { None };
        let burnt = |told| if let Told::Burnt(amount) = told { Some(amount) } else { None };
        let (position, debt) = match told {
            Told::Supply(amount) => {
                let parts = split::split(amount, neighbour(minted));
                (parts.supply.then_some(EventKind::Supply), parts.debt.then_some(EventKind::Repay))
            }
            Told::Withdraw(amount) => {
                let parts = split::split(amount, neighbour(burnt));
                (parts.supply.then_some(EventKind::Withdraw), parts.debt.then_some(EventKind::Borrow))
            }
            Told::Absorbed => {
                // What is left of the collateral after the debt is given back as base supply, which nobody supplied.
                neighbour(minted);
                (None, Some(EventKind::Liquidation))
            }
            Told::SupplyCollateral(amount) | Told::Minted(amount) => ((!amount.is_zero()).then_some(EventKind::Supply), None),
            Told::WithdrawCollateral(amount) | Told::Burnt(amount) => ((!amount.is_zero()).then_some(EventKind::Withdraw), None),
        };
        found.extend([debt, position].into_iter().flatten().map(|kind| (kind, log)));
    }
    found
}

fn told(log: &Log, wallet: B256) -> Option<Told> {
    let [signature, from, to, ..] = *log.topics() else { return None };
    let amount = |word: usize| {
        let start = word.checked_mul(32)?;
        log.data().data.get(start..start.checked_add(32)?).and_then(U256::try_from_be_slice)
    };
    match signature {
        SUPPLY => Some(Told::Supply(amount(0)?)),
        WITHDRAW => Some(Told::Withdraw(amount(0)?)),
        SUPPLY_COLLATERAL => Some(Told::SupplyCollateral(amount(0)?)),
        WITHDRAW_COLLATERAL => Some(Told::WithdrawCollateral(amount(0)?)),
        ABSORB_DEBT => Some(Told::Absorbed),
        // To oneself: the market refuses it, and it would move nothing.
        TRANSFER_COLLATERAL if from == to => None,
        TRANSFER_COLLATERAL if from == wallet => Some(Told::WithdrawCollateral(amount(0)?)),
        TRANSFER_COLLATERAL => Some(Told::SupplyCollateral(amount(0)?)),
        TRANSFER if from.is_zero() && to == wallet => Some(Told::Minted(amount(0)?)),
        TRANSFER if from == wallet && to.is_zero() => Some(Told::Burnt(amount(0)?)),
        _ => None,
    }
}

/// Whether `next` is the very next log of the same transaction.
fn follows(log: &Log, next: &Log) -> bool {
    log.block_hash == next.block_hash
        && log.transaction_hash == next.transaction_hash
        && log.log_index.and_then(|index| index.checked_add(1)) == next.log_index
}

#[cfg(test)]
mod tests;
