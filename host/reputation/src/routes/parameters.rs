//! The id of a submission in the path, and the search of submissions.

use axum::{extract::FromRequestParts, http::request::Parts};
use uuid::Uuid;

use assay_domain::{Tag, UnknownTag};
use assay_http::{
    ApiError,
    extract::{in_path, limited, optional, param, refused, single},
    parameters,
};

/// `{submission_id}`; `None` when it cannot be the id of a submission.
pub(crate) struct SubmissionPath(pub Option<Uuid>);

parameters!(SubmissionPath: in_path::<String>(
    "submission_id",
    "From the response to the submission",
    "550e8400-e29b-41d4-a716-446655440000",
));

impl<S: Send + Sync> FromRequestParts<S> for SubmissionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self(param(parts, state, "submission_id", |text| text.parse().ok()).await.flatten()))
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
