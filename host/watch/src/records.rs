//! The stored records of watches. The API writes [`WatchRecord`]; the host that holds the lease writes the state and
//! the events; both change the delivery, by compare-and-swap.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{secret::WebhookSecret, series::TriggerState, trigger::Trigger};
use assay_domain::{Address, Time};
use assay_store::{Batch, Family, Key, Revision, StoreError};

/// All watches.
pub(crate) const WATCHES: Family<WatchRecord> = Family::listed("watch/");
/// The watches of each key, oldest first.
pub(crate) const OWN: Family<Uuid> = Family::listed("watch-of/");
/// The events of each watch, by number.
pub(crate) const EVENTS: Family<EventRecord> = Family::listed("watch-event/");
/// Requests to the evaluating host: to read a watch again, or to test it.
pub(crate) const REQUESTS: Family<RequestRecord> = Family::listed("watch-request/");

pub(crate) fn watch(id: Uuid) -> Key<WatchRecord> {
    WATCHES.key(id)
}

pub(crate) fn state(id: Uuid) -> Key<StateRecord> {
    Family::new("watch-state/").key(id)
}

pub(crate) fn delivery(id: Uuid) -> Key<DeliveryRecord> {
    Family::new("watch-delivery/").key(id)
}

pub(crate) fn event(id: Uuid, seq: u64) -> Key<EventRecord> {
    EVENTS.key(event_key(id, seq))
}

/// The part of an event's key after the prefix of its family.
pub(crate) fn event_key(id: Uuid, seq: u64) -> String {
    format!("{id}/{seq:012}")
}

pub(crate) fn request(id: Uuid, nonce: Uuid) -> Key<RequestRecord> {
    REQUESTS.key(format_args!("{id}/{nonce}"))
}

/// The beginning of the keys in [`OWN`] of `owner`, which is hashed because a name may have any characters.
pub(crate) fn own_prefix(owner: &str) -> String {
    format!("{}/", hex::encode(Sha256::digest(owner)))
}

pub(crate) fn own(record: &WatchRecord) -> Key<Uuid> {
    let at = record.created_at.timestamp_millis().max(0);
    OWN.key(format_args!("{}{at:015}-{}", own_prefix(&record.owner), record.id))
}

/// The watches of the server that have not ended.
pub(crate) fn count() -> Key<u64> {
    Key::single("watch-count")
}

/// The watches of `owner` that have not ended.
pub(crate) fn own_count(owner: &str) -> Key<u64> {
    Family::new("watch-count/").key(hex::encode(Sha256::digest(owner)))
}

/// The consent of a receiver to the events of an owner.
pub(crate) fn consent(owner: &str, receiver: &str) -> Key<Time> {
    Family::new("watch-consent/").key(hex::encode(Sha256::digest(format!("{owner}\n{receiver}"))))
}

/// The secret of the server's key, in hex.
pub(crate) fn server_key() -> Key<String> {
    Key::single("watch-signing-key")
}

/// A watch as its owner has set it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WatchRecord {
    pub id: Uuid,
    /// The identity of the API key, and its name.
    pub owner: String,
    pub by: String,
    /// An address or a name.
    pub subject: String,
    pub triggers: Vec<Trigger>,
    /// One more for each change of the triggers, whose states then begin anew.
    pub generation: u32,
    pub every: Duration,
    /// The first evaluation fires if a bound is crossed already.
    pub fires_at_once: bool,
    pub url: Option<String>,
    pub secret: WebhookSecret,
    /// The secret before the last rotation, which signs too until then.
    #[serde(default)]
    pub previous: Option<(WebhookSecret, Time)>,
    /// Events of a score have its signed statement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub statement: bool,
    /// Neither evaluated nor delivered.
    pub paused: bool,
    pub created_at: Time,
    pub until: Time,
}

/// The state of a watch, written by the host that evaluates it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StateRecord {
    /// The generation of the triggers that `triggers` has the states of.
    pub generation: u32,
    pub address: Option<Address>,
    pub evaluated_at: Option<Time>,
    pub triggers: Vec<TriggerState>,
    /// The number of the next event, from 1.
    pub next: u64,
    pub ended_at: Option<Time>,
    /// Why it ended; its time was over if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<Ended>,
}

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    /// The time of `until` came.
    Until,
    /// Its key was revoked.
    KeyRevoked,
}

impl Ended {
    /// The reason as answers and events have it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Until => "until",
            Self::KeyRevoked => "key_revoked",
        }
    }
}

impl StateRecord {
    /// Its revision in the store.
    pub(crate) fn revision(&self, id: Uuid) -> Result<Revision, StoreError> {
        // The state of a watch that was never evaluated is not stored.
        if *self == Self::default() { Ok(Revision::ABSENT) } else { Revision::of(&state(id), self) }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EventRecord {
    pub seq: u64,
    /// Such as `watch.crossed`.
    pub kind: String,
    pub at: Time,
    pub data: Value,
}

/// A request to the evaluating host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RequestRecord {
    /// The watch was created, changed or removed.
    Changed,
    /// Its owner wants an event that tests the way.
    Test,
}

/// How far the events of a watch are delivered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeliveryRecord {
    /// Events up to this number were delivered, or replayed on request.
    pub through: u64,
    /// Events to deliver once more, both ends included, before all others.
    #[serde(default)]
    pub replay: Option<(u64, u64)>,
    /// Failures of the next event in a row.
    pub attempts: u32,
    pub next_at: Option<Time>,
    /// Whether the receiver has agreed to events.
    pub confirmed: bool,
    /// Why nothing is sent any more; its owner resumes it.
    pub stopped: Option<Stopped>,
    /// The latest attempts, oldest first.
    pub latest: Vec<AttemptRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stopped {
    /// Every attempt of the schedule failed.
    Failing,
    /// The receiver answered 410.
    Gone,
}

/// One attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AttemptRecord {
    /// Absent for a question of consent.
    pub seq: Option<u64>,
    pub at: Time,
    pub delivered: bool,
    /// The status, or why there is none.
    pub outcome: String,
    pub took_ms: u64,
}

/// The id of an event, also over all retries.
pub(crate) fn event_id(watch: Uuid, seq: u64) -> String {
    format!("evt_{}_{seq}", watch.simple())
}

/// The number in an event's id, if it is of `watch`.
pub(crate) fn event_seq(watch: Uuid, id: &str) -> Option<u64> {
    id.strip_prefix(&format!("evt_{}_", watch.simple()))?.parse().ok()
}

/// Adds to `batch` a request to the evaluating host.
pub(crate) fn requested(batch: Batch, id: Uuid, record: &RequestRecord) -> Result<Batch, StoreError> {
    batch.put(&request(id, Uuid::new_v4()), record)
}
