//! The features that a model receives about a subject, derived from a snapshot. Pure: no I/O, no clock, no address.
//!
//! In JSON, the names are those of the WIT record with underscores. An optional field that is absent or `null` is
//! `None`. An unknown name is an error.

mod change;
mod derive;
pub mod exact;
mod figures;
mod lending;
mod liquidation;
mod stress;

use crate::{AssetClass, ChainId, Coverage};

pub use change::{
    Change, ChangeError, MOST_DAYS, MarketAmount, MarketName, PriceMove, Priced, TokenName, TokenPositions,
};
pub use derive::features;
pub use figures::{FIGURES, Figure, figures};
pub use lending::{Dollars, Exposure, LendingEvent, MOST_EVENTS, MarketFeatures, PositionFeatures};
pub use liquidation::buffer_percent;
pub use stress::DebtAtRisk;

/// The host's form of the WIT record `features`: Unix seconds in UTC, US dollars, EIP-155 chain ids.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// The moment the features describe.
    pub as_of: u64,
    pub chains: Vec<ChainFeatures>,
    pub markets: Vec<MarketFeatures>,
    /// At most one entry per class, in the order of [`AssetClass`].
    pub holdings: Vec<Holding>,
    pub identity: Vec<AttestationFeature>,
}

impl Features {
    /// Every figure that is not a whole number.
    pub fn figures(&self) -> impl Iterator<Item = f64> + '_ {
        let chains = self.chains.iter().flat_map(|chain| [chain.assets_usd, chain.supplied_usd, chain.borrowed_usd]);
        let markets = self.markets.iter().flat_map(MarketFeatures::figures);
        let holdings = self.holdings.iter().map(|holding| holding.usd);
        chains.chain(markets).chain(holdings).chain(self.identity.iter().filter_map(|one| one.score))
    }
}

/// One chain on which the address was looked up.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainFeatures {
    pub chain_id: ChainId,
    pub coverage: Coverage,
    pub first_transaction: Option<u64>,
    pub last_transaction: Option<u64>,
    pub transactions: u64,
    pub transfers: Option<u64>,
    pub counterparties: Option<u32>,
    pub active_days: Option<u32>,
    pub active_hours: Option<u32>,
    pub median_gap: Option<u64>,
    #[serde(with = "exact")]
    pub assets_usd: f64,
    #[serde(with = "exact")]
    pub supplied_usd: f64,
    #[serde(with = "exact")]
    pub borrowed_usd: f64,
}

/// Everything held in one class of asset, over all chains.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holding {
    pub class: AssetClass,
    #[serde(with = "exact")]
    pub usd: f64,
    pub assets: u32,
}

/// An attestation that was valid at `as_of`.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttestationFeature {
    pub provider: String,
    pub issued: Option<u64>,
    pub expires: Option<u64>,
    #[serde(with = "exact::optional", default)]
    pub score: Option<f64>,
}
