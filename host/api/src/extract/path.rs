//! The subject, chain, model or score of a request, read from its path. An invalid value becomes an error response.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};

use serde_json::Value;
use utoipa::openapi::schema::Object;

use super::parameter::{in_path, limited, parameters};
use crate::{
    ApiError, App,
    document::EXAMPLE,
    state::{REPORT_CHAINS, SUMMARY_CHAINS},
    validation::{Location, Violation},
};
use assay_domain::{Address, ChainId, InvalidAddress, ModelKind, ModelVersion, Name, Subject, parse_address};
use assay_scoring::rollout::ScoreId;

// What a schema cannot say: an address in mixed case needs its EIP-55 checksum, and a name must be normal by ENSIP-15.
const ADDRESS: &str = "^0x[0-9a-fA-F]{40}$";
const ADDRESS_OR_NAME: &str = r"^(0x[0-9a-fA-F]{40}|[^\s./,]+(\.[^\s./,]+)+)$";
/// A model version.
pub(super) const VERSION: &str = r"^[0-9]{1,9}(\.[0-9]{1,9}){1,3}$";

/// `{address}` as an address or a name.
pub(crate) struct SubjectPath(pub Subject);

parameters!(SubjectPath: limited(in_path::<String>("address", "Ethereum address or ENS name", EXAMPLE), |schema| {
    (schema.pattern, schema.max_length) = (Some(ADDRESS_OR_NAME.to_owned()), Some(Name::MAX));
}));

/// `{address}` as an address; a name is refused.
pub(crate) struct AddressPath(pub Address);

parameters!(AddressPath: limited(
    in_path::<String>("address", "Any Ethereum address", "0x0000000000000000000000000000000000000001"),
    |schema| schema.pattern = Some(ADDRESS.to_owned()),
));

/// `{chain_id}`, a chain that this server knows.
pub(crate) struct ChainPath(pub ChainId, pub String);

parameters!(ChainPath: in_path::<ChainId>("chain_id", "A chain that the server knows", 1));

/// `{chain_id}`, a chain of the chain report.
pub(crate) struct ReportChain(pub ChainId);

parameters!(ReportChain: limited(in_path::<ChainId>("chain_id", "Chain of the report", 1), one_of(REPORT_CHAINS)));

/// `{chain_id}`, a chain of the chain summary.
pub(crate) struct SummaryChain(pub ChainId);

parameters!(SummaryChain: limited(in_path::<ChainId>("chain_id", "Chain of the summary", 1), one_of(SUMMARY_CHAINS)));

/// `{kind}`.
pub(crate) struct KindPath(pub ModelKind);

parameters!(KindPath: in_path::<String>("kind", "credit, boost, sybil or sandbox", "credit"));

/// `{version}`.
pub(crate) struct VersionPath(pub ModelVersion);

parameters!(VersionPath: limited(
    in_path::<String>("version", "Version of the model: two to four numbers joined by dots", "1.0"),
    |schema| (schema.pattern, schema.max_length) = (Some(VERSION.to_owned()), Some(ModelVersion::MAX_LEN)),
));

/// `{id}` of a served score.
pub(crate) struct ScorePath(pub ScoreId);

/// The name of a key.
pub(crate) struct KeyPath(pub String);

parameters!(KeyPath: limited(in_path::<String>("name", "Name of the key", "lender"), |schema| {
    (schema.pattern, schema.max_length) = (Some("^[A-Za-z0-9._-]{1,64}$".to_owned()), Some(64));
}));

parameters!(ScorePath: in_path::<String>(
    "id",
    "The header `Assay-Score-Id` of the score",
    "0b6d7c1e6f0e4a6c9a3e2d1c0b9a8f7e-1122334455667788",
));

/// Limits a schema to `chains`.
fn one_of<const N: usize>(mut chains: [ChainId; N]) -> impl FnOnce(&mut Object) {
    chains.sort_unstable();
    move |schema| schema.enum_values = Some(chains.map(Value::from).to_vec())
}

impl FromRequestParts<App> for SubjectPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let parsed = param(parts, app, "address", Subject::parse).await.unwrap_or(Err(InvalidAddress::Format));
        parsed.map(Self).map_err(|error| ApiError::invalid_address(&error))
    }
}

impl FromRequestParts<App> for AddressPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let parsed = param(parts, app, "address", parse_address).await.unwrap_or(Err(InvalidAddress::Format));
        parsed.map(Self).map_err(|error| ApiError::invalid_address(&error))
    }
}

impl FromRequestParts<App> for ChainPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (number, _) = chain_id(parts, app).await?;
        let known = number.and_then(|id| Some((id, app.chain_name(id)?)));
        known.map(|(id, name)| Self(id, name.to_owned())).ok_or_else(ApiError::invalid_chain)
    }
}

impl FromRequestParts<App> for ReportChain {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (number, _) = chain_id(parts, app).await?;
        number.filter(|id| REPORT_CHAINS.contains(id)).map(Self).ok_or_else(ApiError::invalid_chain)
    }
}

impl FromRequestParts<App> for SummaryChain {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (number, text) = chain_id(parts, app).await?;
        number.filter(|id| SUMMARY_CHAINS.contains(id)).map(Self).ok_or_else(|| ApiError::unsupported_chain(&text))
    }
}

/// The integer in the path and its text; the integer is `None` when it cannot be a chain id.
async fn chain_id(parts: &mut Parts, app: &App) -> Result<(Option<ChainId>, String), ApiError> {
    let read = |text: &str| Some((integer(text)?, text.to_owned()));
    let found = param(parts, app, "chain_id", read).await.flatten();
    found.ok_or_else(|| ApiError::invalid(vec![Violation::not_an_integer(Location::Path, "chain_id")]))
}

impl FromRequestParts<App> for KindPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let kind = param(parts, app, "kind", |text| text.parse().ok()).await.flatten();
        kind.map(Self).ok_or_else(ApiError::no_kind)
    }
}

impl FromRequestParts<App> for VersionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let version = param(parts, app, "version", str::parse).await;
        let version = version.unwrap_or_else(|| Err("version is not UTF-8 text".to_owned()));
        version.map(Self).map_err(|why| ApiError::invalid(vec![Violation::refused(Location::Path, "version", why)]))
    }
}

impl FromRequestParts<App> for KeyPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // No key has a name that is not UTF-8.
        Ok(Self(param(parts, app, "name", str::to_owned).await.unwrap_or_default()))
    }
}

impl FromRequestParts<App> for ScorePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let id = param(parts, app, "id", |text| text.parse().ok()).await.flatten();
        id.map(Self).ok_or_else(ApiError::no_score)
    }
}

/// The parameter, parsed by `read`; `None` when the path is not UTF-8.
async fn param<T>(parts: &mut Parts, app: &App, name: &str, read: impl FnOnce(&str) -> T) -> Option<T> {
    let params = RawPathParams::from_request_parts(parts, app).await.ok()?;
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
