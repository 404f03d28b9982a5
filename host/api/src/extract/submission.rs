//! The id of a submission in the path, and the `Idempotency-Key` that identifies a repeated request.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use uuid::Uuid;

use super::parameter::{in_header, in_path, limited, parameters};
use crate::{ApiError, App};

/// `{submission_id}`; `None` when it cannot be the id of a submission.
pub(crate) struct SubmissionPath(pub Option<Uuid>);

parameters!(SubmissionPath: in_path::<String>(
    "submission_id",
    "From the response to the submission",
    "550e8400-e29b-41d4-a716-446655440000",
));

/// Longest `Idempotency-Key`.
const LONGEST_KEY: usize = 255;

/// The header `Idempotency-Key`, when it is sent.
pub(crate) struct RetryKey(pub Option<String>);

parameters!(RetryKey: limited(
    in_header("Idempotency-Key", "Makes a repeated request the same submission, for a day"),
    |schema| (schema.pattern, schema.max_length) = (Some("^[!-~]([ -~]*[!-~])?$".to_owned()), Some(LONGEST_KEY)),
));

impl FromRequestParts<App> for SubmissionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(param(parts, app, "submission_id").await.and_then(|text| text.parse().ok())))
    }
}

impl FromRequestParts<App> for RetryKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        if text.is_empty() || text.len() > LONGEST_KEY {
            let why = format!("Idempotency-Key must be 1 to {LONGEST_KEY} printable characters");
            return Err(ApiError::coded(http::StatusCode::BAD_REQUEST, "idempotency_key", why));
        }
        Ok(Self(Some(text.to_owned())))
    }
}

async fn param(parts: &mut Parts, app: &App, name: &str) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, app).await.ok()?;
    params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}
