//! Query parameters.

use std::{borrow::Cow, collections::HashSet};

use axum::{extract::FromRequestParts, http::request::Parts};
use url::form_urlencoded;

use super::{
    parameter::{in_query, limited, optional},
    path::VERSION,
};
use crate::{
    ApiError, Call,
    operation::EXAMPLE,
    parameters,
    validation::{Location, Violation},
};
use assay_domain::{Address, InvalidAddress, ModelVersion, Subject, parse_address};

/// `include_factors`, false by default.
pub struct IncludeFactors(pub bool);

parameters!(IncludeFactors: optional::<bool>("include_factors", "Also explain each score by its factors"));

impl<S: Send + Sync> FromRequestParts<S> for IncludeFactors {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        flag(parts, "include_factors").map(Self)
    }
}

/// `include_reasons`, false by default.
pub struct IncludeReasons(pub bool);

parameters!(IncludeReasons: optional::<bool>("include_reasons", "Also list the principal reasons for lost points"));

impl<S: Send + Sync> FromRequestParts<S> for IncludeReasons {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        flag(parts, "include_reasons").map(Self)
    }
}

/// A parameter that is true or false, false by default.
///
/// # Errors
/// 422 for any other value.
pub fn flag(parts: &Parts, name: &'static str) -> Result<bool, ApiError> {
    let Some(text) = single(parts, name)? else { return Ok(false) };
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Ok(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Ok(false),
        _ => Err(ApiError::invalid(vec![Violation::not_a_bool(Location::Query, name)])),
    }
}

/// The distinct items of a list that are no addresses.
#[derive(Debug, Clone, Default)]
pub struct InvalidItems {
    /// The first `http.max_addresses` of them.
    pub named: Vec<String>,
    pub total: usize,
}

/// `address`, a comma-separated list: the distinct addresses in order, 1 to `http.max_addresses`, and the others.
pub struct AddressList(pub Vec<Address>, pub InvalidItems);

parameters!(AddressList: limited(
    in_query::<String>(
        "address",
        "Comma-separated addresses",
        "0x0000000000000000000000000000000000000001,0x0000000000000000000000000000000000000002",
    ),
    |schema| schema.min_length = Some(1),
));

/// `address`, a comma-separated list: the distinct addresses and names in order, 1 to `http.max_addresses`, and the
/// others.
pub struct SubjectList(pub Vec<Subject>, pub InvalidItems);

parameters!(SubjectList: limited(
    in_query::<String>("address", "Comma-separated addresses or ENS names", format!("{EXAMPLE},vitalik.eth")),
    |schema| schema.min_length = Some(1),
));

impl<S: Send + Sync> FromRequestParts<S> for AddressList {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        list(parts, parse_address).map(|(addresses, invalid)| Self(addresses, invalid))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SubjectList {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        list(parts, Subject::parse).map(|(subjects, invalid)| Self(subjects, invalid))
    }
}

/// `model_version`: the version that answers; the champion by default.
pub struct VersionQuery(pub Option<ModelVersion>);

parameters!(VersionQuery: limited(
    optional::<String>("model_version", "Version that answers; the champion by default").example(Some("1.0".into())),
    |schema| (schema.pattern, schema.max_length) = (Some(VERSION.to_owned()), Some(ModelVersion::MAX_LEN)),
));

impl<S: Send + Sync> FromRequestParts<S> for VersionQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(text) = single(parts, "model_version")? else { return Ok(Self(None)) };
        text.parse().map(|version| Self(Some(version))).map_err(|why: String| refused("model_version", why))
    }
}

/// 422 for a query parameter, with the reason.
pub fn refused(field: &'static str, why: impl std::fmt::Display) -> ApiError {
    ApiError::invalid(vec![Violation::refused(Location::Query, field, why)])
}

/// Maximum number of characters of an invalid item in an answer.
const MOST_REPEATED: usize = 100;

/// The distinct valid items of `address`, and the others. Only valid items count against the limit.
fn list<T: PartialEq>(
    parts: &Parts,
    parse: impl Fn(&str) -> Result<T, InvalidAddress>,
) -> Result<(Vec<T>, InvalidItems), ApiError> {
    let mut given = values(parts, "address").peekable();
    if given.peek().is_none() {
        return Err(ApiError::invalid(vec![Violation::missing(Location::Query, "address")]));
    }
    let most = Call::of(parts)?.gate.limits.addresses;
    let (mut found, mut invalid, mut seen) = (Vec::new(), InvalidItems::default(), HashSet::new());
    for list in given {
        for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let Ok(item) = parse(item) else {
                let item: String = item.chars().take(MOST_REPEATED).collect();
                if seen.insert(item.clone()) {
                    invalid.total += 1;
                    if invalid.named.len() < most {
                        invalid.named.push(item);
                    }
                }
                continue;
            };
            if found.contains(&item) {
                continue;
            }
            if found.len() == most {
                return Err(ApiError::several(format!("Too many addresses: at most {most} in one request")));
            }
            found.push(item);
        }
    }
    if found.is_empty() { Err(ApiError::no_valid_address()) } else { Ok((found, invalid)) }
}

/// The value of a parameter that is given at most once.
///
/// # Errors
/// 422 if it is given more than once.
pub fn single<'a>(parts: &'a Parts, name: &'static str) -> Result<Option<Cow<'a, str>>, ApiError> {
    let mut given = values(parts, name);
    match (given.next(), given.next()) {
        (_, Some(_)) => Err(ApiError::invalid(vec![Violation::duplicate(Location::Query, name)])),
        (text, None) => Ok(text),
    }
}

/// The values of a parameter, in order.
pub fn values<'a>(parts: &'a Parts, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    let query = parts.uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).filter(move |(key, _)| key == name).map(|(_, value)| value)
}
