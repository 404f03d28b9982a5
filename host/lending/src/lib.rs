//! Lending: which logs tell of a wallet's events in a market, what they mean, and what the wallet has there now. One
//! folder or file per protocol; everything protocols share is here or in the reader.

pub mod aave;
pub mod comet;
pub mod config;
mod crosscheck;
pub mod ctoken;
mod events;
mod fetch;
pub mod fuzz;
mod hints;
mod jobs;
mod ledger;
mod pass;
mod plan;
pub mod progress;
mod reader;
mod receipts;
mod records;
mod standing;
mod sums;
mod tally;
mod terms;

use alloy::rpc::types::Log;

use crate::config::MarketConfig;
use assay_domain::{B256, EventCounts, Protocol};
use events::Evidence;
use hints::Hint;
use sums::Move;

pub use crosscheck::{AllSums, State, cross_check};
pub use hints::hints;
pub use jobs::{Jobs, Rest};
pub use ledger::failed_pool;
pub use reader::{Reader, Recent};
pub use standing::Standing;
pub use terms::{AllTerms, MarketTerms, TermsBook};

/// How a protocol's history and positions are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lender {
    AaveV2,
    AaveV3,
    Comet,
    /// Compound v2.
    CToken,
}

/// A configured market with its reader.
#[derive(Debug, Clone)]
pub struct Market {
    pub lender: Lender,
    pub config: MarketConfig,
}

/// A log that a market emits about a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    pub topic0: B256,
    /// Which topic names the wallet: 1 to 3.
    pub wallet_at: usize,
}

/// What happened to a wallet's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    Supply,
    Withdraw,
    Borrow,
    Repay,
    Liquidation,
}

impl Lender {
    pub fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::LenderAV2 => Self::AaveV2,
            Protocol::LenderAV3 => Self::AaveV3,
            Protocol::LenderBV2 => Self::CToken,
            Protocol::LenderBV3 => Self::Comet,
        }
    }

    /// The logs to ask for.
    fn signatures(self) -> &'static [Signature] {
        match self {
            Self::AaveV2 => aave::SIGNATURES_V2,
            Self::AaveV3 => aave::SIGNATURES_V3,
            Self::Comet => comet::SIGNATURES,
            // All that concerns a wallet is found by hints.
            Self::CToken => &[],
        }
    }

    /// Counts before anything is read: `None` for an event type that this protocol's logs do not tell.
    fn no_events(self) -> EventCounts {
        match self {
            Self::AaveV2 | Self::AaveV3 | Self::Comet => EventCounts::ZERO,
            Self::CToken => EventCounts { supply: None, withdraw: None, ..EventCounts::ZERO },
        }
    }

    /// The events of `wallet` in one market, in the order of the chain. All of a span is given because some protocols
    /// tell one event by several logs of a transaction.
    fn events<'a>(self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        match self {
            Self::AaveV2 | Self::AaveV3 => aave::events(evidence, wallet),
            Self::Comet => comet::events(&evidence.own, wallet),
            Self::CToken => ctoken::events(&evidence.receipts, wallet),
        }
    }

    /// The amounts that the same logs moved of `wallet`'s position, in the order of the chain.
    fn moves<'a>(self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        match self {
            Self::AaveV2 | Self::AaveV3 => aave::moves(evidence, wallet),
            Self::Comet => comet::moves(&evidence.own, wallet),
            // Supplies and withdrawals are not collected.
            Self::CToken => Vec::new(),
        }
    }

    /// Whether each trace that the contracts keep of a wallet came with a log. Rewards of Aave v2 that were asked for
    /// without ever having had anything did not, nor did debts of Compound v2 that nothing points at.
    fn logs_its_traces(self) -> bool {
        match self {
            Self::AaveV3 | Self::Comet => true,
            Self::AaveV2 | Self::CToken => false,
        }
    }

    /// Whether all that moves a position is told, so that amounts can be held against it. Of a pool it is where its
    /// aTokens are known.
    fn adds_up(self, hints: &[Hint]) -> bool {
        match self {
            Self::AaveV2 | Self::AaveV3 => !hints.is_empty(),
            Self::Comet => true,
            Self::CToken => false,
        }
    }
}
