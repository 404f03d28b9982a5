//! Sandbox mode: production paths respond from the sandbox generator, so that a client under test changes only its base
//! URL.

use std::collections::HashSet;

use alloy::primitives::keccak256;
use axum::{
    http::{HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};

use super::ApiError;
use assay_domain::{Address, Subject};

const SANDBOX: HeaderName = HeaderName::from_static("x-assay-sandbox");

/// The address of a subject in the sandbox. Names are not resolved: each has a fixed mock address.
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

/// Runs many calls of a model on a blocking thread.
///
/// # Errors
/// Those of `calls`, and 500 after a panic.
pub async fn aside<T: Send + 'static>(
    calls: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let request = tracing::Span::current();
    tokio::task::spawn_blocking(move || request.in_scope(calls))
        .await
        .unwrap_or_else(|error| Err(ApiError::internal("panic", error)))
}

/// `answer`, with the sandbox header if it is a mock.
pub fn marked_if(mock: bool, answer: Response) -> Response {
    if mock { marked(answer) } else { answer }
}

/// `answer`, with the sandbox header.
pub fn marked(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response.headers_mut().insert(SANDBOX, HeaderValue::from_static("true"));
    response
}
