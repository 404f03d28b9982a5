//! Sandbox mode: production paths answered by the sandbox generator, so that a client under test changes its base address
//! and nothing else.

use alloy::primitives::keccak256;
use axum::{
    http::{HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};

use crate::domain::{Address, Subject};

const SANDBOX: HeaderName = HeaderName::from_static("x-assay-sandbox");

/// The address a subject has in the sandbox. Nothing is resolved there: a name stands for the same made-up address each time.
pub fn stand_in(subject: &Subject) -> Address {
    match subject {
        Subject::Address(address) => *address,
        Subject::Name(name) => Address::from_word(keccak256(name.to_lowercase())),
    }
}

/// `answer`, marked as a mock.
pub fn marked(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response.headers_mut().insert(SANDBOX, HeaderValue::from_static("true"));
    response
}
