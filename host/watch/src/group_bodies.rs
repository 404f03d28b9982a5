//! Groups, lists of wallets and summaries, as the API shows them.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    bodies::{DeliveryBody, TriggerBody, state_of},
    exposure::FALLS,
    leader::due,
    portfolio::{Debts, NearBound, Portfolio},
    trigger::Measure,
    watches::Watch,
};
use assay_http::values::{Moment, Usd};

/// The groups of a key, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchGroups)]
pub(crate) struct GroupsBody {
    pub groups: Vec<GroupBody>,
}

/// A group, with its secret if that is new.
#[derive(Serialize, ToSchema)]
#[schema(as = WatchGroupWithSecret)]
pub(crate) struct NewGroupBody {
    /// `whsec_` and base64, which signs the deliveries of all watches of the group (`v1`). Only a new secret is shown,
    /// and only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<String>,
    pub group: GroupBody,
}

/// A group of watches with the same settings.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchGroup)]
pub(crate) struct GroupBody {
    /// Also the id of its digests: `/api/v2/watches/{id}/events`.
    #[schema(format = Uuid)]
    id: String,
    name: String,
    /// `active`, `paused` or `ended`.
    #[schema(value_type = String)]
    state: &'static str,
    /// Watches in it.
    watches: u64,
    /// Of each watch; the values are those of the watches.
    when: Vec<TriggerBody>,
    every_s: u64,
    fires_at_once: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    #[schema(value_type = String, format = DateTime)]
    until: Moment,
    /// Null if there is none any more.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_digest_at: Option<Moment>,
    /// The number of the last digest; 0 without one.
    last_event: u64,
    /// The delivery of its digests; each watch has its own delivery to the same `url`. Null without `url`.
    delivery: Option<DeliveryBody>,
}

impl GroupBody {
    pub(crate) fn of(group: &Watch, watches: u64, public_key: &str) -> Self {
        let Watch { record, state, delivery, .. } = group;
        let is_due = state.ended_at.is_none() && !record.paused;
        Self {
            id: record.id.to_string(),
            name: record.subject.clone(),
            state: state_of(group),
            watches,
            when: record.triggers.iter().map(|trigger| TriggerBody::of(trigger, None)).collect(),
            every_s: record.every.as_secs(),
            fires_at_once: record.fires_at_once,
            created_at: Moment(record.created_at),
            until: Moment(record.until),
            next_digest_at: is_due.then(|| Moment(due(record, state))),
            last_event: state.next.saturating_sub(1),
            delivery: record.url.clone().map(|url| DeliveryBody::of(url, delivery, public_key)),
        }
    }
}

/// What became of a list of wallets: one row for each row of the request, in its order.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchRows)]
pub(crate) struct RowsBody {
    #[schema(format = Uuid)]
    pub group_id: String,
    pub created: usize,
    pub exists: usize,
    pub invalid: usize,
    pub refused: usize,
    pub rows: Vec<RowBody>,
}

/// One row.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchRow)]
pub(crate) struct RowBody {
    /// Its number, from 1; the line of the columns does not count.
    pub row: usize,
    /// As it was given.
    pub address: String,
    pub label: Option<String>,
    pub status: RowStatus,
    /// Null if it is not watched.
    #[schema(value_type = Option<String>, format = Uuid)]
    pub watch_id: Option<Uuid>,
    /// What is wrong with it, and what to do; null if it is watched.
    pub why: Option<String>,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WatchRowStatus)]
pub(crate) enum RowStatus {
    /// It is watched from now on.
    Created,
    /// The group watches it already, by this id.
    Exists,
    /// It cannot be watched; correct the row.
    Invalid,
    /// It can be watched, but not now; send it again.
    Refused,
}

impl RowsBody {
    pub(crate) fn of(group: Uuid, rows: Vec<RowBody>) -> Self {
        let count = |status| rows.iter().filter(|row| row.status == status).count();
        Self {
            group_id: group.to_string(),
            created: count(RowStatus::Created),
            exists: count(RowStatus::Exists),
            invalid: count(RowStatus::Invalid),
            refused: count(RowStatus::Refused),
            rows,
        }
    }
}

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
    /// Watches that were not evaluated yet, or whose last evaluation could not read everything.
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
