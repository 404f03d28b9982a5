//! Converts the errors of other modules to responses.

use axum::http::StatusCode;

use super::{ApiError, App, extract::Caller, middleware, route::BodyLimit};
use assay_access::AccessError;
use assay_chain::NameError;
use assay_domain::ChainId;
use assay_registry::{LoadError, RoleError, ScoreError};
use assay_scoring::{
    NotScored, Scoring, ScoringError,
    history::HistoryError,
    rollout::{MoveError, StageError},
};
use assay_store::StoreError;

/// `Retry-After` of an overloaded server, in seconds.
const MOMENT: u64 = 1;
/// `Retry-After` when a chain does not answer or a model is being loaded, in seconds.
const WHILE: u64 = 10;

impl App {
    /// The response to an error about a subject.
    pub(crate) fn refuse(&self, error: ScoringError) -> ApiError {
        match error {
            ScoringError::ChainsDown if !self.reads_chains => ApiError::coded(
                StatusCode::BAD_GATEWAY,
                "no_chain",
                "No chain is configured on this server; its operator can add one, or start it with --sandbox",
            ),
            error => error.into(),
        }
    }

    /// Does `work` about this many subjects for the caller's units.
    ///
    /// # Errors
    /// Those of `work`, and 429 without units.
    pub(crate) async fn charged<T>(
        &self,
        caller: &Caller,
        subjects: usize,
        work: impl Future<Output = Result<T, ScoringError>>,
    ) -> Result<T, ApiError> {
        caller.pay_each(self, subjects, async { work.await.map_err(|error| self.refuse(error)) }).await
    }

    /// The scoring of what is read on chains; `lack` says what a sandbox therefore does not do.
    ///
    /// # Errors
    /// 409 in a sandbox.
    pub(crate) fn chain_scoring(&self, lack: &str) -> Result<&Scoring, ApiError> {
        let words = || format!("A sandbox {lack}: its answers are mocks. Ask a server that reads chains");
        if self.is_sandbox { Err(ApiError::coded(StatusCode::CONFLICT, "sandbox", words())) } else { Ok(&self.scoring) }
    }

    /// # Errors
    /// 502 for a chain that the API defines and this server has not configured.
    pub(crate) fn require_chain(&self, id: ChainId) -> Result<(), ApiError> {
        if self.reads(id) { Ok(()) } else { Err(ApiError::chain_not_configured(id)) }
    }
}

impl ApiError {
    /// The store has failed.
    pub(crate) fn store(error: StoreError) -> Self {
        let not_now =
            |code, detail: &'static str| Self::coded(StatusCode::SERVICE_UNAVAILABLE, code, detail).retry_after(MOMENT);
        match error {
            StoreError::Away { .. } => {
                not_now("store_away", "Records cannot be reached at this moment, so nothing was done; try again")
            }
            StoreError::Unwritable { .. } => {
                not_now("store_unwritable", "Records cannot be written at this moment, so nothing was done; try again")
            }
            StoreError::Unanswered { .. } => not_now(
                "store_unanswered",
                "Whether this was done is not known: the answer of the store was lost. Look whether it was, or repeat \
                 it with the same Idempotency-Key where there is one",
            ),
            error => Self::internal("store", error),
        }
    }
}

impl From<ScoringError> for ApiError {
    fn from(error: ScoringError) -> Self {
        match error {
            ScoringError::NotFound => Self::new(StatusCode::NOT_FOUND, "Address not found or has no on-chain activity"),
            ScoringError::NoneValid => Self::no_valid_address(),
            ScoringError::Limited(seconds) => middleware::refused_for(seconds),
            ScoringError::NotYetRead => Self::too_slow().retry_after(MOMENT),
            ScoringError::ChainsDown | ScoringError::ChainsMissing(_) | ScoringError::ChainDown(_) => {
                Self::new(StatusCode::BAD_GATEWAY, error.to_string()).retry_after(WHILE)
            }
            ScoringError::Name(NameError::NotConfigured) => {
                Self::coded(StatusCode::BAD_GATEWAY, "names_not_configured", error.to_string())
            }
            ScoringError::Name(_) => {
                Self::coded(StatusCode::BAD_GATEWAY, "name_unreadable", error.to_string()).retry_after(WHILE)
            }
            ScoringError::Version(error) => error.into(),
            ScoringError::Model(error) => error.into(),
        }
    }
}

impl From<ScoreError> for ApiError {
    fn from(error: ScoreError) -> Self {
        match error {
            ScoreError::Busy { .. } => Self::busy(),
            ScoreError::NoChampion(_) => {
                Self::coded(StatusCode::SERVICE_UNAVAILABLE, error.code(), capital(&error.to_string()))
                    .retry_after(WHILE)
            }
            ScoreError::Refused(why) => Self::coded(StatusCode::NOT_FOUND, NotScored::CODE, NotScored(why).to_string()),
            // The registry has logged the fault, with the model.
            _ if error.is_fault() => Self::failed(error.code()),
            _ => Self::internal(error.code(), error),
        }
    }
}

impl From<HistoryError> for ApiError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Store(error) => Self::store(error),
            HistoryError::Busy(_) => {
                Self::coded(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string()).retry_after(WHILE)
            }
        }
    }
}

impl From<LoadError> for ApiError {
    fn from(error: LoadError) -> Self {
        let status = match error {
            LoadError::VersionTaken { .. } => StatusCode::CONFLICT,
            LoadError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            LoadError::Closed => StatusCode::SERVICE_UNAVAILABLE,
            LoadError::Busy | LoadError::CompilerStopped(_) => {
                return Self::coded(StatusCode::SERVICE_UNAVAILABLE, error.code(), capital(&error.to_string()))
                    .retry_after(WHILE);
            }
            _ if error.is_file_fault() => StatusCode::UNPROCESSABLE_ENTITY,
            _ => return Self::internal(error.code(), error),
        };
        Self::coded(status, error.code(), capital(&error.to_string()))
    }
}

impl ApiError {
    /// A body of `length` bytes, where that is known, or of more than the limit.
    pub fn beyond(BodyLimit { most, with_large }: BodyLimit, length: Option<u64>) -> Self {
        if most == with_large || length.is_some_and(|length| length > with_large) {
            return Self::too_large(most);
        }
        let size = length.map_or_else(|| format!("more than {most}"), |length| length.to_string());
        let error = LoadError::needs_large(&size, most);
        Self::coded(StatusCode::PAYLOAD_TOO_LARGE, error.code(), capital(&error.to_string()))
    }
}

impl From<StageError> for ApiError {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Load(error) => error.into(),
            StageError::Store(error) => Self::store(error),
        }
    }
}

impl From<RoleError> for ApiError {
    fn from(error: RoleError) -> Self {
        let status = match error {
            RoleError::Unknown { .. } => StatusCode::NOT_FOUND,
            RoleError::IsChampion { .. }
            | RoleError::ChallengesItself { .. }
            | RoleError::OutOfService { .. }
            | RoleError::NotLoaded { .. }
            | RoleError::NoPrevious(_) => StatusCode::CONFLICT,
            RoleError::Closed => StatusCode::SERVICE_UNAVAILABLE,
            RoleError::Delete { .. } => return Self::internal(error.code(), error),
        };
        Self::coded(status, error.code(), capital(&error.to_string()))
    }
}

impl From<MoveError> for ApiError {
    fn from(error: MoveError) -> Self {
        match error {
            MoveError::Role(error) => error.into(),
            MoveError::Store(error) => Self::store(error),
            MoveError::Contested => Self::coded(StatusCode::CONFLICT, "contested", capital(&error.to_string())),
            MoveError::Guarded { .. } => Self::coded(StatusCode::CONFLICT, "guarded", capital(&error.to_string())),
        }
    }
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::MissingOrInvalid => Self::unauthorized(),
            AccessError::Scope { .. } => Self::coded(StatusCode::FORBIDDEN, "scope", error.to_string()),
            AccessError::UnitsExhausted { used, limit, .. } => {
                let left = limit.saturating_sub(used);
                // Without `Retry-After`: no time helps, an operator has to raise the limit.
                Self::exceeded("units", "units_used_up", error.to_string()).quota("units", limit, left)
            }
            AccessError::Store(error) => Self::store(error),
        }
    }
}

/// Messages begin with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
