//! Query parameters.

use std::borrow::Cow;

use axum::{extract::FromRequestParts, http::request::Parts};
use url::form_urlencoded;

use crate::{
    http::{
        ApiError, App,
        validation::{Place, Violation},
    },
    scoring::MOST_VERSIONS,
};
use assay_domain::{Address, InvalidAddress, ModelVersion, Subject, parse_address};

/// `include_factors`, false by default.
pub struct IncludeFactors(pub bool);

impl FromRequestParts<App> for IncludeFactors {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let Some(text) = values(parts, "include_factors").last() else { return Ok(Self(false)) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" | "t" | "y" => Ok(Self(true)),
            "false" | "0" | "no" | "off" | "f" | "n" => Ok(Self(false)),
            _ => Err(ApiError::invalid(vec![Violation::not_a_bool(Place::Query, "include_factors")])),
        }
    }
}

/// `address`, a comma-separated list: the items that are addresses, each once, in their order; at least one, at most
/// `http.max_addresses`.
pub struct AddressList(pub Vec<Address>);

/// `address`, a comma-separated list: the items that are addresses or names, each once, in their order; at least one,
/// at most `http.max_addresses`.
pub struct SubjectList(pub Vec<Subject>);

impl FromRequestParts<App> for AddressList {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        list(parts, app, parse_address).map(Self)
    }
}

impl FromRequestParts<App> for SubjectList {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        list(parts, app, Subject::parse).map(Self)
    }
}

/// `model_version`: the version that answers; the champion by default.
pub struct Asked(pub Option<ModelVersion>);

impl FromRequestParts<App> for Asked {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let Some(text) = values(parts, "model_version").last() else { return Ok(Self(None)) };
        text.parse().map(|version| Self(Some(version))).map_err(|why: String| refused("model_version", why))
    }
}

/// `versions`, a comma-separated list, each once, in their order; empty by default.
pub struct Versions(pub Vec<ModelVersion>);

impl FromRequestParts<App> for Versions {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let mut versions: Vec<ModelVersion> = Vec::new();
        for list in values(parts, "versions") {
            for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
                let version = item.parse().map_err(|why: String| refused("versions", why))?;
                if !versions.contains(&version) {
                    versions.push(version);
                }
                if versions.len() > MOST_VERSIONS {
                    return Err(refused("versions", format!("more than {MOST_VERSIONS} versions in one comparison")));
                }
            }
        }
        Ok(Self(versions))
    }
}

/// `window` in whole hours, such as `24h`; the configured window of promotion by default.
pub struct Window(pub Option<u64>);

impl FromRequestParts<App> for Window {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let Some(text) = values(parts, "window").last() else { return Ok(Self(None)) };
        let hours = match text.split_at_checked(text.len().saturating_sub(1)) {
            Some((number, "h")) => number.parse().ok(),
            Some((number, "d")) => number.parse::<u64>().ok().and_then(|days| days.checked_mul(24)),
            _ => None,
        };
        let known = hours.filter(|hours| (1..=MOST_HOURS).contains(hours));
        known
            .map(|hours| Self(Some(hours)))
            .ok_or_else(|| refused("window", format!("give 1h to {MOST_HOURS}h, or days, such as 7d")))
    }
}

/// The longest window: one year.
const MOST_HOURS: u64 = 8_760;

fn refused(field: &'static str, why: impl std::fmt::Display) -> ApiError {
    ApiError::invalid(vec![Violation::refused(Place::Query, field, why)])
}

/// The valid items of `address`, each once. Only these count against the limit.
fn list<T: PartialEq>(
    parts: &Parts,
    app: &App,
    parse: impl Fn(&str) -> Result<T, InvalidAddress>,
) -> Result<Vec<T>, ApiError> {
    let mut given = values(parts, "address").peekable();
    if given.peek().is_none() {
        return Err(ApiError::invalid(vec![Violation::missing(Place::Query, "address")]));
    }
    let most = app.limits.addresses;
    let mut found = Vec::new();
    for list in given {
        for item in list.split(',').filter_map(|item| parse(item.trim()).ok()) {
            if found.contains(&item) {
                continue;
            }
            if found.len() == most {
                return Err(ApiError::several(format!("Too many addresses: at most {most} in one request")));
            }
            found.push(item);
        }
    }
    if found.is_empty() { Err(ApiError::no_valid_address()) } else { Ok(found) }
}

fn values<'a>(parts: &'a Parts, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    let query = parts.uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).filter(move |(key, _)| key == name).map(|(_, value)| value)
}
