//! Errors of models and their roles as responses.

use assay_http::ApiError;
use assay_registry::{LoadError, RoleError, ScoreError};
use axum::http::StatusCode;

use crate::{MoveError, StageError};

/// `Retry-After` while a model is being loaded, in seconds.
const WHILE: u64 = 10;

/// The response to an error of a model's call.
pub fn refused_score(error: &ScoreError) -> ApiError {
    match error {
        ScoreError::Busy { .. } => ApiError::busy(),
        ScoreError::NoChampion(_) | ScoreError::Unavailable { .. } => {
            ApiError::worded(StatusCode::SERVICE_UNAVAILABLE, error.code(), error).retry_after(WHILE)
        }
        // The registry has logged the fault, with the model.
        _ if error.is_fault() => ApiError::failed(error.code()),
        _ => ApiError::internal(error.code(), error),
    }
}

/// The response to a request for a version that cannot have the role.
pub fn refused_version(error: &RoleError) -> ApiError {
    let status = match error {
        RoleError::Unknown { .. } => StatusCode::NOT_FOUND,
        RoleError::IsChampion { .. }
        | RoleError::ChallengesItself { .. }
        | RoleError::InSplit { .. }
        | RoleError::OutOfService { .. }
        | RoleError::NotLoaded { .. }
        | RoleError::NoPrevious(_) => StatusCode::CONFLICT,
        RoleError::Starting { .. } => {
            return ApiError::worded(StatusCode::SERVICE_UNAVAILABLE, error.code(), error).retry_after(WHILE);
        }
        RoleError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        RoleError::Delete { .. } => return ApiError::internal(error.code(), error),
    };
    ApiError::worded(status, error.code(), error)
}

/// The response to a component of this size, of which only a server that takes large models takes more than `most`.
pub fn needs_large(size: &str, most: u64) -> ApiError {
    let error = LoadError::needs_large(size, most);
    ApiError::worded(StatusCode::PAYLOAD_TOO_LARGE, error.code(), error)
}

fn refused_component(error: &LoadError) -> ApiError {
    let status = match error {
        LoadError::VersionTaken { .. } => StatusCode::CONFLICT,
        LoadError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        LoadError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        LoadError::Busy | LoadError::CompilerStopped(_) => {
            return ApiError::worded(StatusCode::SERVICE_UNAVAILABLE, error.code(), error).retry_after(WHILE);
        }
        _ if error.is_file_fault() => StatusCode::UNPROCESSABLE_ENTITY,
        _ => return ApiError::internal(error.code(), error),
    };
    ApiError::worded(status, error.code(), error)
}

impl From<StageError> for ApiError {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Load(error) => refused_component(&error),
            StageError::Store(error) => Self::store(error),
        }
    }
}

impl From<MoveError> for ApiError {
    fn from(error: MoveError) -> Self {
        match error {
            MoveError::Role(error) => refused_version(&error),
            MoveError::Store(error) => Self::store(error),
            MoveError::Contested => Self::worded(StatusCode::CONFLICT, "contested", error),
            MoveError::SplitChanged => Self::worded(StatusCode::PRECONDITION_FAILED, "changed_meanwhile", error),
            MoveError::Guarded { .. } | MoveError::SplitGuarded(_) => {
                Self::worded(StatusCode::CONFLICT, "guarded", error)
            }
            MoveError::Split(why) => Self::worded(StatusCode::UNPROCESSABLE_ENTITY, "bad_split", why),
        }
    }
}
