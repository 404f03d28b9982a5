//! Every key of the store, on one page.
//!
//! | key | value | lives | owner |
//! |---|---|---|---|
//! | `roles/{kind}` | [`RolesRecord`] | for ever | `registry` |
//! | `component/{kind}/{version}` | [`ComponentRecord`]: an uploaded component, in a store that hosts share | for ever, as gone once removed | `scoring` |
//! | `component-bytes/{SHA-256}` | `String`: its bytes in hex, up to `models.max_component_bytes` | until removed | `scoring` |
//! | `score/{id}` | [`ServedRecord`]: what a served score was made of | `scoring.provenance_days` | `scoring` |
//! | `score-secret` | `String`: 32 bytes in hex, with which the ids of scores are bound to their owners | for ever | `scoring` |
//! | `shadow/credit/{hour since the epoch}/{process}` | [`ShadowRecord`]: what challengers showed there | `scoring.shadow_hours` | `scoring` |
//! | `audit/{time}-{random}` | [`AuditRecord`]: a step that was about to be made | for ever, never written over | `scoring` |
//! | `audit-end/{time}-{random}` | [`AuditEnd`]: what became of it | for ever, never written over | `scoring` |
//! | `lending/{chain}/{market}/{address}` | [`LendingProgress`] | for ever | `chain` |
//! | `first/{chain}/{address}` | [`Seen`]: first transaction | for ever | `chain` |
//! | `activity/{chain}/{address}` | [`ActivityProgress`]: what an explorer lists or logs tell, as far as settled | for ever | `chain` |
//! | `token/{chain}/{contract}` | [`TokenRecord`]: what a contract calls itself | for ever | `chain` |
//! | `units/{name of a configured key, or hash of a minted one}` | `u64`: units used | for ever, or until revoked | `access` |
//! | `rate/{key or address}/{caller}` | `u64`: microseconds since the epoch at which the quota is whole again; in Redis alone, on its master | until then, a minute at most | `access` |
//! | `api-key/{SHA-256 of the key}` | [`KeyRecord`] | until revoked | `access` |
//! | `api-key-name/{name}` | `String`: the SHA-256, so that a name is given once | until revoked | `access` |
//! | `agents/{chain}/{registry}/progress` | [`AgentProgress`] | for ever | `agents` |
//! | `agents/{chain}/{registry}/{page}` | [`AgentPage`]: agents by id, so many to a page | for ever | `agents` |
//! | `submission/{id}` | [`SubmissionRecord`] | for ever | `reputation` |
//! | `submission-open/{Unix milliseconds}-{id}` | `Uuid`: a submission that has not ended, oldest first | until it ends | `reputation` |
//! | `submission-retry/{owner}/{SHA-256 of the Idempotency-Key}` | [`RetryRecord`] | 24 hours | `reputation` |
//! | `submission-durations` | `Vec<u32>`: seconds that the latest ones took, latest last | for ever | `reputation` |
//! | `payment/{chain}/{asset}/{payer}/{nonce}` | [`PaymentRecord`]: a payment by signature | for ever, so that it is spent once | `access` |
//! | `payment-open/{Unix milliseconds}-{asset}-{payer}-{nonce}` | `PaymentId`: a payment on its way to the chain, oldest first | until it has arrived or was refused | `access` |
//! | `rehearsal/{id}` | [`SubmissionRecord`]: to a server that is a sandbox, as it will have ended | 24 hours | `reputation` |
//! | `rehearsal-retry/{owner}/{SHA-256 of the Idempotency-Key}` | [`RetryRecord`] | 24 hours | `reputation` |
//! | `lease/{name}` | `LeaseRecord`: holder, token, end | for ever, so that its token only grows | whoever names it |
//!
//! In Redis each key has `store.prefix` before it, in braces: so all of them lie on one node of a cluster, and whatever
//! is in one batch happens there as a whole. Records of which there is one for each address, token, score or caller
//! (`SPREAD`) are right each by itself, share a batch only with one another, have no condition in it, and lie where the
//! last part of their key puts them. Families that are listed (`LISTED`) have their keys in a sorted set besides;
//! `write/{id}` is what came of a write, kept for five minutes.
//!
//! Addresses are lower-case hex with `0x`. Values are JSON; a field added later is optional, so that older records stay
//! readable.

use std::{fmt, marker::PhantomData};

use uuid::Uuid;

use super::records::{
    ActivityProgress, AgentPage, AgentProgress, AuditEnd, AuditRecord, ComponentRecord, KeyRecord, LeaseRecord,
    LendingProgress, PaymentRecord, RetryRecord, RolesRecord, ServedRecord, ShadowRecord, SubmissionRecord,
    TokenRecord,
};
use assay_domain::{Address, ChainId, Digest, ModelKind, ModelVersion, PaymentId, Seen, Time};

/// Families whose records stand each for itself and are too many for one node of a cluster. A batch of them may happen
/// in part.
pub(super) const SPREAD: [&str; 6] = ["score/", "lending/", "first/", "activity/", "token/", "rate/"];
/// Families that can be listed.
pub(super) const LISTED: [&str; 7] = [COMPONENTS, SHADOWS, AUDIT, AUDIT_END, API_KEYS, OPEN_SUBMISSIONS, OPEN_PAYMENTS];

/// A key and the type of what stands under it.
pub struct Key<T> {
    text: String,
    value: PhantomData<fn() -> T>,
}

/// All keys with one beginning, for listing. Meant for families an operator could count, not for one record per
/// address.
pub struct Family<T> {
    prefix: &'static str,
    value: PhantomData<fn() -> T>,
}

/// Roles of the models of one kind.
pub fn roles(kind: ModelKind) -> Key<RolesRecord> {
    Key::new(format!("roles/{kind}"))
}

/// An uploaded component.
pub fn component(kind: ModelKind, version: &ModelVersion) -> Key<ComponentRecord> {
    Key::new(format!("{COMPONENTS}{kind}/{version}"))
}

/// Every component that was ever uploaded.
pub fn components() -> Family<ComponentRecord> {
    Family { prefix: COMPONENTS, value: PhantomData }
}

/// The bytes of an uploaded component, in hex.
pub fn component_bytes(digest: &Digest) -> Key<String> {
    Key::new(format!("component-bytes/{digest}"))
}

const COMPONENTS: &str = "component/";

/// What a served score was made of.
pub fn served(id: Uuid) -> Key<ServedRecord> {
    Key::new(format!("score/{}", id.simple()))
}

/// What binds the ids of scores to their owners, in hex.
pub fn score_secret() -> Key<String> {
    Key::new("score-secret".to_owned())
}

/// What one process saw of credit challengers in one hour since the epoch.
pub fn shadow(hour: i64, process: &str) -> Key<ShadowRecord> {
    Key::new(format!("{SHADOWS}{hour}/{process}"))
}

/// Everything that is kept of credit challengers.
pub fn shadows() -> Family<ShadowRecord> {
    Family { prefix: SHADOWS, value: PhantomData }
}

const SHADOWS: &str = "shadow/credit/";

/// A step of the audit log. Ids begin with the time, so that their order is that of the steps.
pub fn audit(id: &str) -> Key<AuditRecord> {
    Key::new(format!("{AUDIT}{id}"))
}

/// Every step of the audit log, oldest first.
pub fn audits() -> Family<AuditRecord> {
    Family { prefix: AUDIT, value: PhantomData }
}

/// What became of a step of the audit log.
pub fn audit_end(id: &str) -> Key<AuditEnd> {
    Key::new(format!("{AUDIT_END}{id}"))
}

/// What became of every step of the audit log.
pub fn audit_ends() -> Family<AuditEnd> {
    Family { prefix: AUDIT_END, value: PhantomData }
}

const AUDIT: &str = "audit/";
const AUDIT_END: &str = "audit-end/";

/// How far one address has been read in one lending market.
pub fn lending(chain: ChainId, market: Address, address: Address) -> Key<LendingProgress> {
    Key::new(format!("lending/{chain}/{market:#x}/{address:#x}"))
}

/// The first transaction of an address on one chain, once found.
pub fn first_transaction(chain: ChainId, address: Address) -> Key<Seen> {
    Key::new(format!("first/{chain}/{address:#x}"))
}

/// How far an explorer's lists of one address have been read on one chain.
pub fn activity(chain: ChainId, address: Address) -> Key<ActivityProgress> {
    Key::new(format!("activity/{chain}/{address:#x}"))
}

/// What a token contract that was found calls itself.
pub fn token(chain: ChainId, contract: Address) -> Key<TokenRecord> {
    Key::new(format!("token/{chain}/{contract:#x}"))
}

/// Units used, by the name of a configured API key or the hash of a minted one in hex.
pub fn units(meter: &str) -> Key<u64> {
    Key::new(format!("units/{meter}"))
}

/// When the quota of a caller is whole again, under a policy of which it is one.
pub fn rate(policy: &str, caller: &str) -> Key<u64> {
    Key::new(format!("rate/{policy}/{caller}"))
}

/// A minted API key, by the SHA-256 of its text.
pub fn api_key(hash: &[u8; 32]) -> Key<KeyRecord> {
    Key::new(format!("{API_KEYS}{}", hex::encode(hash)))
}

/// Every minted API key; what follows the prefix is the hash in hex.
pub fn api_keys() -> Family<KeyRecord> {
    Family { prefix: API_KEYS, value: PhantomData }
}

/// The hash in hex of the minted API key of this name.
pub fn api_key_name(name: &str) -> Key<String> {
    Key::new(format!("api-key-name/{name}"))
}

/// How far the events of an identity registry are in its pages.
pub fn agent_progress(chain: ChainId, registry: Address) -> Key<AgentProgress> {
    Key::new(format!("agents/{chain}/{registry:#x}/progress"))
}

/// Some agents of an identity registry, by their ids.
pub fn agent_page(chain: ChainId, registry: Address, page: u64) -> Key<AgentPage> {
    Key::new(format!("agents/{chain}/{registry:#x}/{page}"))
}

/// A submission of reputation.
pub fn submission(id: Uuid) -> Key<SubmissionRecord> {
    Key::new(format!("submission/{id}"))
}

/// That a submission has not ended. In the order of the keys the oldest is first.
pub fn open_submission(created_at: Time, id: Uuid) -> Key<Uuid> {
    Key::new(format!("{OPEN_SUBMISSIONS}{:015}-{id}", created_at.timestamp_millis().max(0)))
}

/// Every submission that has not ended.
pub fn open_submissions() -> Family<Uuid> {
    Family { prefix: OPEN_SUBMISSIONS, value: PhantomData }
}

/// What a caller began under one `Idempotency-Key`, by the hash of that.
pub fn submission_retry(owner: &str, hash: &[u8; 32]) -> Key<RetryRecord> {
    Key::new(format!("submission-retry/{owner}/{}", hex::encode(hash)))
}

/// A submission to a server that is a sandbox.
pub fn rehearsal(id: Uuid) -> Key<SubmissionRecord> {
    Key::new(format!("rehearsal/{id}"))
}

/// What a caller began under one `Idempotency-Key` on a server that is a sandbox.
pub fn rehearsal_retry(owner: &str, hash: &[u8; 32]) -> Key<RetryRecord> {
    Key::new(format!("rehearsal-retry/{owner}/{}", hex::encode(hash)))
}

/// How long the latest submissions took.
pub fn submission_durations() -> Key<Vec<u32>> {
    Key::new("submission-durations".to_owned())
}

/// A payment by signature.
pub fn payment(PaymentId { chain, asset, from, nonce }: &PaymentId) -> Key<PaymentRecord> {
    Key::new(format!("payment/{chain}/{asset:#x}/{from:#x}/{nonce:#x}"))
}

/// That a payment is on its way to the chain. In the order of the keys the oldest is first.
pub fn open_payment(claimed_at: Time, PaymentId { asset, from, nonce, .. }: &PaymentId) -> Key<PaymentId> {
    Key::new(format!("{OPEN_PAYMENTS}{:015}-{asset:#x}-{from:#x}-{nonce:#x}", claimed_at.timestamp_millis().max(0)))
}

/// Every payment on its way to the chain.
pub fn open_payments() -> Family<PaymentId> {
    Family { prefix: OPEN_PAYMENTS, value: PhantomData }
}

const API_KEYS: &str = "api-key/";
const OPEN_PAYMENTS: &str = "payment-open/";
const OPEN_SUBMISSIONS: &str = "submission-open/";
pub(super) const LEASES: &str = "lease/";

/// The record behind a lease. Names come from a small fixed set: these records are never removed.
pub(super) fn lease(name: &str) -> Key<LeaseRecord> {
    Key::new(format!("{LEASES}{name}"))
}

/// The key of this text, as it was found in the store.
pub(super) fn any<T>(text: String) -> Key<T> {
    Key::new(text)
}

impl<T> Key<T> {
    fn new(text: String) -> Self {
        Self { text, value: PhantomData }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The same key for values of another type: how a record comes to be damaged.
    #[cfg(test)]
    pub(super) fn stand_in<U>(key: &Key<U>) -> Self {
        Self::new(key.text.clone())
    }
}

impl<T> Family<T> {
    pub(super) fn prefix(&self) -> &'static str {
        self.prefix
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        Self::new(self.text.clone())
    }
}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
