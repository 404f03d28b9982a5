//! The features of one lending market: counts, events, dollars and the position.

use super::exact;
use crate::{ChainId, Coverage, EventKind, ExposureClass};

/// Maximum number of events per market in the features.
pub const MOST_EVENTS: usize = 200;

/// One lending market on one chain. A count is `None` if it is not collected.
///
/// The fields after `borrowed_usd` may be absent in JSON, which means unread.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarketFeatures {
    pub chain_id: ChainId,
    /// One of the names of [`crate::Protocol`], or any other lender in a features file.
    pub protocol: String,
    pub market: Option<String>,
    /// Coverage of the counts and times.
    pub coverage: Coverage,
    pub feeds_score: bool,
    pub supply: Option<u64>,
    pub withdraw: Option<u64>,
    pub borrow: Option<u64>,
    pub repay: Option<u64>,
    pub liquidation: Option<u64>,
    pub first_event: Option<u64>,
    pub last_event: Option<u64>,
    pub last_liquidation: Option<u64>,
    #[serde(with = "exact")]
    pub supplied_usd: f64,
    #[serde(with = "exact")]
    pub borrowed_usd: f64,
    /// Coverage of `events`, `dollars` and `liquidation_days`.
    #[serde(default = "unread", skip_serializing_if = "is_unread")]
    pub events_coverage: Coverage,
    /// Newest first, at most [`MOST_EVENTS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<LendingEvent>,
    #[serde(default, skip_serializing_if = "Dollars::is_unread")]
    pub dollars: Dollars,
    /// Distinct UTC days with a liquidation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liquidation_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<PositionFeatures>,
}

/// One event of the wallet.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LendingEvent {
    pub time: u64,
    pub kind: EventKind,
    /// Dollars at that time; `None` for an asset that does not follow the dollar. For a liquidation, the repaid debt.
    #[serde(with = "exact::optional", default)]
    pub usd: Option<f64>,
    /// `None` if the asset is unknown.
    pub class: Option<ExposureClass>,
}

/// Dollars by kind of event; `None` if those of one event are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dollars {
    #[serde(with = "exact::optional", default)]
    pub supply: Option<f64>,
    #[serde(with = "exact::optional", default)]
    pub withdraw: Option<f64>,
    #[serde(with = "exact::optional", default)]
    pub borrow: Option<f64>,
    #[serde(with = "exact::optional", default)]
    pub repay: Option<f64>,
    #[serde(with = "exact::optional", default)]
    pub liquidation: Option<f64>,
}

impl Dollars {
    pub const UNREAD: Self = Self { supply: None, withdraw: None, borrow: None, repay: None, liquidation: None };

    pub fn is_unread(&self) -> bool {
        *self == Self::UNREAD
    }

    pub fn of(&self, kind: EventKind) -> Option<f64> {
        match kind {
            EventKind::Supply => self.supply,
            EventKind::Withdraw => self.withdraw,
            EventKind::Borrow => self.borrow,
            EventKind::Repay => self.repay,
            EventKind::Liquidation => self.liquidation,
        }
    }
}

/// The wallet's position in the market.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionFeatures {
    /// `Partial` if a field that is `None` was not read.
    pub coverage: Coverage,
    /// The deposits that secure the debt, by class.
    pub collateral: Vec<Exposure>,
    pub debt: Vec<Exposure>,
    /// The mean over the collateral, 0 to 1; `None` without collateral.
    #[serde(with = "exact::optional", default)]
    pub liquidation_threshold: Option<f64>,
    /// Collateral times threshold over debt; `None` without debt.
    #[serde(with = "exact::optional", default)]
    pub health_factor: Option<f64>,
    /// Debt over all deposits; `None` without deposits.
    #[serde(with = "exact::optional", default)]
    pub utilisation: Option<f64>,
}

impl PositionFeatures {
    /// A position that could not be read.
    pub const UNREAD: Self = Self {
        coverage: Coverage::Failed,
        collateral: Vec::new(),
        debt: Vec::new(),
        liquidation_threshold: None,
        health_factor: None,
        utilisation: None,
    };
}

/// Dollars of one class.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exposure {
    pub class: ExposureClass,
    #[serde(with = "exact")]
    pub usd: f64,
}

impl MarketFeatures {
    /// Every figure that is not a whole number.
    pub fn figures(&self) -> impl Iterator<Item = f64> + '_ {
        let Dollars { supply, withdraw, borrow, repay, liquidation } = self.dollars;
        let dollars = [supply, withdraw, borrow, repay, liquidation].into_iter().flatten();
        let events = self.events.iter().filter_map(|event| event.usd);
        let position = self.position.iter().flat_map(|position| {
            let exposures = position.collateral.iter().chain(&position.debt).map(|exposure| exposure.usd);
            let shares = [position.liquidation_threshold, position.health_factor, position.utilisation];
            exposures.chain(shares.into_iter().flatten())
        });
        [self.supplied_usd, self.borrowed_usd].into_iter().chain(dollars).chain(events).chain(position)
    }
}

fn unread() -> Coverage {
    Coverage::Failed
}

fn is_unread(coverage: &Coverage) -> bool {
    *coverage == Coverage::Failed
}
