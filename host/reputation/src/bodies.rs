//! A submission of reputation: the response that accepts it, and its status.

use crate::records::{Stage, SubmissionRecord};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use assay_domain::{B256, Tag};
use assay_http::values::{Checksummed, Moment};

/// The states of a submission; the last two are final.
#[derive(Debug, Clone, Copy, ToSchema)]
#[schema(as = SubmissionStatus, rename_all = "snake_case")]
pub enum SubmissionStatus {
    Pending,
    Scoring,
    Uploading,
    Submitting,
    Confirmed,
    Failed,
}

/// An accepted submission.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Submitted, example = json!({
    "submission_id": "550e8400-e29b-41d4-a716-446655440000", "agent_id": 1, "status": "pending",
    "estimated_completion_seconds": 45,
    "status_url": "/api/v2/agents/1/reputation/status/550e8400-e29b-41d4-a716-446655440000",
    "tags": ["creditScore", "sybilRisk", "identityCount"]
}))]
pub struct SubmittedBody {
    pub submission_id: Uuid,
    pub agent_id: u64,
    /// Always `pending`.
    #[schema(value_type = SubmissionStatus)]
    pub status: &'static str,
    /// Seconds that recent submissions needed until they were confirmed, as often as the queue before it needs.
    pub estimated_completion_seconds: u32,
    /// The URL to poll, relative to the server.
    pub status_url: String,
    #[schema(value_type = Vec<String>)]
    pub tags: Vec<Tag>,
}

/// The status of a submission.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = SubmissionState, example = json!({
    "submission_id": "550e8400-e29b-41d4-a716-446655440000", "agent_id": 1, "status": "confirmed",
    "scores": { "credit_score": 847, "sybil_score": 12, "identity_count": 3 },
    "transactions": [{
        "tag1": "creditScore", "transaction_hash": "0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b",
        "block_number": 41_700_000, "gas_used": 190_928
    }],
    "feedback_uri": "ipfs://bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e", "error": null,
    "created_at": "2026-01-15T10:30:00Z", "updated_at": "2026-01-15T10:30:41Z"
}))]
pub struct SubmissionBody {
    pub submission_id: Uuid,
    pub agent_id: u64,
    #[schema(value_type = SubmissionStatus)]
    pub status: &'static str,
    /// Null before scoring.
    pub scores: Option<SubmittedScores>,
    /// The confirmed transactions, one for each tag.
    pub transactions: Vec<FeedbackTransactionBody>,
    /// The document of the first tag, which has the values of all tags; null until it is stored.
    pub feedback_uri: Option<String>,
    /// Why it failed, and whether the units were refunded.
    pub error: Option<String>,
    /// The obstacle, while the submission is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Moment,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
}

/// One page of the submissions of a key, the newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OwnSubmissions)]
pub struct OwnSubmissionsBody {
    pub submissions: Vec<OwnSubmissionBody>,
    /// Of all pages.
    pub total: usize,
    pub query: String,
    pub page: u64,
    pub limit: u64,
}

/// A submission in the list of its key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OwnSubmission)]
pub struct OwnSubmissionBody {
    submission_id: Uuid,
    agent_id: u64,
    #[schema(value_type = String)]
    address: Checksummed,
    #[schema(value_type = Vec<String>)]
    tags: Vec<Tag>,
    #[schema(value_type = SubmissionStatus)]
    status: &'static str,
    /// The URL of everything else, relative to the server.
    status_url: String,
    /// Why it failed.
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Moment,
}

impl OwnSubmissionBody {
    pub fn of(record: &SubmissionRecord, status_url: String) -> Self {
        Self {
            submission_id: record.id,
            agent_id: record.agent_id,
            address: Checksummed(record.address),
            tags: record.tags.clone(),
            status: record.stage.as_str(),
            status_url,
            error: record.error.clone(),
            created_at: Moment(record.created_at),
            updated_at: Moment(record.updated_at),
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = SubmissionScores)]
pub struct SubmittedScores {
    #[schema(minimum = 300, maximum = 1000)]
    pub credit_score: u32,
    /// 0 (human) to 100 (bot).
    #[schema(maximum = 100)]
    pub sybil_score: u8,
    pub identity_count: u32,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = FeedbackTransaction)]
pub struct FeedbackTransactionBody {
    #[schema(value_type = String)]
    pub tag1: Tag,
    #[schema(value_type = String)]
    pub transaction_hash: B256,
    pub block_number: u64,
    pub gas_used: u64,
}

impl SubmittedBody {
    pub fn of(record: &SubmissionRecord, expected: u32, status_url: String) -> Self {
        Self {
            submission_id: record.id,
            agent_id: record.agent_id,
            status: Stage::Pending.as_str(),
            estimated_completion_seconds: expected,
            status_url,
            tags: record.tags.clone(),
        }
    }
}

impl SubmissionBody {
    pub fn of(record: &SubmissionRecord) -> Self {
        let scores = record.scores.as_ref().map(|scores| SubmittedScores {
            credit_score: scores.credit_score,
            sybil_score: scores.sybil_score,
            identity_count: scores.identity_count,
        });
        let landed = record.feedback.iter().filter_map(|feedback| Some((feedback.tag, feedback.landed?)));
        let document = record.first_document().filter(|_| record.start.is_some());
        Self {
            submission_id: record.id,
            agent_id: record.agent_id,
            status: record.stage.as_str(),
            scores,
            transactions: landed
                .map(|(tag1, landed)| FeedbackTransactionBody {
                    tag1,
                    transaction_hash: landed.hash,
                    block_number: landed.block,
                    gas_used: landed.gas_used,
                })
                .collect(),
            feedback_uri: document.map(|document| format!("ipfs://{}", document.cid)),
            error: record.error.clone(),
            detail: record.giving_up.clone().or_else(|| record.trouble.clone()).filter(|_| !record.stage.is_terminal()),
            created_at: Moment(record.created_at),
            updated_at: Moment(record.updated_at),
        }
    }
}
