//! Sandbox mode: production paths answered by the sandbox generator, so that a client under test changes its base
//! address and nothing else.

use std::collections::HashSet;

use alloy::primitives::keccak256;
use axum::{
    http::{HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};

use super::ApiError;
use assay_domain::{Address, Subject};

const SANDBOX: HeaderName = HeaderName::from_static("x-assay-sandbox");

/// The address a subject has in the sandbox. Nothing is resolved there: a name stands for the same made-up address each
/// time.
pub fn stand_in(subject: &Subject) -> Address {
    match subject {
        Subject::Address(address) => *address,
        Subject::Name(name) => Address::from_word(keccak256(name.as_str())),
    }
}

/// The addresses of several subjects, each once.
pub fn stand_ins(subjects: &[Subject]) -> Vec<Address> {
    let mut seen = HashSet::new();
    subjects.iter().map(stand_in).filter(|address| seen.insert(*address)).collect()
}

/// Many calls of a model in a row, away from the threads that serve everyone.
///
/// # Errors
/// Those of `calls`, and 500 where they panic.
pub async fn aside<T: Send + 'static>(
    calls: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let request = tracing::Span::current();
    tokio::task::spawn_blocking(move || request.in_scope(calls))
        .await
        .unwrap_or_else(|error| Err(ApiError::internal("panic", error)))
}

/// `answer`, marked where it is a mock.
pub fn marked_if(mock: bool, answer: Response) -> Response {
    if mock { marked(answer) } else { answer }
}

/// `answer`, marked as a mock.
pub fn marked(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response.headers_mut().insert(SANDBOX, HeaderValue::from_static("true"));
    response
}
