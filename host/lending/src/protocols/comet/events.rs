//! The events of a market, and what each log, or a log and the next one, changes.

use alloy::{primitives::U256, rpc::types::Log, sol, sol_types::SolEvent};

use super::split;
use crate::{
    figures::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::{Move, address_at, amount_at},
    },
    protocols::{EventKind, Signature},
};
use assay_domain::{Address, B256};

sol! {
    event Supply(address indexed from, address indexed dst, uint256 amount);
    event Withdraw(address indexed src, address indexed to, uint256 amount);
    event SupplyCollateral(address indexed from, address indexed dst, address indexed asset, uint256 amount);
    event WithdrawCollateral(address indexed src, address indexed to, address indexed asset, uint256 amount);
    event TransferCollateral(address indexed from, address indexed to, address indexed asset, uint256 amount);
    event AbsorbDebt(address indexed absorber, address indexed borrower, uint256 basePaidOut, uint256 usdValue);
    event AbsorbCollateral(
        address indexed absorber, address indexed borrower, address indexed asset, uint256 collateralAbsorbed,
        uint256 usdValue);
}

pub(super) const SUPPLY: B256 = Supply::SIGNATURE_HASH;
pub(super) const WITHDRAW: B256 = Withdraw::SIGNATURE_HASH;
const SUPPLY_COLLATERAL: B256 = SupplyCollateral::SIGNATURE_HASH;
const WITHDRAW_COLLATERAL: B256 = WithdrawCollateral::SIGNATURE_HASH;
pub(super) const TRANSFER_COLLATERAL: B256 = TransferCollateral::SIGNATURE_HASH;
pub(super) const ABSORB_DEBT: B256 = AbsorbDebt::SIGNATURE_HASH;
pub(super) const ABSORB_COLLATERAL: B256 = AbsorbCollateral::SIGNATURE_HASH;

/// The owner is `dst` of a supply, `src` of a withdrawal, `borrower` of an absorption, and either side of a transfer.
/// The collateral that an absorption seizes has separate logs, which count as amounts but not as events.
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

/// What a log shows about the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Supply(U256),
    Withdraw(U256),
    SupplyCollateral(U256),
    WithdrawCollateral(U256),
    /// Debt that the market absorbed completely.
    Absorbed(U256),
    /// Collateral that the market took in return.
    Seized(U256),
    /// New base supply: the part of a supply that does not repay.
    Minted(U256),
    /// Removed base supply: the part of a withdrawal that is not borrowed.
    Burnt(U256),
}

/// The events and the amount in a log, or in a log and the next one.
pub(super) struct CometReading<'a> {
    pub log: &'a Log,
    pub kinds: [Option<EventKind>; 2],
    pub moved: Option<Move>,
    /// It counts as debt only because no log of supply follows it.
    pub lacks_a_part: bool,
}

/// The events and amounts of `wallet` in `logs`, checked logs of one market in chain order. A supply that also repays
/// is two events, and so is a withdrawal that also borrows; either is one amount of the base asset. An amount of zero
/// is not an event.
pub(super) fn read<'a>(logs: &[&'a Log], wallet: B256) -> Vec<CometReading<'a>> {
    let mut found = Vec::new();
    let mut logs = logs.iter().filter_map(|log| Some((action(log, wallet)?, *log))).peekable();
    while let Some((action, log)) = logs.next() {
        let mut neighbour = |amount: U256, wanted: fn(Action) -> Option<U256>| {
            let next = logs.peek().filter(|(_, next)| follows(log, next)).and_then(|(action, _)| wanted(*action));
            let part = next.filter(|part| split::is_part(amount, *part));
            if part.is_some() {
                logs.next();
            }
            part
        };
        let minted = |action| if let Action::Minted(amount) = action { Some(amount) } else { None };
        let burnt = |action| if let Action::Burnt(amount) = action { Some(amount) } else { None };
        let mut lacks_a_part = false;
        let (position, debt) = match action {
            Action::Supply(amount) => {
                let part = neighbour(amount, minted);
                let parts = split::split(amount, part.unwrap_or_default());
                lacks_a_part = part.is_none() && parts.debt;
                (parts.supply.then_some(EventKind::Supply), parts.debt.then_some(EventKind::Repay))
            }
            Action::Withdraw(amount) => {
                let part = neighbour(amount, burnt);
                let parts = split::split(amount, part.unwrap_or_default());
                lacks_a_part = part.is_none() && parts.debt;
                (parts.supply.then_some(EventKind::Withdraw), parts.debt.then_some(EventKind::Borrow))
            }
            Action::Absorbed(amount) => {
                // The market returns the rest of the collateral as base supply, which does not count as a supply by the
                // wallet.
                neighbour(amount, minted);
                (None, Some(EventKind::Liquidation))
            }
            Action::Seized(_) => (None, None),
            Action::SupplyCollateral(amount) | Action::Minted(amount) => {
                ((!amount.is_zero()).then_some(EventKind::Supply), None)
            }
            Action::WithdrawCollateral(amount) | Action::Burnt(amount) => {
                ((!amount.is_zero()).then_some(EventKind::Withdraw), None)
            }
        };
        found.push(CometReading { log, kinds: [debt, position], moved: action.moved(log), lacks_a_part });
    }
    found
}

impl Action {
    fn moved(self, log: &Log) -> Option<Move> {
        // A market has one base asset, so no address is needed.
        let base = Address::ZERO;
        Some(match self {
            Self::Supply(amount) | Self::Minted(amount) | Self::Absorbed(amount) => {
                Move::gain(Side::Base, base, amount)
            }
            Self::Withdraw(amount) | Self::Burnt(amount) => Move::loss(Side::Base, base, amount),
            Self::SupplyCollateral(amount) => Move::gain(Side::Collateral, address_at(log, 3)?, amount),
            Self::WithdrawCollateral(amount) | Self::Seized(amount) => {
                Move::loss(Side::Collateral, address_at(log, 3)?, amount)
            }
        })
    }
}

fn action(log: &Log, wallet: B256) -> Option<Action> {
    let [signature, from, to, ..] = *log.topics() else { return None };
    let amount = |place| amount_at(log, place);
    match signature {
        SUPPLY => Some(Action::Supply(amount(0)?)),
        WITHDRAW => Some(Action::Withdraw(amount(0)?)),
        SUPPLY_COLLATERAL => Some(Action::SupplyCollateral(amount(0)?)),
        WITHDRAW_COLLATERAL => Some(Action::WithdrawCollateral(amount(0)?)),
        ABSORB_DEBT => Some(Action::Absorbed(amount(0)?)),
        ABSORB_COLLATERAL => Some(Action::Seized(amount(0)?)),
        // The market refuses transfers to the sender itself; they would move nothing.
        TRANSFER_COLLATERAL if from == to => None,
        TRANSFER_COLLATERAL if from == wallet => Some(Action::WithdrawCollateral(amount(0)?)),
        TRANSFER_COLLATERAL => Some(Action::SupplyCollateral(amount(0)?)),
        TRANSFER if from.is_zero() && to == wallet => Some(Action::Minted(amount(0)?)),
        TRANSFER if from == wallet && to.is_zero() => Some(Action::Burnt(amount(0)?)),
        _ => None,
    }
}

/// The hints of a market: its own logs of supply that appears or disappears, which may belong to a transfer.
pub(super) fn hints(market: Address) -> Vec<Hint> {
    [1, 2]
        .map(|topic| Hint { contract: market.into(), topic0: TRANSFER, naming: Naming::At(topic), explained_by: &[] })
        .into()
}

pub(super) fn in_order<'a, T>(found: impl Iterator<Item = (T, &'a Log)>) -> Vec<(T, &'a Log)> {
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(_, log)| (log.block_number, log.log_index));
    found
}

/// Whether `next` is the very next log of the same transaction.
pub(super) fn follows(log: &Log, next: &Log) -> bool {
    log.block_hash == next.block_hash
        && log.transaction_hash == next.transaction_hash
        && log.log_index.and_then(|index| index.checked_add(1)) == next.log_index
}

#[cfg(test)]
pub(super) mod tests;
