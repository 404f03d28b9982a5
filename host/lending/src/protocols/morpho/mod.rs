//! Morpho Blue: one contract with many markets, each identified by an id. Anybody can create one. A market lends one
//! token against another. The markets of a wallet are those that its logs name. Each log that changes a position names
//! its owner and the number of deposit or debt shares. So the sum of a wallet's shares is
//! exactly its position, and the position shows every missing log except one: the only log of the wallet in a market.
//! This log is requested from another endpoint, if there is one.
//!
//! A liquidation may also write off debt that the collateral does not cover. It is one event, for the debt that was
//! repaid.

mod math;
mod position;
mod terms;

use alloy::{
    primitives::{I256, U256, b256},
    rpc::types::Log,
};
use futures::FutureExt;

use crate::{
    asset::Asset,
    config::MarketConfig,
    history::{
        hints::Hint,
        record::Side,
        sums::{Move, amount_at, signed},
    },
    protocols::{EventKind, Evidence, FoundTerms, LendingProtocol, Signature, boxed},
};
use assay_domain::B256;
use assay_evm::{Block, Client};
use terms::Terms;

#[derive(Debug)]
pub(crate) struct MorphoBlue;

impl LendingProtocol for MorphoBlue {
    fn family(&self) -> &'static str {
        "morpho"
    }

    fn look_up<'a>(&self, client: &'a Client, markets: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        let contracts: Vec<_> = markets.iter().map(|market| market.address).collect();
        async move { Ok(boxed(Terms::look_up(client, &contracts, at.hash).await?)) }.boxed()
    }

    fn signatures(&self) -> &'static [Signature] {
        SIGNATURES
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        let own = evidence.own.iter().filter(|log| is_own(log, wallet));
        own.filter_map(|log| Some((read(log)?.kind?, *log))).collect()
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        let own = evidence.own.iter().filter(|log| is_own(log, wallet));
        own.flat_map(|log| read(log).into_iter().flat_map(|read| read.moves).map(|moved| (moved, *log))).collect()
    }

    fn names_its_parts(&self) -> bool {
        true
    }

    fn adds_up(&self, _: &[Hint]) -> bool {
        true
    }
}

const SUPPLY: B256 = b256!("0xedf8870433c83823eb071d3df1caa8d008f12f6440918c20d75a3602cda30fe0");
const WITHDRAW: B256 = b256!("0xa56fc0ad5702ec05ce63666221f796fb62437c32db1aa1aa075fc6484cf58fbf");
const BORROW: B256 = b256!("0x570954540bed6b1304a87dfe815a5eda4a648f7097a16240dcd85c9b5fd42a43");
const REPAY: B256 = b256!("0x52acb05cebbd3cd39715469f22afbf5a17496295ef3bc9bb5944056c63ccaa09");
const SUPPLY_COLLATERAL: B256 = b256!("0xa3b9472a1399e17e123f3c2e6586c23e504184d504de59cdaa2b375e880c6184");
const WITHDRAW_COLLATERAL: B256 = b256!("0xe80ebd7cc9223d7382aab2e0d1d6155c65651f83d53c8b9b06901d167e321142");
const LIQUIDATE: B256 = b256!("0xa4946ede45d0c6f06a0f5ce92c9ad3b4751452d2fe0e25010783bcab57a67e41");

/// The owner is `onBehalf`, and `borrower` of a liquidation. Topic 1 is the id of the market.
const SIGNATURES: &[Signature] = &[
    Signature { topic0: WITHDRAW, wallet_at: 2 },
    Signature { topic0: BORROW, wallet_at: 2 },
    Signature { topic0: WITHDRAW_COLLATERAL, wallet_at: 2 },
    Signature { topic0: SUPPLY, wallet_at: 3 },
    Signature { topic0: REPAY, wallet_at: 3 },
    Signature { topic0: SUPPLY_COLLATERAL, wallet_at: 3 },
    Signature { topic0: LIQUIDATE, wallet_at: 3 },
];

/// Whether `log` changes a position of `wallet`. A receipt also has logs of other wallets.
fn is_own(log: &Log, wallet: B256) -> bool {
    let topics = log.topics();
    SIGNATURES.iter().any(|s| topics.first() == Some(&s.topic0) && topics.get(s.wallet_at) == Some(&wallet))
}

/// The change of its owner's position in one market that a log shows.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    /// `None` for an amount of zero, such as shares worth less than the smallest unit.
    kind: Option<EventKind>,
    moves: Vec<Move>,
}

/// `None` for any other log, and for one without its amounts.
fn read(log: &Log) -> Option<Reading> {
    let [topic0, id, ..] = *log.topics() else { return None };
    let amount = |place| amount_at(log, place);
    let moved = |side, asset, amount: I256| Move { side, asset, amount, fixed_rate: false };
    // The amount of the token, and the shares of the market's total.
    let both = |kind, side, sign: fn(U256) -> I256, place: usize| {
        let (assets, shares) = (amount(place)?, amount(place + 1)?);
        let moves = vec![moved(side, Asset::Market(id), sign(assets)), moved(side, Asset::Shares(id), sign(shares))];
        Some(Reading { kind: Some(kind).filter(|_| !assets.is_zero()), moves })
    };
    let collateral = |kind, sign: fn(U256) -> I256, place| {
        let assets = amount(place)?;
        let moves = vec![moved(Side::Collateral, Asset::Market(id), sign(assets))];
        Some(Reading { kind: Some(kind).filter(|_| !assets.is_zero()), moves })
    };
    match topic0 {
        SUPPLY => both(EventKind::Supply, Side::Supply, signed, 0),
        // The caller, whom no topic names, comes first.
        WITHDRAW => both(EventKind::Withdraw, Side::Supply, negative, 1),
        BORROW => both(EventKind::Borrow, Side::Debt, signed, 1),
        REPAY => both(EventKind::Repay, Side::Debt, negative, 0),
        SUPPLY_COLLATERAL => collateral(EventKind::Supply, signed, 0),
        WITHDRAW_COLLATERAL => collateral(EventKind::Withdraw, negative, 1),
        LIQUIDATE => {
            let (repaid, shares, seized, written_off) = (amount(0)?, amount(1)?, amount(2)?, amount(4)?);
            let moves = vec![
                moved(Side::Debt, Asset::Market(id), negative(repaid)),
                moved(Side::Debt, Asset::Shares(id), negative(shares.saturating_add(written_off))),
                moved(Side::Collateral, Asset::Market(id), negative(seized)),
            ];
            Some(Reading { kind: Some(EventKind::Liquidation), moves })
        }
        _ => None,
    }
}

fn negative(amount: U256) -> I256 {
    signed(amount).saturating_neg()
}

#[cfg(test)]
mod tests;
