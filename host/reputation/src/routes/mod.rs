//! Submissions of reputation, under both paths of the API: the submission, its status, and its document.

mod feedback;
mod notice;
mod own;
mod paid;
mod parameters;
mod status;
mod wait;

use std::convert::Infallible;

use axum::{
    Json,
    extract::{FromRef, FromRequestParts, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    Barred, Notices, Reputation, Request, SubmitError, bodies::SubmittedBody, records::SubmissionRecord, responses,
};
use assay_access::AccessError;
use assay_agents::{AgentPath, no_agent};
use assay_domain::{Tag, parse_address};
use assay_http::{
    ApiError, Gate,
    extract::{JsonObject, RetryKey},
    fresh,
};
use assay_payment::{Payer, Payments, responses as payment, seconds_until};

/// The state of the handlers of submissions.
#[derive(Clone)]
pub struct ReputationRoutes {
    pub gate: Gate,
    /// Absent when not configured.
    pub reputation: Option<Reputation>,
    /// Clients that wait for a submission; absent if there are none.
    pub notices: Option<Notices>,
    /// The means of payment of a submission.
    pub payments: Payments,
}

impl FromRef<ReputationRoutes> for Payments {
    fn from_ref(state: &ReputationRoutes) -> Self {
        state.payments.clone()
    }
}

assay_http::rows! { ReputationRoutes:
    POST "/api/v2/agents/{agent_id}/reputation" Submission submit;
    GET "/api/v2/agents/{agent_id}/reputation/status/{submission_id}" Status [open] status::status;
    GET "/api/v2/agents/{agent_id}/reputation/feedback/{submission_id}" Status [open] feedback::feedback;
    GET "/api/v2/submissions" Usage own::own;
    POST "/api/v2/reputation/{agent_id}" Submission submit as "submit_reputation";
    GET "/api/v2/reputation/{agent_id}/status/{submission_id}" Status [open] status::status
        as "get_reputation_status";
    GET "/api/v2/reputation/{agent_id}/feedback/{submission_id}" Status [open] feedback::feedback
        as "get_feedback_document";
}

/// Most tags read from a request. There are three tags, and a request may repeat them.
const MOST_TAGS: usize = 100;

/// The address to score, and the tags to submit.
#[derive(Deserialize, ToSchema)]
#[schema(as = Submission, example = json!({
    "address": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "tags": ["creditScore", "sybilRisk"]
}))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmissionBodyIn {
    /// Ethereum address to score for this agent.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    address: String,
    /// `creditScore`, `sybilRisk`, `identityCount`; all three by default.
    #[schema(example = json!(["creditScore", "sybilRisk", "identityCount"]))]
    tags: Option<Vec<TagName>>,
}

/// The tags of feedback on an agent.
#[derive(Deserialize, ToSchema)]
#[schema(as = Tag, rename_all = "camelCase")]
pub(crate) enum TagName {
    CreditScore,
    SybilRisk,
    IdentityCount,
}

/// Submits reputation for an agent.
///
/// The response is immediate. Scoring, upload and the transactions happen afterwards, and `status_url` shows their
/// progress. The units of a submission that fails are refunded, unless its scores were computed and the registry then
/// refused the feedback; if the wallet cannot be scored, all but those of a score, for it was read. A request with the
/// same `Idempotency-Key` and body within a day is the same submission.
///
/// When the server accepts payments by x402, a request without a key is answered with 402 and the terms, and a request
/// with a payment is accepted once the payment is settled. The same request sent again with the same payment, or with
/// another one while the first holds, is the same submission, and nothing more is paid; another request needs a payment
/// of its own. The payment of a submission that fails is not lost, with the same exception: the same request is then
/// tried again for it.
#[utoipa::path(
    post, path = "/api/v2/agents/{agent_id}/reputation", tag = "reputation", operation_id = "submit_agent_reputation",
    params(AgentPath, Payer, RetryKey),
    request_body = SubmissionBodyIn,
    responses(
        (
            status = 202, description = "Accepted", body = SubmittedBody,
            headers(
                ("X-PAYMENT-RESPONSE" = String, description = "Outcome of the payment by x402, version 1"),
                ("PAYMENT-RESPONSE" = String, description = "Outcome of the payment by x402, version 2"),
            ),
        ),
        payment::Payable, responses::SubmissionRefused, responses::Bodied, responses::Keyed, responses::Units),
    security(("key" = []), ("x402" = [])),
)]
pub(crate) async fn submit(
    payer: Payer,
    State(state): State<ReputationRoutes>,
    form: Form,
    AgentPath(agent_id): AgentPath,
    RetryKey(retry_key): RetryKey,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let (address, tags) = (body.text("address"), body.list::<Tag>("tags", MOST_TAGS));
    if tags.as_ref().is_some_and(Vec::is_empty) && body.is_good() {
        body.refuse("tags", "give at least one tag, or omit `tags` for all three");
    }
    body.finish()?;
    let missing = || ApiError::new(StatusCode::BAD_REQUEST, "Address is required in the request body");
    let address = parse_address(&address.ok_or_else(missing)?).map_err(|error| ApiError::invalid_address(&error))?;
    let mut each_once = Vec::new();
    for tag in tags.unwrap_or_else(|| Tag::ALL.to_vec()) {
        if !each_once.contains(&tag) {
            each_once.push(tag);
        }
    }
    let request =
        |payer: assay_access::records::Payer| Request { agent_id, address, tags: each_once, payer, retry_key };
    match &payer {
        Payer::Key(caller) => {
            let reputation = state.service()?;
            let record = reputation.submit(request(caller.payer())).await.map_err(refuse)?;
            caller.charged().await;
            Ok(accepted(reputation, &record, form).await)
        }
        Payer::Payment(offered) => {
            state.payments.refuse_scripted(agent_id, offered)?;
            paid::submit(&state, agent_id, offered, request, form).await
        }
    }
}

/// The path on which a submission arrived, which decides the path of its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Agents,
    Reputation,
}

impl Form {
    fn status_url(self, agent_id: u64, id: uuid::Uuid) -> String {
        match self {
            Self::Agents => format!("/api/v2/agents/{agent_id}/reputation/status/{id}"),
            Self::Reputation => format!("/api/v2/reputation/{agent_id}/status/{id}"),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Form {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(if parts.uri.path().starts_with("/api/v2/agents/") { Self::Agents } else { Self::Reputation })
    }
}

/// The answer to a submission that is in the store. It cannot fail: a client that receives an error pays again.
async fn accepted(reputation: &Reputation, record: &SubmissionRecord, form: Form) -> Response {
    let expected = reputation.expected_seconds(record).await;
    let body = SubmittedBody::of(record, expected, form.status_url(record.agent_id, record.id));
    (StatusCode::ACCEPTED, fresh::once(Json(body))).into_response()
}

/// # Errors
/// 502 when submissions are not configured.
impl ReputationRoutes {
    fn service(&self) -> Result<&Reputation, ApiError> {
        let words =
            "Reputation is not configured on this server; its operator can add [agents], [reputation] and [ipfs]";
        let none = || ApiError::coded(StatusCode::BAD_GATEWAY, "reputation_not_configured", words);
        self.reputation.as_ref().ok_or_else(none)
    }
}

fn refuse(error: SubmitError) -> ApiError {
    match error {
        SubmitError::NoAgent(id) => no_agent(id),
        SubmitError::OwnAgent(_) => ApiError::coded(
            StatusCode::UNPROCESSABLE_ENTITY,
            "own_agent",
            format!("{error}; nothing was paid. Submit for another agent"),
        ),
        SubmitError::Barred(barred) => refuse_barred(&barred),
        SubmitError::Registry(error) => {
            tracing::warn!(%error, "the identity registry was not read");
            ApiError::coded(
                StatusCode::BAD_GATEWAY,
                "registry_unreadable",
                "Failed to read from the Identity Registry contract",
            )
            .retry_after(10)
        }
        SubmitError::Unpaid { cost, used, limit } => AccessError::UnitsExhausted { cost, used, limit }.into(),
        // A request with a payment gets 402 with the terms instead, from `paid`.
        SubmitError::NotPaid => ApiError::internal("not_paid", error),
        SubmitError::OtherRequest => ApiError::coded(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "This Idempotency-Key was used for another request within the last day; use another key for another \
             request",
        ),
        SubmitError::Store(error) => ApiError::store(error),
    }
}

/// An agent, an owner or a payer whose reverted transactions cost too much gas.
fn refuse_barred(barred: &Barred) -> ApiError {
    let error = match barred {
        Barred::Agent { .. } | Barred::Owner { .. } => {
            ApiError::coded(StatusCode::UNPROCESSABLE_ENTITY, "agent_set_aside", barred.to_string())
        }
        Barred::Payer { spent, .. } => {
            let code = if spent.is_by_transfers() { "transfers_reverted" } else { "feedback_reverted" };
            ApiError::exceeded("reverted-gas", code, barred.to_string())
        }
    };
    error.retry_after(seconds_until(barred.until()))
}
