//! Comet (Compound v3): one borrowable asset per market, and no events for borrowing and repaying it. A market tells
//! that somebody supplied or withdrew so much of the base asset, and in the log right after how much of it was supply;
//! what is left was debt.
//!
//! A transfer of a position is a withdrawal of the one and a supply of the other, as if it had been done by these two
//! calls. Not told by any log: debt that a transfer of the base asset makes or repays. The amounts then do not add up
//! to the position, which lowers the coverage.

mod positions;
mod split;

use crate::progress::Side;
use alloy::{
    primitives::{U256, b256},
    rpc::types::Log,
};

use crate::{
    EventKind, Signature,
    hints::TRANSFER,
    sums::{Move, named, word},
};
use assay_domain::{Address, B256};

pub(super) use positions::{Terms, ever_held};

const SUPPLY: B256 = b256!("0xd1cf3d156d5f8f0d50f6c122ed609cec09d35c9b9fb3fff6ea0959134dae424e");
const WITHDRAW: B256 = b256!("0x9b1bfa7fa9ee420a16e124f794c35ac9f90472acc99140eb2f6447c714cad8eb");
const SUPPLY_COLLATERAL: B256 = b256!("0xfa56f7b24f17183d81894d3ac2ee654e3c26388d17a28dbd9549b8114304e1f4");
const WITHDRAW_COLLATERAL: B256 = b256!("0xd6d480d5b3068db003533b170d67561494d72e3bf9fa40a266471351ebba9e16");
const TRANSFER_COLLATERAL: B256 = b256!("0x29db89d45e1a802b4d55e202984fce9faf1d30aedf86503ff1ea0ed9ebb64201");
const ABSORB_DEBT: B256 = b256!("0x1547a878dc89ad3c367b6338b4be6a65a5dd74fb77ae044da1e8747ef1f4f62f");
const ABSORB_COLLATERAL: B256 = b256!("0x9850ab1af75177e4a9201c65a2cf7976d5d28e40ef63494b44366f86b2f9412e");

/// The owner is `dst` of a supply, `src` of a withdrawal, `borrower` of an absorption, and either side of a transfer.
/// The collateral that an absorption seizes has logs of its own, which are no events but amounts.
pub(super) const SIGNATURES: &[Signature] = &[
    Signature { topic0: SUPPLY, wallet_at: 2 },
    Signature { topic0: SUPPLY_COLLATERAL, wallet_at: 2 },
    Signature { topic0: ABSORB_DEBT, wallet_at: 2 },
    Signature { topic0: ABSORB_COLLATERAL, wallet_at: 2 },
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
    /// Debt that the market paid, all of it.
    Absorbed(U256),
    /// Collateral that the market took for it.
    Seized(U256),
    /// Base supply that appears, as the part of a supply that is no repayment.
    Minted(U256),
    /// Base supply that disappears, as the part of a withdrawal that is no borrowing.
    Burnt(U256),
}

/// The events of `wallet` in checked logs of one market, in the order of the chain.
pub(super) fn events<'a>(logs: &[&'a Log], wallet: B256) -> Vec<(EventKind, &'a Log)> {
    read(logs, wallet)
        .into_iter()
        .flat_map(|read| read.kinds.into_iter().flatten().map(move |kind| (kind, read.log)))
        .collect()
}

/// The amounts that they moved.
pub(super) fn moves<'a>(logs: &[&'a Log], wallet: B256) -> Vec<(Move, &'a Log)> {
    read(logs, wallet).into_iter().filter_map(|read| Some((read.moved?, read.log))).collect()
}

/// What a log, with the one right after it, tells.
struct Reading<'a> {
    log: &'a Log,
    kinds: [Option<EventKind>; 2],
    moved: Option<Move>,
}

/// What `logs`, checked logs of one market in the order of the chain, tell of `wallet`: events and amounts. A supply
/// that also repays is both, and so is a withdrawal that also borrows; the amount of either is one amount of base.
/// Amounts of nothing are not events.
fn read<'a>(logs: &[&'a Log], wallet: B256) -> Vec<Reading<'a>> {
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
            Told::Absorbed(_) => {
                // What is left of the collateral after the debt is given back as base supply, which nobody supplied.
                neighbour(minted);
                (None, Some(EventKind::Liquidation))
            }
            Told::Seized(_) => (None, None),
            Told::SupplyCollateral(amount) | Told::Minted(amount) => {
                ((!amount.is_zero()).then_some(EventKind::Supply), None)
            }
            Told::WithdrawCollateral(amount) | Told::Burnt(amount) => {
                ((!amount.is_zero()).then_some(EventKind::Withdraw), None)
            }
        };
        found.push(Reading { log, kinds: [debt, position], moved: told.moved(log) });
    }
    found
}

impl Told {
    fn moved(self, log: &Log) -> Option<Move> {
        // A market has one base asset, which need not be named.
        let base = Address::ZERO;
        Some(match self {
            Self::Supply(amount) | Self::Minted(amount) | Self::Absorbed(amount) => {
                Move::gain(Side::Base, base, amount)
            }
            Self::Withdraw(amount) | Self::Burnt(amount) => Move::loss(Side::Base, base, amount),
            Self::SupplyCollateral(amount) => Move::gain(Side::Collateral, named(log, 3)?, amount),
            Self::WithdrawCollateral(amount) | Self::Seized(amount) => {
                Move::loss(Side::Collateral, named(log, 3)?, amount)
            }
        })
    }
}

fn told(log: &Log, wallet: B256) -> Option<Told> {
    let [signature, from, to, ..] = *log.topics() else { return None };
    let amount = |place| word(log, place);
    match signature {
        SUPPLY => Some(Told::Supply(amount(0)?)),
        WITHDRAW => Some(Told::Withdraw(amount(0)?)),
        SUPPLY_COLLATERAL => Some(Told::SupplyCollateral(amount(0)?)),
        WITHDRAW_COLLATERAL => Some(Told::WithdrawCollateral(amount(0)?)),
        ABSORB_DEBT => Some(Told::Absorbed(amount(0)?)),
        ABSORB_COLLATERAL => Some(Told::Seized(amount(0)?)),
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
