//! Aave v2 and v3: five pool events, in which the position's owner is always indexed. A few queries therefore find a
//! wallet's history in all pools of a chain. Most events are the same in both versions; the pool's address tells the
//! version.
//!
//! A supply is a balance of aTokens, which can be transferred without the pool. Their transfers are read together with
//! the pool's events ([`tokens`]):
//! - For a withdrawal through a gateway or an adapter, the wallet first transfers its aTokens there, and the pool then
//!   names the gateway. It counts as a withdrawal of the wallet, found in the transaction's receipt.
//! - A repayment out of aTokens is a repayment, and reduces the supply by the same amount. It does not count as a
//!   withdrawal, because nothing left the pool.
//! - A plain transfer, and one to a liquidator who takes aTokens, changes the supply but is not an event for either
//!   side: the pool had no part in it, and any sender can send dust.
//! - An unbacked mint by a bridge is a supply.
//!
//! The logs of aTokens and debt tokens also show the stored balances ([`scaled`]), which interest does not change. The
//! sum of the logged changes must equal the stored balance, apart from rounding.
//!
//! Not shown by the logs: debt that changes other than by borrowing, repaying, liquidating and writing off (today there
//! is none), flash loans that are repaid within their transaction, and the growth of rebasing tokens.

mod position;
mod scaled;
mod terms;
mod tokens;

use alloy::{
    primitives::{U256, b256},
    rpc::types::Log,
};
use futures::FutureExt;

use crate::{
    config::MarketConfig,
    history::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::{Move, address_at, amount_at},
    },
    protocols::{EventKind, Evidence, FoundTerms, LendingProtocol, Signature, boxed},
};
use assay_domain::{Address, B256};
use assay_evm::{Block, Client};

/// One version of the protocol.
#[derive(Debug)]
pub(crate) struct Aave {
    version: Version,
    signatures: &'static [Signature],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V2,
    V3,
}

pub(crate) static V2: Aave = Aave { version: Version::V2, signatures: SIGNATURES_V2 };
pub(crate) static V3: Aave = Aave { version: Version::V3, signatures: SIGNATURES_V3 };

impl LendingProtocol for Aave {
    fn family(&self) -> &'static str {
        "aave"
    }

    fn look_up<'a>(&self, client: &'a Client, pools: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        async move { Ok(boxed(terms::look_up(client, &pools, at).await?)) }.boxed()
    }

    fn signatures(&self) -> &'static [Signature] {
        self.signatures
    }

    /// Events in which the pool names the wallet, and withdrawals by a receiver of its aTokens.
    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        let own = &evidence.own;
        let mut events: Vec<_> = own.iter().filter_map(|log| Some((event(log)?, *log))).collect();
        events.extend(tokens::withdrawals(evidence, wallet, own).into_iter().map(|log| (EventKind::Withdraw, log)));
        events.sort_by_key(|(_, log)| order(log));
        events
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        let moved = |log: &'a Log| moved(log).unwrap_or_default().into_iter().map(move |amount| (amount, log));
        let mut moves: Vec<_> = evidence.own.iter().flat_map(|log| moved(log)).collect();
        moves
            .extend(evidence.hints.iter().filter_map(|log| Some((tokens::moved(log, evidence.listed, wallet)?, *log))));
        moves.extend(scaled::moves(&evidence.hints, evidence.listed, wallet));
        moves.sort_by_key(|(_, log)| order(log));
        moves
    }

    fn is_explained(&self, hint: &Hint, log: &Log, wallet: B256, own: &[&Log], hinting: &[&Log]) -> bool {
        match hint.naming {
            Naming::Holder(asset) if hint.topic0 == TRANSFER => tokens::is_explained(log, asset, wallet, own, hinting),
            // The transfer next to it decides whether a receipt is needed.
            Naming::Holder(_) | Naming::Balance { side: Side::Supply, .. } => tokens::is_beside(log, hinting),
            Naming::Balance { asset, .. } => own.iter().any(|own| changes_debt(own, asset)),
            Naming::At(_) | Naming::With(_) | Naming::Alias { .. } => hint.is_explained_by(own),
        }
    }

    /// In v2 a wallet without any supply can claim rewards, which leaves a trace but no log.
    fn logs_its_traces(&self) -> bool {
        self.version == Version::V3
    }

    /// Only if the pool's aTokens are known.
    fn adds_up(&self, hints: &[Hint]) -> bool {
        !hints.is_empty()
    }
}

const DEPOSIT_V2: B256 = b256!("0xde6857219544bb5b7746f48ed30be6386fefc61b2f864cacf559893bf50fd951");
const BORROW_V2: B256 = b256!("0xc6a898309e823ee50bac64e45ca8adba6690e99e7841c45d754e2a38e9019d9b");
const REPAY_V2: B256 = b256!("0x4cdde6e09bb755c9a5589ebaec640bbfedff1362d4b255ebf8339782b9942faa");
const SUPPLY_V3: B256 = b256!("0x2b627736bca15cd5381dcf80b0bf11fd197d01a037c52b927a881a10fb73ba61");
const BORROW_V3: B256 = b256!("0xb3d084820fb1a9decffb176436bd02558d15fac9b0ddfed8c465bc7359d7dce0");
const REPAY_V3: B256 = b256!("0xa534c8dbe71f871f9f3530e97a74601fea17b426cae02e1c5aee42c96c784051");
const WITHDRAW: B256 = b256!("0x3115d1449a7b732c986cba18244e897a450f61e1bb8d589cd2e69e6c8924f9f7");
const LIQUIDATION: B256 = b256!("0xe413a321e8681d831f4dbccbca790d2952b56f977908e45be37335533e005286");
/// Supply that a bridge will back later.
const MINT_UNBACKED: B256 = b256!("0xf25af37b3d3ec226063dc9bdc103ece7eb110a50f340fe854bb7bc1b0676d7d0");
/// Debt left without collateral, written off in a liquidation.
const DEFICIT: B256 = b256!("0x2bccfb3fad376d59d7accf970515eb77b2f27b082c90ed0fb15583dd5a942699");

/// The rate mode of debt at a fixed rate.
const STABLE: U256 = U256::from_limbs([1, 0, 0, 0]);

/// The owner is `onBehalfOf` of a deposit or borrow, `user` of the others.
pub(crate) const SIGNATURES_V2: &[Signature] = &[
    Signature { topic0: DEPOSIT_V2, wallet_at: 2 },
    Signature { topic0: WITHDRAW, wallet_at: 2 },
    Signature { topic0: BORROW_V2, wallet_at: 2 },
    Signature { topic0: REPAY_V2, wallet_at: 2 },
    Signature { topic0: LIQUIDATION, wallet_at: 3 },
];

/// The owner is `onBehalfOf` of a supply or borrow, `user` of the others.
pub(crate) const SIGNATURES_V3: &[Signature] = &[
    Signature { topic0: SUPPLY_V3, wallet_at: 2 },
    Signature { topic0: WITHDRAW, wallet_at: 2 },
    Signature { topic0: BORROW_V3, wallet_at: 2 },
    Signature { topic0: REPAY_V3, wallet_at: 2 },
    Signature { topic0: LIQUIDATION, wallet_at: 3 },
    Signature { topic0: MINT_UNBACKED, wallet_at: 2 },
    Signature { topic0: DEFICIT, wallet_at: 1 },
];

fn order(log: &Log) -> (Option<u64>, Option<u64>) {
    (log.block_number, log.log_index)
}

fn event(log: &Log) -> Option<EventKind> {
    match *log.topic0()? {
        DEPOSIT_V2 | SUPPLY_V3 | MINT_UNBACKED => Some(EventKind::Supply),
        WITHDRAW => Some(EventKind::Withdraw),
        BORROW_V2 | BORROW_V3 => Some(EventKind::Borrow),
        REPAY_V2 | REPAY_V3 => Some(EventKind::Repay),
        LIQUIDATION => Some(EventKind::Liquidation),
        _ => None,
    }
}

/// Whether a log of the pool changes a debt in `asset`.
fn changes_debt(log: &Log, asset: Address) -> bool {
    let names = |topic| address_at(log, topic) == Some(asset);
    match log.topic0() {
        Some(&(BORROW_V2 | BORROW_V3 | REPAY_V2 | REPAY_V3)) => names(1),
        Some(&(LIQUIDATION | DEFICIT)) => names(2),
        _ => false,
    }
}

/// The amounts that a log of the pool moved. Collateral that a liquidator takes as aTokens, and the protocol's fee, are
/// in transfers of aTokens instead.
fn moved(log: &Log) -> Option<Vec<Move>> {
    let flag = |place| Some(!amount_at(log, place)?.is_zero());
    Some(match *log.topic0()? {
        DEPOSIT_V2 | SUPPLY_V3 | MINT_UNBACKED => {
            vec![Move::gain(Side::Supply, address_at(log, 1)?, amount_at(log, 1)?)]
        }
        WITHDRAW => vec![Move::loss(Side::Supply, address_at(log, 1)?, amount_at(log, 0)?)],
        BORROW_V2 | BORROW_V3 => {
            let fixed_rate = amount_at(log, 2)? == STABLE;
            vec![Move { fixed_rate, ..Move::gain(Side::Debt, address_at(log, 1)?, amount_at(log, 1)?) }]
        }
        REPAY_V2 => vec![Move::loss(Side::Debt, address_at(log, 1)?, amount_at(log, 0)?)],
        REPAY_V3 => {
            let (asset, amount) = (address_at(log, 1)?, amount_at(log, 0)?);
            let out_of_supply = flag(1)?.then(|| Move::loss(Side::Supply, asset, amount));
            std::iter::once(Move::loss(Side::Debt, asset, amount)).chain(out_of_supply).collect()
        }
        LIQUIDATION => {
            let seized = (!flag(3)?).then_some(Move::loss(Side::Supply, address_at(log, 1)?, amount_at(log, 1)?));
            std::iter::once(Move::loss(Side::Debt, address_at(log, 2)?, amount_at(log, 0)?)).chain(seized).collect()
        }
        DEFICIT => vec![Move::loss(Side::Debt, address_at(log, 2)?, amount_at(log, 0)?)],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use alloy::primitives::keccak256;

    use super::*;

    #[test]
    fn topics_are_the_hashes_of_the_events() {
        for (topic, event) in [
            (DEPOSIT_V2, "Deposit(address,address,address,uint256,uint16)"),
            (BORROW_V2, "Borrow(address,address,address,uint256,uint256,uint256,uint16)"),
            (REPAY_V2, "Repay(address,address,address,uint256)"),
            (SUPPLY_V3, "Supply(address,address,address,uint256,uint16)"),
            (BORROW_V3, "Borrow(address,address,address,uint256,uint8,uint256,uint16)"),
            (REPAY_V3, "Repay(address,address,address,uint256,bool)"),
            (WITHDRAW, "Withdraw(address,address,address,uint256)"),
            (LIQUIDATION, "LiquidationCall(address,address,address,uint256,uint256,address,bool)"),
            (MINT_UNBACKED, "MintUnbacked(address,address,address,uint256,uint16)"),
            (DEFICIT, "DeficitCreated(address,address,uint256)"),
        ] {
            assert_eq!(topic, keccak256(event), "{event}");
        }
    }
}
