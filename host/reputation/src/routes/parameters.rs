//! The id of a submission in the path, the `Idempotency-Key` that identifies a repeated request, and the search of
//! submissions.

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use uuid::Uuid;

use assay_domain::{Tag, UnknownTag};
use assay_http::{
    ApiError,
    extract::{in_header, in_path, limited, optional, param, refused, single},
    parameters,
};

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

impl<S: Send + Sync> FromRequestParts<S> for SubmissionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self(param(parts, state, "submission_id", |text| text.parse().ok()).await.flatten()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RetryKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        if text.is_empty() || text.len() > LONGEST_KEY {
            let why = format!("Idempotency-Key must be 1 to {LONGEST_KEY} printable characters");
            return Err(ApiError::coded(StatusCode::BAD_REQUEST, "idempotency_key", why));
        }
        Ok(Self(Some(text.to_owned())))
    }
}

/// `tag`: the tag whose feedback document is requested; the submission's first by default.
pub(crate) struct TagQuery(pub Option<Tag>);

parameters!(TagQuery: limited(
    optional::<String>("tag", "The tag whose document is returned; the first of the submission by default")
        .example(Some(Tag::CreditScore.as_str().into())),
    |schema| schema.enum_values = Some(Tag::ALL.map(|tag| tag.as_str().into()).to_vec()),
));

impl<S: Send + Sync> FromRequestParts<S> for TagQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(text) = single(parts, "tag")? else { return Ok(Self(None)) };
        text.parse().map(|tag| Self(Some(tag))).map_err(|why: UnknownTag| refused("tag", why))
    }
}

/// `q`, a text that submissions are searched for; all by default.
pub(crate) struct SearchQuery(pub String);

parameters!(SearchQuery: optional::<String>(
    "q",
    "Part of a submission id or address, an agent id, or a status; all submissions by default",
).example(Some("failed".into())));

impl<S: Send + Sync> FromRequestParts<S> for SearchQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(single(parts, "q")?.unwrap_or_default().trim().to_owned()))
    }
}
