//! What many watches show together, in answers and in digests.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    exposure::FALLS,
    portfolio::{Debts, NearBound, Portfolio},
    trigger::Measure,
};
use assay_http::values::{Moment, Usd};

/// Many watches together.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchSummary)]
pub(crate) struct SummaryBody {
    /// Watches that have not ended.
    watches: u64,
    paused: u64,
    /// Watches with a bound that is crossed and has not cleared.
    crossed: u64,
    /// Watches with a value within 10 % of a bound, and none beyond.
    near: u64,
    /// Watches without a value for `watches.stale_after_seconds`.
    stale: u64,
    /// Watches that were not evaluated since their bounds were set, or whose last evaluation could not read everything.
    unread: u64,
    /// The ten values nearest to their bounds that have not crossed them, the nearest first.
    nearest: Vec<NearBoundBody>,
    debt: DebtsBody,
}

/// A value near its bound.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchNearBound)]
struct NearBoundBody {
    #[schema(value_type = String, format = Uuid)]
    watch_id: Uuid,
    subject: String,
    label: Option<String>,
    measure: Measure,
    market: Option<String>,
    value: f64,
    bound: f64,
    /// From the value to the bound, as a share of the bound.
    distance: f64,
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
}

/// The debts of all watched wallets at their last reading, each wallet counted once.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchedDebts)]
struct DebtsBody {
    /// Wallets whose debts are in the sums.
    wallets_read: u64,
    /// Wallets whose debts were never read completely. They are in no sum.
    wallets_unread: u64,
    /// When the oldest of the debts was read; null without one.
    #[schema(value_type = Option<String>, format = DateTime)]
    oldest_at: Option<Moment>,
    /// Null, like the sums after it, if no wallet was read.
    #[schema(value_type = Option<f64>)]
    owed_usd: Option<Usd>,
    /// Debts that can be liquidated now: the health factor is below 1.
    #[schema(value_type = Option<f64>)]
    at_risk_usd: Option<Usd>,
    /// Debts in markets that state no health factor: nobody knows whether they are at risk.
    #[schema(value_type = Option<f64>)]
    unknown_usd: Option<Usd>,
    /// The debts that could be liquidated if all prices that do not follow the dollar fell at once.
    if_prices_fall: Vec<FallBody>,
}

/// Debts that could be liquidated after a fall of prices.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchedFall)]
struct FallBody {
    percent: f64,
    /// At the prices now.
    #[schema(value_type = Option<f64>)]
    at_risk_usd: Option<Usd>,
}

impl From<Portfolio> for SummaryBody {
    fn from(found: Portfolio) -> Self {
        let Portfolio { watches, paused, crossed, near, stale, unread, nearest, debts } = found;
        let nearest = nearest.into_iter().map(Into::into).collect();
        Self { watches, paused, crossed, near, stale, unread, nearest, debt: debts.into() }
    }
}

impl From<NearBound> for NearBoundBody {
    fn from(found: NearBound) -> Self {
        let NearBound { watch, subject, label, measure, market, value, bound, distance, at } = found;
        Self { watch_id: watch, subject, label, measure, market, value, bound, distance, at: Moment(at) }
    }
}

impl From<Debts> for DebtsBody {
    fn from(debts: Debts) -> Self {
        let Debts { read, unread, oldest, owed_usd, at_risk_now_usd, at_risk_usd, unknown_usd } = debts;
        let falls = FALLS.into_iter().zip(at_risk_usd);
        let sum = |usd: f64| (read > 0).then_some(Usd(usd));
        Self {
            wallets_read: read,
            wallets_unread: unread,
            oldest_at: oldest.map(Moment),
            owed_usd: sum(owed_usd),
            at_risk_usd: sum(at_risk_now_usd),
            unknown_usd: sum(unknown_usd),
            if_prices_fall: falls.map(|(percent, usd)| FallBody { percent, at_risk_usd: sum(usd) }).collect(),
        }
    }
}
