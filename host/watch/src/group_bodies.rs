//! Groups, lists of wallets and summaries, as the API shows them.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    bodies::{DeliveryBody, TriggerBody, state_of},
    leader::due,
    watches::Watch,
};
use assay_http::values::Moment;

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
    /// `whsec_` and base64, which signs the deliveries of all watches of the group (`v1`). Shown when it is created
    /// or replaced, and when the creation is repeated with the same `Idempotency-Key`.
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
    /// `active`, `paused` or `ended`; for an admin `suspended` while its key may not watch.
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
            next_digest_at: is_due.then(|| Moment(due(record, state, chrono::Utc::now()))),
            last_event: state.next.saturating_sub(1),
            delivery: record.url.clone().map(|url| DeliveryBody::of(url, delivery, public_key)),
        }
    }

    /// The group, if its key may not watch any more.
    pub(crate) fn suspended(self) -> Self {
        if self.state == "ended" { self } else { Self { state: "suspended", next_digest_at: None, ..self } }
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
    /// It can be watched, but not now; do what `why` says, and send it again.
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
