//! The stored records of watches. The API writes [`WatchRecord`]; the host that holds the lease writes the state and
//! the events; both change the delivery, by compare-and-swap.

mod asked;
mod delivery;
mod state;
mod watch;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use assay_domain::Time;
use assay_store::{Batch, Family, Key, StoreError};

pub(crate) use asked::{AskedRecord, receiver, tests};
pub(crate) use delivery::{AttemptRecord, DeliveryRecord, Stopped};
pub(crate) use state::{Ended, StateRecord};
pub(crate) use watch::{Course, Role, WatchRecord};

/// All watches.
pub(crate) const WATCHES: Family<WatchRecord> = Family::listed("watch/");
/// The watches of each key, oldest first.
pub(crate) const OWN: Family<Uuid> = Family::listed("watch-of/");
/// The groups of each key, oldest first.
pub(crate) const OWN_GROUPS: Family<Uuid> = Family::listed("watch-group-of/");
/// The watches of each group, by wallet: a wallet is in a group once.
pub(crate) const MEMBERS: Family<Uuid> = Family::listed("watch-in/");
/// The events of each watch, by number.
pub(crate) const EVENTS: Family<EventRecord> = Family::listed("watch-event/");
/// Requests to the evaluating host: to read a watch again, to test it, or to evaluate it now.
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

/// The beginning of the keys in [`OWN`] and [`OWN_GROUPS`] of `owner`, which is hashed because a name may have any
/// characters.
pub(crate) fn own_prefix(owner: &str) -> String {
    format!("{}/", hex::encode(Sha256::digest(owner)))
}

/// The owner of the watch that has this token.
pub(crate) fn payer(token: &str) -> String {
    format!("x402:{}", hex::encode(Sha256::digest(token)))
}

/// The entry of a watch or a group in the list of its key.
pub(crate) fn own(record: &WatchRecord) -> Key<Uuid> {
    let family = if record.is_group() { OWN_GROUPS } else { OWN };
    let at = record.created_at.timestamp_millis().max(0);
    family.key(format_args!("{}{at:015}-{}", own_prefix(&record.owner), record.id))
}

/// The beginning of the keys in [`MEMBERS`] of `group`.
pub(crate) fn members_prefix(group: Uuid) -> String {
    format!("{group}/")
}

/// The entry of the wallet `subject` in `group`.
pub(crate) fn member(group: Uuid, subject: &str) -> Key<Uuid> {
    MEMBERS.key(format_args!("{}{}", members_prefix(group), hex::encode(Sha256::digest(subject))))
}

/// The watches of `group`, ended ones too.
pub(crate) fn member_count(group: Uuid) -> Key<u64> {
    Family::new("watch-in-count/").key(group)
}

/// The watches of the server that have not ended, and all groups.
pub(crate) fn count() -> Key<u64> {
    Key::single("watch-count")
}

/// The watches of `owner` that have not ended, and all of its groups.
pub(crate) fn own_count(owner: &str) -> Key<u64> {
    Family::new("watch-count/").key(hex::encode(Sha256::digest(owner)))
}

/// The seconds that the clock of `owner` shows, in a sandbox.
pub(crate) fn clock(owner: &str) -> Key<u64> {
    Family::new("watch-clock/").key(hex::encode(Sha256::digest(owner)))
}

/// What `owner` created under one `Idempotency-Key`; stored for 24 hours.
pub(crate) fn retry(owner: &str, retry_key: &str) -> Key<RetryRecord> {
    Family::new("watch-retry/").key(hex::encode(Sha256::digest(format!("{owner}\n{retry_key}"))))
}

/// The consent of a receiver to the events of an owner.
pub(crate) fn consent(owner: &str, receiver: &str) -> Key<Time> {
    Family::new("watch-consent/").key(hex::encode(Sha256::digest(format!("{owner}\n{receiver}"))))
}

/// The secret of the server's key, in hex.
pub(crate) fn server_key() -> Key<String> {
    Key::single("watch-signing-key")
}

/// A count that is never reached.
pub(crate) const NO_LIMIT: u64 = 1 << 53;

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EventRecord {
    pub seq: u64,
    /// Such as `watch.crossed`.
    pub kind: String,
    pub at: Time,
    pub data: Value,
}

/// The watch or group that a request with an `Idempotency-Key` created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RetryRecord {
    pub watch: Uuid,
    /// SHA-256 of what the request orders, in hex.
    pub request: String,
}

/// A request to the evaluating host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RequestRecord {
    /// The watch was created, changed or removed.
    Changed,
    /// Its owner wants an event that tests the way.
    Test,
    /// The clock of its script has moved.
    Evaluate,
}

/// The id of an event, also over all retries.
pub(crate) fn event_id(watch: Uuid, seq: u64) -> String {
    format!("evt_{}_{seq}", watch.simple())
}

/// The number in an event's id, if it is of `watch`.
pub(crate) fn event_seq(watch: Uuid, id: &str) -> Option<u64> {
    let seq = id.strip_prefix(&format!("evt_{}_", watch.simple()))?.parse().ok()?;
    // Only as events have it, not `+1` or `01`.
    (event_id(watch, seq) == id).then_some(seq)
}

/// Adds to `batch` a request to the evaluating host.
pub(crate) fn requested(batch: Batch, id: Uuid, record: &RequestRecord) -> Result<Batch, StoreError> {
    batch.put(&request(id, Uuid::new_v4()), record)
}

#[cfg(test)]
mod id_tests {
    use super::*;

    #[test]
    fn only_ids_of_events_have_a_number() {
        let watch = Uuid::from_u128(7);
        let id = event_id(watch, 12);
        assert_eq!((event_seq(watch, &id), event_seq(Uuid::from_u128(8), &id)), (Some(12), None));
        for wrong in [id.replace("_12", "_+12"), id.replace("_12", "_012"), id.replace("_12", "_"), format!("{id} ")] {
            assert_eq!(event_seq(watch, &wrong), None, "{wrong}");
        }
    }
}
