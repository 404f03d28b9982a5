//! The subject, chain or model of a request, read from its path. An invalid value becomes an error response.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};

use super::parameter::{in_path, limited};
use crate::{
    ApiError,
    operation::EXAMPLE,
    parameters,
    validation::{Location, Violation},
};
use assay_domain::{Address, ChainId, InvalidAddress, ModelKind, ModelVersion, Name, Subject, parse_address};

// Rules that a schema cannot express: an address in mixed case needs its EIP-55 checksum, and a name must be normal by
// ENSIP-15.
const ADDRESS: &str = "^0x[0-9a-fA-F]{40}$";
const ADDRESS_OR_NAME: &str = r"^(0x[0-9a-fA-F]{40}|[^\s./,]+(\.[^\s./,]+)+)$";
/// A model version.
pub(crate) const VERSION: &str = r"^[0-9]{1,9}(\.[0-9]{1,9}){1,3}$";

/// `{address}` as an address or a name.
pub struct SubjectPath(pub Subject);

parameters!(SubjectPath: limited(in_path::<String>("address", "Ethereum address or ENS name", EXAMPLE), |schema| {
    (schema.pattern, schema.max_length) = (Some(ADDRESS_OR_NAME.to_owned()), Some(Name::MAX));
}));

/// `{address}` as an address; a name is refused.
pub struct AddressPath(pub Address);

parameters!(AddressPath: limited(
    in_path::<String>("address", "Any Ethereum address", "0x0000000000000000000000000000000000000001"),
    |schema| schema.pattern = Some(ADDRESS.to_owned()),
));

/// `{kind}`.
pub struct KindPath(pub ModelKind);

parameters!(KindPath: in_path::<String>("kind", "credit, boost, sybil or sandbox", "credit"));

/// `{version}`.
pub struct VersionPath(pub ModelVersion);

parameters!(VersionPath: limited(
    in_path::<String>("version", "Version of the model: two to four numbers joined by dots", "1.0"),
    |schema| (schema.pattern, schema.max_length) = (Some(VERSION.to_owned()), Some(ModelVersion::MAX_LEN)),
));

impl<S: Send + Sync> FromRequestParts<S> for SubjectPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let parsed = param(parts, state, "address", Subject::parse).await.unwrap_or(Err(InvalidAddress::Format));
        parsed.map(Self).map_err(|error| ApiError::invalid_address(&error))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AddressPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let parsed = param(parts, state, "address", parse_address).await.unwrap_or(Err(InvalidAddress::Format));
        parsed.map(Self).map_err(|error| ApiError::invalid_address(&error))
    }
}

/// The integer in the path and its text; the integer is `None` when it cannot be a chain id.
///
/// # Errors
/// 422 for a text that is no integer.
pub async fn chain_id<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<(Option<ChainId>, String), ApiError> {
    let read = |text: &str| Some((integer(text)?, text.to_owned()));
    let found = param(parts, state, "chain_id", read).await.flatten();
    found.ok_or_else(|| ApiError::invalid(vec![Violation::not_an_integer(Location::Path, "chain_id")]))
}

impl<S: Send + Sync> FromRequestParts<S> for KindPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let kind = param(parts, state, "kind", |text| text.parse().ok()).await.flatten();
        kind.map(Self).ok_or_else(ApiError::no_kind)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for VersionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let version = param(parts, state, "version", str::parse).await;
        let version = version.unwrap_or_else(|| Err("version is not UTF-8 text".to_owned()));
        version.map(Self).map_err(|why| ApiError::invalid(vec![Violation::refused(Location::Path, "version", why)]))
    }
}

/// The parameter, parsed by `read`; `None` when the path is not UTF-8.
pub async fn param<S: Send + Sync, T>(
    parts: &mut Parts,
    state: &S,
    name: &str,
    read: impl FnOnce(&str) -> T,
) -> Option<T> {
    let params = RawPathParams::from_request_parts(parts, state).await.ok()?;
    params.iter().find(|(key, _)| *key == name).map(|(_, value)| read(value))
}

/// `None` when `text` is not an integer; `Some(None)` when it is an integer that cannot be a chain id.
fn integer(text: &str) -> Option<Option<ChainId>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    // "01" is no name of chain 1.
    let is_plain = digits.len() == 1 || !digits.starts_with('0');
    whole.then(|| text.parse().ok().filter(|_| is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_what_is_none() {
        assert_eq!(integer("1"), Some(Some(1)));
        assert_eq!(integer("0"), Some(Some(0)));
        assert_eq!((integer("-1"), integer("01"), integer("00")), (Some(None), Some(None), Some(None)));
        assert_eq!(integer(&"9".repeat(40)), Some(None));
        for text in ["", "-", "+1", "1.0", "0x1", "one", "1 ", "１"] {
            assert_eq!(integer(text), None, "{text:?}");
        }
    }
}
