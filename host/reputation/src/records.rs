//! The stored record of a submission: every decision, before it has an effect outside.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use assay_access::records::Payer;
use assay_domain::{Address, B256, ChainId, Coverage, ModelPin, Tag, Time};
use assay_outbox::nonce::{LandedRecord, NonceRecord};
use assay_store::{Family, Key};

/// Submissions that have not ended. Keys sort by time of creation.
pub(crate) const OPEN_SUBMISSIONS: Family<Uuid> = Family::listed("submission-open/");

/// The submissions that each API key paid for, the newest first. They are read in pages.
pub(crate) const OWN_SUBMISSIONS: Family<OwnRecord> = Family::listed("submission-of/");

/// The fields by which a search finds a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnRecord {
    pub id: Uuid,
    pub agent_id: u64,
    pub address: Address,
    pub stage: Stage,
}

/// The beginning of the keys of [`OWN_SUBMISSIONS`] for the owner of `meter`, which is hashed because a name may have
/// any characters.
pub(crate) fn own_prefix(meter: &str) -> String {
    format!("{}/", hex::encode(Sha256::digest(meter)))
}

/// The entry of a submission among those of the key `meter`. Keys sort the newest first.
pub(crate) fn own_submission(meter: &str, created_at: Time, id: Uuid) -> Key<OwnRecord> {
    const END: i64 = 999_999_999_999_999;
    let until_end = END - created_at.timestamp_millis().clamp(0, END);
    OWN_SUBMISSIONS.key(format_args!("{}{until_end:015}-{id}", own_prefix(meter)))
}

/// A submission of reputation.
pub fn submission(id: Uuid) -> Key<SubmissionRecord> {
    Family::new("submission/").key(id)
}

/// The entry of a submission among the open ones.
pub(crate) fn open_submission(created_at: Time, id: Uuid) -> Key<Uuid> {
    OPEN_SUBMISSIONS.key(format_args!("{:015}-{id}", created_at.timestamp_millis().max(0)))
}

/// The submission that a caller began under one `Idempotency-Key`, by the SHA-256 of that key; stored for 24 hours.
pub(crate) fn submission_retry(owner: &str, hash: &[u8; 32]) -> Key<RetryRecord> {
    Family::new("submission-retry/").key(format_args!("{owner}/{}", hex::encode(hash)))
}

/// Seconds that the latest submissions took, latest last.
pub(crate) fn submission_durations() -> Key<Vec<u32>> {
    Key::single("submission-durations")
}

/// The stage of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    Pending,
    Scoring,
    Uploading,
    Submitting,
    Confirmed,
    Failed,
}

impl Stage {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Scoring, Self::Uploading, Self::Submitting, Self::Confirmed, Self::Failed];

    /// Whether no event changes it any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Confirmed | Self::Failed)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Scoring => "scoring",
            Self::Uploading => "uploading",
            Self::Submitting => "submitting",
            Self::Confirmed => "confirmed",
            Self::Failed => "failed",
        }
    }
}

/// One submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionRecord {
    pub id: Uuid,
    /// Token id in the identity registry.
    pub agent_id: u64,
    /// The address whose score is submitted.
    pub address: Address,
    /// Each once, in the requested order.
    pub tags: Vec<Tag>,
    pub payer: Payer,
    /// Chain and registries of the configuration under which it was accepted.
    pub chain: ChainId,
    pub identity_registry: Address,
    pub reputation_registry: Address,
    /// The account that gives the feedback.
    pub client: Address,
    pub created_at: Time,
    pub updated_at: Time,
    pub stage: Stage,
    /// Failures in a row since the last step that succeeded.
    #[serde(default)]
    pub attempts: u32,
    /// The time of the next attempt.
    pub next_at: Time,
    /// Submissions before it in the queue when it was accepted.
    #[serde(default)]
    pub ahead: usize,
    /// The obstacle, or the last failure.
    #[serde(default)]
    pub trouble: Option<String>,
    #[serde(default)]
    pub scores: Option<ScoresRecord>,
    /// The document of all tags, in records of older versions; otherwise each tag has its own.
    #[serde(default)]
    pub document: Option<DocumentRecord>,
    /// The start of its transactions; absent before the document is on IPFS.
    #[serde(default)]
    pub start: Option<Start>,
    /// One entry for each tag, once scored.
    #[serde(default)]
    pub feedback: Vec<FeedbackRecord>,
    /// Why it will fail, once no signed transaction can be mined any more.
    #[serde(default)]
    pub giving_up: Option<String>,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<String>,
    /// Its units or payment stay spent if it fails: the scores were computed, and the registry refused the feedback.
    #[serde(default)]
    pub charged: bool,
    /// The units of a read stay spent if it fails: the wallet was read, and cannot be scored.
    #[serde(default)]
    pub was_read: bool,
}

impl SubmissionRecord {
    /// The document of a tag, once scored.
    pub fn document_of(&self, tag: Tag) -> Option<&DocumentRecord> {
        let own = self.feedback.iter().find(|feedback| feedback.tag == tag)?.document.as_ref();
        own.or(self.document.as_ref())
    }

    /// Whether it failed and its payment was kept: the same request then begins another submission.
    pub(super) fn keeps_payment(&self) -> bool {
        self.stage == Stage::Failed && !self.charged && matches!(self.payer, Payer::Payment(_))
    }

    /// The document of the first tag.
    pub fn first_document(&self) -> Option<&DocumentRecord> {
        self.tags.first().and_then(|tag| self.document_of(*tag))
    }
}

/// The answers of the models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScoresRecord {
    pub credit_score: u32,
    pub sybil_score: u8,
    pub identity_count: u32,
    pub credit_model: ModelPin,
    pub sybil_model: ModelPin,
    /// How attestations were counted.
    pub identity_scheme: String,
    /// When the chains had been read.
    pub read_at: Time,
    pub coverage: Coverages,
}

/// How completely the data behind the scores was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverages {
    pub chains: Coverage,
    pub credit_events: Coverage,
    pub identity: Coverage,
}

/// The document for IPFS, with its exact bytes, which are UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentRecord {
    pub text: String,
    pub cid: String,
    /// Keccak-256 of the bytes.
    pub hash: B256,
}

/// The state of the chain before the first transaction of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// No transaction of it is in this block or an older one.
    pub block: u64,
    /// Feedback that the client had given this agent by then.
    pub given: u64,
    /// The owner of the agent; absent in older records.
    #[serde(default)]
    pub owner: Option<Address>,
}

/// The feedback of one tag. At most one nonce at a time is in use for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackRecord {
    pub tag: Tag,
    pub value: u32,
    /// Of the model that made the value.
    pub version: String,
    /// Absent in records of older versions; see [`SubmissionRecord::document_of`].
    #[serde(default)]
    pub document: Option<DocumentRecord>,
    #[serde(default)]
    pub slot: Option<NonceRecord>,
    #[serde(default)]
    pub landed: Option<LandedRecord>,
    /// Nonces that were spent without feedback.
    #[serde(default)]
    pub lost: Vec<u64>,
}

/// The submission that a caller began under an `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RetryRecord {
    pub submission: Uuid,
    /// The digest of the request.
    pub request: B256,
}

/// The nonces whose outcome is not final.
pub(super) fn nonces(records: &[SubmissionRecord]) -> impl Iterator<Item = &NonceRecord> {
    let open = records.iter().flat_map(|record| &record.feedback).filter(|feedback| feedback.landed.is_none());
    open.filter_map(|feedback| feedback.slot.as_ref())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{document, sample};

    #[test]
    fn a_submission_of_an_older_version_has_one_document_for_all_tags() {
        let feedback = document::feedback(&sample::pending(), &sample::scores(), &document::Beside::default()).unwrap();
        let document = feedback[0].document.clone().unwrap();
        let now = SubmissionRecord { stage: Stage::Submitting, feedback, ..sample::pending() };
        let mut old = serde_json::to_value(&now).unwrap();
        old["document"] = serde_json::to_value(&document).unwrap();
        for feedback in old["feedback"].as_array_mut().unwrap() {
            assert_ne!(feedback.as_object_mut().unwrap().remove("document"), Some(Value::Null));
        }
        assert_eq!(old["feedback"][0]["tag"], json!("creditScore"));
        let read: SubmissionRecord = serde_json::from_value(old).unwrap();
        for tag in Tag::ALL {
            assert_eq!(read.document_of(tag), Some(&document));
        }
        assert_eq!(read.first_document(), Some(&document));
        assert_ne!(now.document_of(Tag::SybilRisk), now.document_of(Tag::CreditScore));
    }
}
