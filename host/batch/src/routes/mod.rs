//! `/api/v2/score/batch`, with a job of its own for each table.

mod all;
mod create;
mod one;
mod outcome;

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use uuid::Uuid;

use crate::jobs::{JobError, Jobs};
use assay_domain::ModelVersion;
use assay_http::{
    ApiError,
    extract::{in_path, limited, param},
    parameters,
};
use assay_score::{Ask, ScoreSource};

/// The state of the handlers of batch jobs.
#[derive(Clone)]
pub struct BatchRoutes {
    pub jobs: Jobs,
    pub source: Arc<dyn ScoreSource>,
}

assay_http::rows! { BatchRoutes:
    POST "/api/v2/score/batch/" Score [several table] create::create;
    GET "/api/v2/score/batch/jobs" Models all::list;
    GET "/api/v2/score/batch/{batch_id}" Models one::get;
    GET "/api/v2/score/batch/{batch_id}/result" Models outcome::result;
    PUT "/api/v2/score/batch/{batch_id}/state" Models one::set_state;
    DELETE "/api/v2/score/batch/{batch_id}" Models one::remove;
}

/// `{batch_id}`.
pub(crate) struct BatchPath(pub Uuid);

parameters!(BatchPath: limited(
    in_path::<String>("batch_id", "Id of a batch job", "6f3c1f0a-8f0e-4a6f-9f6d-0c5b3c1d2e4f"),
    |schema| schema.max_length = Some(64),
));

impl<S: Send + Sync> FromRequestParts<S> for BatchPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let id = param(parts, state, "batch_id", |text| Uuid::try_parse(text).ok()).await.flatten();
        id.map(Self).ok_or_else(|| JobError::Unknown.into())
    }
}

impl BatchRoutes {
    /// Refuses a job that no row of could be scored.
    fn check(&self, version: Option<&ModelVersion>) -> Result<(), ApiError> {
        let Ok(scoring) = self.source.of_chains("reads no chains") else { return Ok(()) };
        scoring.require_chains()?;
        let ask = Ask { version, ..Ask::by("", false) };
        Ok(scoring.answering(&ask, None).map(drop)?)
    }
}

impl From<JobError> for ApiError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Unknown => Self::new(StatusCode::NOT_FOUND, error.to_string()),
            JobError::KeyFull(_) => Self::coded(StatusCode::CONFLICT, "too_many_batches", error.to_string()),
            JobError::Ended(..) => Self::coded(StatusCode::CONFLICT, "batch_ended", error.to_string()),
            JobError::Store(error) => Self::store(error),
        }
    }
}
