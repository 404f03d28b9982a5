//! Comet (Compound v3): one borrowable asset per market, and no events for borrowing and repaying it. A market logs the
//! supply or withdrawal of an amount of the base asset, and in the next log how much of it changed the supply; the rest
//! changed the debt. If no such log follows, the receipt proves that none was left out.
//!
//! A transfer of a position counts as a withdrawal by the sender and a supply by the receiver. No log shows debt that a
//! transfer of the base asset creates or repays. The other wallet's log next to it often does ([`transfers`]). If not,
//! the amounts do not add up to the position, which lowers the coverage until old state shows the borrowing or the
//! repayment ([`unlogged`]).

mod position;
mod principal;
mod split;
mod transfers;
mod unlogged;

use alloy::{
    primitives::{I256, U256, b256},
    rpc::types::Log,
};
use futures::{FutureExt, future::BoxFuture};

use crate::{
    config::MarketConfig,
    history::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::{Move, address_at, amount_at},
    },
    protocols::{EventKind, Evidence, FoundTerms, LendingProtocol, Obstacle, Quest, Signature, Unlogged, boxed},
};
use assay_domain::{Address, B256};
use assay_evm::{Block, Client};
use position::Terms;

#[derive(Debug)]
pub(crate) struct Comet;

impl LendingProtocol for Comet {
    fn family(&self) -> &'static str {
        "comet"
    }

    fn look_up<'a>(&self, client: &'a Client, markets: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        let markets: Vec<_> = markets.iter().map(|market| market.address).collect();
        async move { Ok(boxed(Terms::look_up(client, &markets, at.hash).await?)) }.boxed()
    }

    fn signatures(&self) -> &'static [Signature] {
        SIGNATURES
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        let read = read(&evidence.own, wallet).into_iter();
        let logged = read.flat_map(|read| read.kinds.into_iter().flatten().map(move |kind| (kind, read.log)));
        let debts = transfers::debts(&evidence.receipts, wallet).into_iter().map(|(kind, _, log)| (kind, log));
        in_order(logged.chain(debts))
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        let logged = read(&evidence.own, wallet).into_iter().filter_map(|read| Some((read.moved?, read.log)));
        let debts = transfers::debts(&evidence.receipts, wallet).into_iter().map(|(_, moved, log)| (moved, log));
        in_order(logged.chain(debts))
    }

    fn is_explained(&self, _: &Hint, log: &Log, _: B256, own: &[&Log], _: &[&Log]) -> bool {
        !transfers::is_transfer(log, own)
    }

    /// Supplies that look like repayments and withdrawals that look like borrowings, because no log of supply follows.
    fn unsettled<'a>(&self, own: &[&'a Log], wallet: B256) -> Vec<&'a Log> {
        read(own, wallet).into_iter().filter(|read| read.lacks_a_part).map(|read| read.log).collect()
    }

    fn logs_its_traces(&self) -> bool {
        true
    }

    fn adds_up(&self, _: &[Hint]) -> bool {
        true
    }

    fn changes_without_logs(&self) -> bool {
        true
    }

    fn incomplete<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(I256, &'a Log)> {
        transfers::incomplete(&evidence.receipts, wallet)
    }

    fn unlogged<'a>(&self, quest: Quest<'a>) -> BoxFuture<'a, Result<Unlogged, Obstacle>> {
        unlogged::find(quest).boxed()
    }
}

const SUPPLY: B256 = b256!("0xd1cf3d156d5f8f0d50f6c122ed609cec09d35c9b9fb3fff6ea0959134dae424e");
const WITHDRAW: B256 = b256!("0x9b1bfa7fa9ee420a16e124f794c35ac9f90472acc99140eb2f6447c714cad8eb");
const SUPPLY_COLLATERAL: B256 = b256!("0xfa56f7b24f17183d81894d3ac2ee654e3c26388d17a28dbd9549b8114304e1f4");
const WITHDRAW_COLLATERAL: B256 = b256!("0xd6d480d5b3068db003533b170d67561494d72e3bf9fa40a266471351ebba9e16");
const TRANSFER_COLLATERAL: B256 = b256!("0x29db89d45e1a802b4d55e202984fce9faf1d30aedf86503ff1ea0ed9ebb64201");
const ABSORB_DEBT: B256 = b256!("0x1547a878dc89ad3c367b6338b4be6a65a5dd74fb77ae044da1e8747ef1f4f62f");
const ABSORB_COLLATERAL: B256 = b256!("0x9850ab1af75177e4a9201c65a2cf7976d5d28e40ef63494b44366f86b2f9412e");

/// The owner is `dst` of a supply, `src` of a withdrawal, `borrower` of an absorption, and either side of a transfer.
/// The collateral that an absorption seizes has separate logs, which count as amounts but not as events.
const SIGNATURES: &[Signature] = &[
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
struct Reading<'a> {
    log: &'a Log,
    kinds: [Option<EventKind>; 2],
    moved: Option<Move>,
    /// It counts as debt only because no log of supply follows it.
    lacks_a_part: bool,
}

/// The events and amounts of `wallet` in `logs`, checked logs of one market in chain order. A supply that also repays
/// is two events, and so is a withdrawal that also borrows; either is one amount of the base asset. An amount of zero
/// is not an event.
fn read<'a>(logs: &[&'a Log], wallet: B256) -> Vec<Reading<'a>> {
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
        found.push(Reading { log, kinds: [debt, position], moved: action.moved(log), lacks_a_part });
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
fn hints(market: Address) -> Vec<Hint> {
    [1, 2].map(|topic| Hint { contract: market, topic0: TRANSFER, naming: Naming::At(topic), explained_by: &[] }).into()
}

fn in_order<'a, T>(found: impl Iterator<Item = (T, &'a Log)>) -> Vec<(T, &'a Log)> {
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(_, log)| (log.block_number, log.log_index));
    found
}

/// Whether `next` is the very next log of the same transaction.
fn follows(log: &Log, next: &Log) -> bool {
    log.block_hash == next.block_hash
        && log.transaction_hash == next.transaction_hash
        && log.log_index.and_then(|index| index.checked_add(1)) == next.log_index
}

#[cfg(test)]
mod tests;
