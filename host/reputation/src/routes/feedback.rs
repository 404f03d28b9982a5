//! The documents of a submission, byte for byte as they are on IPFS.

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{
    ReputationRoutes,
    parameters::{SubmissionPath, TagQuery},
    status::find,
};
use crate::responses;
use assay_agents::AgentPath;
use assay_http::ApiError;

/// Keccak-256 of the body, which the registry stores as `feedbackHash`.
const HASH: HeaderName = HeaderName::from_static("x-feedback-hash");
/// Cacheable for ever: its bytes never change.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The feedback document of a submission; free.
///
/// Each tag has its own document, with its value at the top and the values of all tags in `feedback`. The bytes are
/// those on IPFS. `X-Feedback-Hash` is their Keccak-256, which is also on the chain.
#[utoipa::path(
    get, path = "/api/v2/agents/{agent_id}/reputation/feedback/{submission_id}", tag = "reputation",
    operation_id = "get_agent_feedback_document",
    params(AgentPath, SubmissionPath, TagQuery),
    responses(
        (status = 200, description = "The document", body = Value),
        responses::OfSubmission, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn feedback(
    State(state): State<ReputationRoutes>,
    AgentPath(agent_id): AgentPath,
    id: SubmissionPath,
    TagQuery(tag): TagQuery,
) -> Result<Response, ApiError> {
    let record = find(&state, agent_id, id).await?;
    let none = |detail: String| ApiError::new(StatusCode::NOT_FOUND, detail);
    if let Some(tag) = tag.filter(|tag| !record.tags.contains(tag)) {
        return Err(none(format!("This submission has no feedback for {tag}")));
    }
    let found = tag.map_or_else(|| record.first_document(), |tag| record.document_of(tag));
    let unwritten = || none("The feedback document of this submission has not been written yet".to_owned());
    let document = found.cloned().ok_or_else(unwritten)?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, FOR_EVER);
    for (name, value) in [(header::ETAG, format!("\"{}\"", document.cid)), (HASH, document.hash.to_string())] {
        // Letters and digits are always a valid header value.
        headers.extend(HeaderValue::try_from(value).map(|value| (name, value)));
    }
    Ok((headers, document.text).into_response())
}
