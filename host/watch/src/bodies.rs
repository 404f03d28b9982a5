//! Watches and their events, as the API shows them.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    leader::due,
    records::{AttemptRecord, DeliveryRecord, Ended, EventRecord, Stopped},
    series::TriggerState,
    trigger::{Measure, Trigger},
    watches::Watch,
};
use assay_access::Lapse;
use assay_http::values::Moment;

/// One page of the watches of a key, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Watches)]
pub(crate) struct WatchesBody {
    pub watches: Vec<WatchBody>,
    pub page: u64,
    pub limit: u64,
    /// All watches of the key.
    pub total: usize,
}

/// A watch, with its secret if that is new.
#[derive(Serialize, ToSchema)]
#[schema(as = WatchWithSecret)]
pub(crate) struct NewWatchBody {
    /// `whsec_` and base64, which signs deliveries (`v1`). Shown when it is created or replaced, and when the
    /// creation is repeated with the same `Idempotency-Key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<String>,
    /// The bearer token that alone manages a watch that was paid for by x402, instead of a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub token: Option<String>,
    pub watch: WatchBody,
}

/// A watch, its last values and its delivery.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Watch)]
pub(crate) struct WatchBody {
    #[schema(format = Uuid)]
    id: String,
    /// The address or name that is watched.
    subject: String,
    /// The address that is read; null before the first evaluation.
    address: Option<String>,
    /// Your own words for the wallet.
    label: Option<String>,
    /// The group that it has its settings from.
    #[schema(format = Uuid)]
    group_id: Option<String>,
    /// `active`, `paused`, `suspended` (its key may not watch any more) or `ended`.
    #[schema(value_type = String)]
    state: &'static str,
    /// Why it is suspended or ended: `key_not_configured` or `key_without_scope`; `until` or `key_revoked`.
    #[schema(value_type = Option<String>)]
    reason: Option<&'static str>,
    when: Vec<TriggerBody>,
    every_s: u64,
    /// Whether the first evaluation fires if a bound is crossed already.
    fires_at_once: bool,
    /// Whether events of a score have its signed statement.
    statement: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    #[schema(value_type = String, format = DateTime)]
    until: Moment,
    /// The last evaluation that said something new, or one of the last two minutes; null before the first.
    #[schema(value_type = Option<String>, format = DateTime)]
    evaluated_at: Option<Moment>,
    /// Null if it is not evaluated any more.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_check_at: Option<Moment>,
    /// The number of the last event; 0 without one.
    last_event: u64,
    /// Null without `url`: events are polled or followed.
    delivery: Option<DeliveryBody>,
}

/// One entry of `when`, with its state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchTrigger)]
pub(crate) struct TriggerBody {
    measure: Measure,
    market: Option<String>,
    /// Null for the version that answers the key.
    model_version: Option<String>,
    horizon_days: Option<u32>,
    /// `below` or `above`; null for a measure of which every change fires.
    #[schema(value_type = Option<String>)]
    side: Option<&'static str>,
    #[schema(value_type = Option<Value>)]
    bound: Value,
    /// The value that clears it.
    #[schema(value_type = Option<Value>)]
    clear: Value,
    /// The last values that were read, one for each market or one of the wallet.
    values: Vec<ValueBody>,
    /// Inputs that the last evaluation could not read.
    unread: Vec<String>,
    /// Why there is no value although everything was read.
    nothing: Vec<String>,
    /// Whether `watch.stale` was sent, and `watch.current` was not yet.
    stale: bool,
}

/// A value that was read.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchValue)]
struct ValueBody {
    market: Option<String>,
    /// A number; the name of a range or of a coverage; null for a health factor without debt.
    #[schema(value_type = Option<Value>)]
    value: Value,
    /// Whether the bound is crossed and has not cleared.
    fired: bool,
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    model_version: Option<String>,
}

/// The delivery of events to `url`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchDelivery)]
pub(crate) struct DeliveryBody {
    url: String,
    /// `unconfirmed` (the receiver has not agreed yet), `active`, `retrying`, `failing` (every attempt failed; resume
    /// it with `paused: false`) or `gone` (the receiver answered 410).
    #[schema(value_type = String)]
    state: &'static str,
    /// The number of the last event that was delivered.
    delivered_through: u64,
    /// Failed attempts in a row.
    attempts: u32,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_attempt_at: Option<Moment>,
    /// Ed25519 key of the server's signatures (`v1a`): `whpk_` and base64.
    public_key: String,
    /// The latest attempts, oldest first.
    latest: Vec<AttemptBody>,
}

/// One attempt of a delivery.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchDeliveryAttempt)]
struct AttemptBody {
    /// The number of the event; null for a question of consent.
    event: Option<u64>,
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    delivered: bool,
    /// The status of the answer, or why there is none.
    outcome: String,
    took_ms: u64,
}

/// Events of a watch, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchEvents)]
pub(crate) struct EventsBody {
    pub events: Vec<WatchEventBody>,
    /// Give it as `after` to read on.
    pub last: u64,
    /// Whether there may be more events now.
    pub more: bool,
}

/// An event, as it is delivered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchEvent, example = json!({
    "type": "watch.crossed", "timestamp": "2026-01-15T10:30:00Z",
    "data": {
        "id": "evt_6f3c1f0a8f0e4a6f9f6d0c5b3c1d2e4f_7", "seq": 7, "watch_id": "6f3c1f0a-8f0e-4a6f-9f6d-0c5b3c1d2e4f",
        "subject": "vitalik.eth", "address": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
        "measure": "health_factor", "market": "1/lenderA_v3/0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2",
        "side": "below", "bound": 1.3, "clear": 1.4, "final": false,
        "before": { "value": 1.52, "blocks": [], "at": "2026-01-15T10:29:00Z" },
        "after": { "value": 1.21, "blocks": [], "at": "2026-01-15T10:30:00Z" }
    }
}))]
pub(crate) struct WatchEventBody {
    /// `watch.crossed`, `watch.cleared`, `watch.range_changed`, `watch.liquidated`, `watch.stale`, `watch.current`,
    /// `watch.model_changed`, `watch.retracted`, `watch.unchecked`, `watch.moved`, `watch.ended`, `watch.digest` or
    /// `watch.test`.
    #[serde(rename = "type")]
    kind: String,
    #[schema(value_type = String, format = DateTime)]
    timestamp: Moment,
    /// `id`, `seq`, `watch_id`, `subject` and `address`, and the fields of its type.
    #[schema(value_type = Object)]
    data: Value,
}

/// `active`, `paused` or `ended`.
pub(crate) fn state_of(watch: &Watch) -> &'static str {
    match (watch.state.ended_at, watch.record.paused) {
        (Some(_), _) => "ended",
        (None, true) => "paused",
        (None, false) => "active",
    }
}

impl WatchBody {
    pub(crate) fn of(watch: &Watch, public_key: &str) -> Self {
        let Watch { record, state, delivery, .. } = watch;
        let states = watch.trigger_states().iter().map(Some);
        let triggers = record.triggers.iter().zip(states.chain(std::iter::repeat(None)));
        let now = chrono::Utc::now();
        Self {
            id: record.id.to_string(),
            subject: record.subject.clone(),
            address: state.address.map(|address| address.to_string()),
            label: record.label.clone(),
            group_id: record.group().map(|group| group.to_string()),
            state: state_of(watch),
            reason: state.ended_at.map(|_| state.ended_by.unwrap_or(Ended::Until).as_str()),
            when: triggers.map(|(trigger, state)| TriggerBody::of(trigger, state)).collect(),
            every_s: record.every.as_secs(),
            fires_at_once: record.fires_at_once,
            statement: record.statement,
            created_at: Moment(record.created_at),
            until: Moment(record.until),
            evaluated_at: state.evaluated_at.map(Moment),
            next_check_at: (state.ended_at.is_none() && !record.paused)
                .then(|| Moment(due(record, state, now).max(now))),
            last_event: state.next.saturating_sub(1),
            delivery: record.url.clone().map(|url| DeliveryBody::of(url, delivery, public_key)),
        }
    }

    /// The watch, if its key may not watch any more because of `lapse`.
    pub(crate) fn under(self, lapse: Option<Lapse>) -> Self {
        let Some(lapse) = lapse.filter(|_| self.state != "ended") else { return self };
        Self { state: "suspended", reason: Some(lapse.as_str()), next_check_at: None, ..self }
    }
}

impl TriggerBody {
    pub(crate) fn of(trigger: &Trigger, state: Option<&TriggerState>) -> Self {
        let Trigger { measure, market, model_version, horizon_days, limit } = trigger;
        let shown = |value: f64| measure.shown(Some(value));
        let version = |version: &assay_domain::ModelVersion| version.as_str().to_owned();
        let values = state.into_iter().flat_map(|state| &state.series).map(|(name, series)| ValueBody {
            market: Some(name.clone()).filter(|name| !name.is_empty()),
            value: measure.shown(series.last.value),
            fired: series.fired,
            at: Moment(series.last.at),
            model_version: series.last.version.as_ref().map(version),
        });
        Self {
            measure: *measure,
            market: market.map(|market| market.to_string()),
            model_version: model_version.as_ref().map(version),
            horizon_days: *horizon_days,
            side: limit.map(|limit| limit.side()),
            bound: limit.map_or(Value::Null, |limit| shown(limit.bounds().0)),
            clear: limit.map_or(Value::Null, |limit| shown(limit.bounds().1)),
            values: values.collect(),
            unread: state.into_iter().flat_map(|state| state.unread.values().cloned()).collect(),
            nothing: state.into_iter().flat_map(|state| state.nothing.values().cloned()).collect(),
            stale: state.is_some_and(|state| state.is_stale),
        }
    }
}

impl DeliveryBody {
    pub(crate) fn of(url: String, delivery: &DeliveryRecord, public_key: &str) -> Self {
        let state = match (delivery.stopped, delivery.confirmed) {
            (Some(Stopped::Gone), _) => "gone",
            (Some(Stopped::Failing), true) => "failing",
            (_, false) => "unconfirmed",
            (None, true) if delivery.attempts > 0 => "retrying",
            (None, true) => "active",
        };
        Self {
            url,
            state,
            delivered_through: delivery.through,
            attempts: delivery.attempts,
            next_attempt_at: delivery.next_at.filter(|_| delivery.stopped.is_none()).map(Moment),
            public_key: public_key.to_owned(),
            latest: delivery.latest.iter().map(AttemptBody::of).collect(),
        }
    }
}

impl AttemptBody {
    fn of(attempt: &AttemptRecord) -> Self {
        let AttemptRecord { seq, at, delivered, outcome, took_ms } = attempt.clone();
        Self { event: seq, at: Moment(at), delivered, outcome, took_ms }
    }
}

impl From<EventRecord> for WatchEventBody {
    fn from(EventRecord { kind, at, data, .. }: EventRecord) -> Self {
        Self { kind, timestamp: Moment(at), data }
    }
}
