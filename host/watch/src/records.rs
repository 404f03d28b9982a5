//! The stored records of watches. The API writes [`WatchRecord`]; the host that holds the lease writes the state and
//! the events; both change the delivery, by compare-and-swap.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    exposure::Exposure,
    secret::WebhookSecret,
    series::{PastEvent, TriggerState},
    trigger::Trigger,
};
use assay_domain::{Address, Time};
use assay_store::{Batch, Family, Key, Revision, StoreError};

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

/// How often a receiver was asked for its consent in vain, for one owner; kept for [`ASKED_FOR`] after the first time.
pub(crate) fn asked(owner: &str, receiver: &str) -> Key<AskedRecord> {
    Family::new("watch-asked/").key(hex::encode(Sha256::digest(format!("{owner}\n{receiver}"))))
}

/// The test events of a watch, kept for [`ASKED_FOR`] after the first one.
pub(crate) fn tests(id: Uuid) -> Key<AskedRecord> {
    Family::new("watch-tests/").key(id)
}

/// The secret of the server's key, in hex.
pub(crate) fn server_key() -> Key<String> {
    Key::single("watch-signing-key")
}

/// Time for which what an owner asked for is counted together.
pub(crate) const ASKED_FOR: Duration = Duration::from_secs(86_400);

/// A count that ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AskedRecord {
    pub count: u32,
    pub since: Time,
}

impl AskedRecord {
    /// One more than `known` at `now`, and the time for which it is kept.
    pub(crate) fn after(known: Option<Self>, now: Time) -> (Self, Duration) {
        let known = known.unwrap_or(Self { count: 0, since: now });
        let passed = (now - known.since).to_std().unwrap_or_default();
        let rest = ASKED_FOR.saturating_sub(passed).max(Duration::from_secs(1));
        (Self { count: known.count.saturating_add(1), since: known.since }, rest)
    }
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
    /// Secrets that were replaced, each of which signs too until then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<(WebhookSecret, Time)>,
    /// Events of a score have its signed statement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub statement: bool,
    /// Neither evaluated nor delivered.
    pub paused: bool,
    pub created_at: Time,
    pub until: Time,
    /// The end of the terms that a payment without a key has bought; absent for the watch of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<Time>,
    #[serde(default, skip_serializing_if = "Role::is_single")]
    pub role: Role,
    /// The owner's own words for the wallet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Changes of `url` and resumptions so far, which the deliveries of a group's watches follow.
    #[serde(default, skip_serializing_if = "Course::is_first")]
    pub course: Course,
}

/// What a [`WatchRecord`] is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// A watch by itself.
    #[default]
    Single,
    /// A watch of this group, which has its bounds, its pace, its receiver, its secret and its end from the group.
    Member(Uuid),
    /// A group, whose `subject` is its name. Its own events are digests.
    Group,
}

/// Counts what a delivery has to begin anew for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Course {
    pub receivers: u32,
    pub resumptions: u32,
}

impl Role {
    fn is_single(&self) -> bool {
        *self == Self::Single
    }
}

impl Course {
    fn is_first(&self) -> bool {
        *self == Self::default()
    }
}

impl WatchRecord {
    pub(crate) fn is_group(&self) -> bool {
        self.role == Role::Group
    }

    /// The group that it is in.
    pub(crate) fn group(&self) -> Option<Uuid> {
        match self.role {
            Role::Member(group) => Some(group),
            Role::Single | Role::Group => None,
        }
    }

    /// A watch of `group` as it is evaluated.
    pub(crate) fn of_group(self, group: &Self) -> Self {
        let Self { triggers, generation, every, fires_at_once, statement, .. } = group.clone();
        let Self { url, secret, replaced, until, course, .. } = group.clone();
        let paused = self.paused || group.paused;
        let own = Self { triggers, generation, every, fires_at_once, statement, ..self };
        Self { url, secret, replaced, until, course, paused, ..own }
    }
}

/// The state of a watch, written by the host that evaluates it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StateRecord {
    /// The generation of the triggers that `triggers` has the states of.
    pub generation: u32,
    pub address: Option<Address>,
    pub evaluated_at: Option<Time>,
    /// Time until the next evaluation, if it can wait for longer than its owner asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Duration>,
    pub triggers: Vec<TriggerState>,
    /// What `triggers` has the states of.
    #[serde(default)]
    pub of: Vec<Trigger>,
    /// Events of states that were replaced, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<PastEvent>,
    /// The number of the next event, from 1.
    pub next: u64,
    pub ended_at: Option<Time>,
    /// Why it ended; its time was over if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<Ended>,
    /// The debts of the wallet when they were last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<Exposure>,
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
    /// Lets the state of each trigger begin anew.
    pub(crate) fn replace_triggers(&mut self) {
        for (trigger, state) in self.of.iter().zip(&mut self.triggers) {
            state.begin_anew(trigger, &mut self.past);
        }
    }

    /// Its revision in the store.
    pub(crate) fn revision(&self, id: Uuid) -> Result<Revision, StoreError> {
        // The state of a watch that was never evaluated is not stored.
        if *self == Self::default() { Ok(Revision::ABSENT) } else { Revision::of(&state(id), self) }
    }
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
    /// The course of the watch that it is at.
    #[serde(default, skip_serializing_if = "Course::is_first")]
    pub course: Course,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watches::NewWatch;
    use assay_domain::time_from_unix;

    #[test]
    fn a_count_ends_a_day_after_it_began() {
        let at = |seconds: u64| time_from_unix(1_790_000_000 + seconds);
        let (first, keep) = AskedRecord::after(None, at(0));
        assert_eq!((first.count, keep), (1, ASKED_FOR));
        let (second, keep) = AskedRecord::after(Some(first), at(3_600));
        assert_eq!((second.count, second.since, keep.as_secs()), (2, at(0), 82_800));
        assert_eq!(AskedRecord::after(Some(second), at(1_000_000)).1.as_secs(), 1);
    }

    #[test]
    fn a_watch_of_a_group_has_its_settings_and_a_pause_of_its_own() {
        let record = |subject: &str, role, every| {
            let new = NewWatch {
                owner: "key".into(),
                by: "key".into(),
                subject: subject.into(),
                triggers: Vec::new(),
                every: Duration::from_secs(every),
                fires_at_once: false,
                statement: false,
                url: Some(format!("https://{subject}.example/")),
                until: time_from_unix(every),
                role,
                label: Some(subject.into()),
            };
            new.record().unwrap()
        };
        let mut group = record("loans", Role::Group, 60);
        group.generation = 3;
        let mut own = record("ada", Role::Member(group.id), 300);
        let watch = own.clone().of_group(&group);
        assert_eq!((&watch.url, watch.every, watch.until), (&group.url, group.every, group.until));
        assert!(watch.secret == group.secret && watch.generation == 3 && !watch.paused);
        assert_eq!((watch.id, &watch.subject, &watch.label), (own.id, &own.subject, &own.label));
        own.paused = true;
        assert!(own.of_group(&group).paused && !group.paused);
    }
}
