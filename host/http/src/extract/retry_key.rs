//! The header `Idempotency-Key`, which identifies a repeated request.

use std::time::Duration;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};

use super::parameter::{in_header, limited};
use crate::{ApiError, parameters};

/// The `Idempotency-Key`, if it is sent.
pub struct RetryKey(pub Option<String>);

parameters!(RetryKey: limited(
    in_header("Idempotency-Key", "A request that is repeated with the same key within a day is done once"),
    |schema| (schema.pattern, schema.max_length) = (Some("^[!-~]([ -~]*[!-~])?$".to_owned()), Some(RetryKey::LONGEST)),
));

impl RetryKey {
    /// Maximum length of the key.
    pub const LONGEST: usize = 255;
    /// How long a key identifies its request.
    pub const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
}

impl<S: Send + Sync> FromRequestParts<S> for RetryKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut values = parts.headers.get_all("idempotency-key").iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        let is_printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if text.is_empty() || text.len() > Self::LONGEST || !is_printable || values.next().is_some() {
            let why = format!("Send one Idempotency-Key of 1 to {} printable characters", Self::LONGEST);
            return Err(ApiError::coded(StatusCode::BAD_REQUEST, "idempotency_key", why));
        }
        Ok(Self(Some(text.to_owned())))
    }
}
