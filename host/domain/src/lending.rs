//! Lending: the supported protocol versions, a wallet's events in one market, and its current position there.

use crate::{
    Address, ChainId, Coverage, Time, Unread,
    features::{Dollars, LendingEvent, PositionFeatures},
};

/// A version of a lending protocol. Four have the neutral names of the API contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Protocol {
    /// Aave v2.
    #[serde(rename = "lenderA_v2")]
    LenderAV2,
    /// Aave v3.
    #[serde(rename = "lenderA_v3")]
    LenderAV3,
    /// Compound v2.
    #[serde(rename = "lenderB_v2")]
    LenderBV2,
    /// Compound v3.
    #[serde(rename = "lenderB_v3")]
    LenderBV3,
    #[serde(rename = "morpho_blue")]
    MorphoBlue,
    /// The vaults of Maker, now Sky.
    #[serde(rename = "maker_vaults")]
    MakerVaults,
    /// The vaults and deposits of Fluid, by Instadapp.
    #[serde(rename = "fluid")]
    Fluid,
    #[serde(rename = "euler_v2")]
    EulerV2,
}

impl Protocol {
    pub const ALL: [Self; 8] = [
        Self::LenderAV2,
        Self::LenderAV3,
        Self::LenderBV2,
        Self::LenderBV3,
        Self::MorphoBlue,
        Self::MakerVaults,
        Self::Fluid,
        Self::EulerV2,
    ];

    /// The protocols of the API contract, which a report names even if they have no market.
    pub const OF_CONTRACT: [Self; 4] = [Self::LenderAV2, Self::LenderAV3, Self::LenderBV2, Self::LenderBV3];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::LenderAV2 => "lenderA_v2",
            Self::LenderAV3 => "lenderA_v3",
            Self::LenderBV2 => "lenderB_v2",
            Self::LenderBV3 => "lenderB_v3",
            Self::MorphoBlue => "morpho_blue",
            Self::MakerVaults => "maker_vaults",
            Self::Fluid => "fluid",
            Self::EulerV2 => "euler_v2",
        }
    }

    /// The name by which its users know it.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::LenderAV2 => "Aave v2",
            Self::LenderAV3 => "Aave v3",
            Self::LenderBV2 => "Compound v2",
            Self::LenderBV3 => "Compound v3",
            Self::MorphoBlue => "Morpho Blue",
            Self::MakerVaults => "Maker vaults",
            Self::Fluid => "Fluid",
            Self::EulerV2 => "Euler v2",
        }
    }

    /// Events that no read of the protocol's history finds, without full stops.
    pub fn blind_spots(self) -> &'static [&'static str] {
        match self {
            Self::LenderAV2 | Self::LenderAV3 => &[],
            Self::LenderBV2 => &[
                "debt in ETH before autumn 2021 is found in part",
                "repayments by others before June 2020 are not found",
            ],
            Self::LenderBV3 => &[
                "debt that a transfer of the base asset moved is found only where the other events do not explain the \
                 position",
            ],
            Self::MorphoBlue => &[
                "deposits in a vault belong to the vault and are not shown",
                "shares that the protocol pays as fees are in no event",
            ],
            Self::MakerVaults => &[
                "vaults of a proxy that was built by another wallet and of other vault managers are not found",
                "the collateral and debt of a vault that is moved to another are in no event",
            ],
            Self::Fluid => &[
                "what happened in vaults is not read, only the positions are",
                "positions and deposits of a smart account, and deposits that are staked for rewards, belong to these \
                 contracts and are not shown",
            ],
            Self::EulerV2 => &["shares of vaults that are moved to or from another wallet are in no event"],
        }
    }

    /// Whether positions are read in detail. A position in Compound v2 secures the debts in all of its markets
    /// together, so a single market has no health factor.
    pub fn has_details(self) -> bool {
        self != Self::LenderBV2
    }

    /// Whether a wallet can let another one borrow against its collateral, as the history shows.
    pub fn has_delegations(self) -> bool {
        matches!(self, Self::LenderAV2 | Self::LenderAV3)
    }

    /// Whether the protocol counts in the score, unless its market is configured otherwise. A protocol whose reading is
    /// still being validated is only shown.
    pub fn feeds_score(self) -> bool {
        !matches!(self, Self::LenderBV2 | Self::MorphoBlue | Self::MakerVaults | Self::Fluid | Self::EulerV2)
    }
}

/// A kind of lending event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    Supply,
    Withdraw,
    Borrow,
    Repay,
    Liquidation,
}

impl EventKind {
    pub const ALL: [Self; 5] = [Self::Supply, Self::Withdraw, Self::Borrow, Self::Repay, Self::Liquidation];
}

/// Events by type. `None` if this type is not collected, which differs from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct EventCounts {
    pub supply: Option<u64>,
    pub withdraw: Option<u64>,
    pub borrow: Option<u64>,
    pub repay: Option<u64>,
    pub liquidation: Option<u64>,
}

impl EventCounts {
    /// Counts with every type collected and no event found.
    pub const ZERO: Self =
        Self { supply: Some(0), withdraw: Some(0), borrow: Some(0), repay: Some(0), liquidation: Some(0) };

    /// Adds field by field; a type collected on either side is collected in the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            supply: add(self.supply, other.supply),
            withdraw: add(self.withdraw, other.withdraw),
            borrow: add(self.borrow, other.borrow),
            repay: add(self.repay, other.repay),
            liquidation: add(self.liquidation, other.liquidation),
        }
    }
}

/// A wallet's history in one lending market.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolHistory {
    pub chain_id: ChainId,
    pub protocol: Protocol,
    pub market_address: Address,
    /// `None` if the protocol has one market on the chain.
    pub market: Option<String>,
    pub feeds_score: bool,
    pub coverage: Coverage,
    /// History is complete through this block; `None` before the first read of the market.
    pub synced_to_block: Option<u64>,
    /// All `None` if the coverage is failed.
    pub counts: EventCounts,
    pub first_event_at: Option<Time>,
    pub last_event_at: Option<Time>,
    pub last_liquidation_at: Option<Time>,
    /// Why the last read ended before the head; `None` if it did not.
    pub stopped: Option<String>,
    /// Why the events do not explain the position, without a full stop.
    pub remark: Option<String>,
    /// Single events and their dollars.
    pub events: PoolEvents,
    /// The current position; `None` if a protocol has no such details.
    pub position: Option<PositionFeatures>,
}

/// The newest events of a wallet in one market, and figures over all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolEvents {
    pub coverage: Coverage,
    /// Newest first, at most [`MOST_EVENTS`](crate::features::MOST_EVENTS).
    pub events: Vec<LendingEvent>,
    pub dollars: Dollars,
    /// Distinct UTC days with a liquidation.
    pub liquidation_days: Option<u32>,
}

impl PoolEvents {
    /// Nothing was read.
    pub const UNREAD: Self =
        Self { coverage: Coverage::Failed, events: Vec::new(), dollars: Dollars::UNREAD, liquidation_days: None };
}

impl PoolHistory {
    /// Counts a complete history as partial: it is not known to be complete while it cannot be compared with the
    /// position.
    pub fn lower(&mut self) {
        if self.coverage == Coverage::Complete {
            self.coverage = Coverage::Partial;
        }
    }

    /// The missing part of the history, unless it is complete.
    pub(crate) fn unread(&self) -> Option<Unread> {
        let missing = Unread::history(self.protocol, self.market_address, self.coverage, self.synced_to_block)?;
        let remark = self.remark.as_ref().filter(|_| self.coverage == Coverage::Partial);
        let reason = remark.or(self.stopped.as_ref()).cloned().unwrap_or(missing.reason);
        Some(Unread { reason, ..missing })
    }
}
