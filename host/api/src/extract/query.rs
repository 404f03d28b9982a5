//! Query parameters.

use std::borrow::Cow;

use axum::{extract::FromRequestParts, http::request::Parts};
use url::form_urlencoded;

use super::{
    parameter::{in_query, limited, optional, parameters},
    path::VERSION,
};
use crate::{
    ApiError, App,
    document::EXAMPLE,
    validation::{Location, Violation},
};
use assay_domain::{Address, InvalidAddress, ModelVersion, Subject, Tag, UnknownTag, parse_address};
use assay_scoring::{MOST_VERSIONS, SkipReason, Skipped, reading::moment};

/// `include_factors`, false by default.
pub(crate) struct IncludeFactors(pub bool);

parameters!(IncludeFactors: optional::<bool>("include_factors", "Also explain each score by its factors, and by what \
                                                                 its model claims of such wallets"));

impl FromRequestParts<App> for IncludeFactors {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let Some(text) = single(parts, "include_factors")? else { return Ok(Self(false)) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" | "t" | "y" => Ok(Self(true)),
            "false" | "0" | "no" | "off" | "f" | "n" => Ok(Self(false)),
            _ => Err(ApiError::invalid(vec![Violation::not_a_bool(Location::Query, "include_factors")])),
        }
    }
}

/// `address`, a comma-separated list: the distinct addresses in order, 1 to `http.max_addresses`, and the distinct
/// invalid items.
pub(crate) struct AddressList(pub Vec<Address>, pub Vec<Skipped>);

parameters!(AddressList: limited(
    in_query::<String>(
        "address",
        "Comma-separated addresses",
        "0x0000000000000000000000000000000000000001,0x0000000000000000000000000000000000000002",
    ),
    |schema| schema.min_length = Some(1),
));

/// `address`, a comma-separated list: the distinct addresses and names in order, 1 to `http.max_addresses`, and the
/// distinct invalid items.
pub(crate) struct SubjectList(pub Vec<Subject>, pub Vec<Skipped>);

parameters!(SubjectList: limited(
    in_query::<String>("address", "Comma-separated addresses or ENS names", format!("{EXAMPLE},vitalik.eth")),
    |schema| schema.min_length = Some(1),
));

impl FromRequestParts<App> for AddressList {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        list(parts, app, parse_address).map(|(addresses, invalid)| Self(addresses, invalid))
    }
}

impl FromRequestParts<App> for SubjectList {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        list(parts, app, Subject::parse).map(|(subjects, invalid)| Self(subjects, invalid))
    }
}

/// `model_version`: the version that answers; the champion by default.
pub(crate) struct Asked(pub Option<ModelVersion>);

parameters!(Asked: limited(
    optional::<String>("model_version", "Version that answers; the champion by default").example(Some("1.0".into())),
    |schema| (schema.pattern, schema.max_length) = (Some(VERSION.to_owned()), Some(ModelVersion::MAX_LEN)),
));

impl FromRequestParts<App> for Asked {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let Some(text) = single(parts, "model_version")? else { return Ok(Self(None)) };
        text.parse().map(|version| Self(Some(version))).map_err(|why: String| refused("model_version", why))
    }
}

/// `tag`: the tag whose feedback document is requested; the submission's first by default.
pub(crate) struct AskedTag(pub Option<Tag>);

parameters!(AskedTag: limited(
    optional::<String>("tag", "The tag whose document is returned; the first of the submission by default")
        .example(Some(Tag::CreditScore.as_str().into())),
    |schema| schema.enum_values = Some(Tag::ALL.map(|tag| tag.as_str().into()).to_vec()),
));

impl FromRequestParts<App> for AskedTag {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let Some(text) = single(parts, "tag")? else { return Ok(Self(None)) };
        text.parse().map(|tag| Self(Some(tag))).map_err(|why: UnknownTag| refused("tag", why))
    }
}

/// `versions`, a comma-separated list: the distinct versions in order; empty by default.
pub(crate) struct Versions(pub Vec<ModelVersion>);

parameters!(Versions: limited(
    optional::<String>("versions", "Up to 8 versions joined by commas; champion and challengers by default")
        .example(Some("1.0,1.1".into())),
    |schema| schema.pattern = Some(VERSIONS.to_owned()),
));

// With at most seven digits per number, no version is longer than `ModelVersion::MAX_LEN`.
const VERSIONS: &str = r"^[0-9]{1,7}(\.[0-9]{1,7}){1,3}(,[0-9]{1,7}(\.[0-9]{1,7}){1,3}){0,7}$";

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
pub(crate) struct Window(pub Option<u64>);

parameters!(Window: limited(
    optional::<String>("window", "Hours or days to look back; `promotion.window_hours` by default")
        .example(Some("24h".into())),
    |schema| schema.pattern = Some(UP_TO_A_YEAR.to_owned()),
));

const UP_TO_A_YEAR: &str = "^([1-9][0-9]{0,2}h|[1-7][0-9]{3}h|8[0-6][0-9]{2}h|87[0-5][0-9]h|8760h|\
                            [1-9][0-9]?d|[1-2][0-9]{2}d|3[0-5][0-9]d|36[0-5]d)$";

impl FromRequestParts<App> for Window {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let Some(text) = single(parts, "window")? else { return Ok(Self(None)) };
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

/// `from`, `to` and `every`: moments in the past, in Unix seconds, oldest first.
pub(crate) struct Moments(pub Vec<u64>);

parameters!(Moments: optional::<String>("from", "First moment: a date, a time or Unix seconds; 360 days before `to` by \
                                                 default")
    .example(Some("2026-01-01".into())), optional::<String>("to", "Last moment, at least an hour ago; the start of the \
                                                                   day by default"),
    optional::<String>("every", "Days between two moments, such as 7d; 30d by default").example(Some("30d".into())));

/// Maximum number of moments in one request.
const MOST_MOMENTS: usize = 60;
/// Minimum age of a moment, in seconds: a younger block may not be final.
const SETTLED: u64 = 3_600;
const DAY: u64 = 86_400;

impl FromRequestParts<App> for Moments {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let read = |name: &'static str| {
            let text = single(parts, name)?;
            text.map(|text| moment(&text).map_err(|why| refused(name, why))).transpose()
        };
        let newest = chrono::Utc::now().timestamp().unsigned_abs().saturating_sub(SETTLED);
        // The start of the day: a repeated request then names the same moments.
        let to = read("to")?.unwrap_or(newest / DAY * DAY);
        if to > newest {
            return Err(refused("to", "less than an hour ago: a younger block may not be final"));
        }
        let from = read("from")?.unwrap_or(to.saturating_sub(360 * DAY));
        if from > to {
            return Err(refused("from", "after `to`"));
        }
        let every = match single(parts, "every")? {
            None => 30,
            Some(text) => {
                let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
                days.filter(|days| (1..=3_650).contains(days)).ok_or_else(|| refused("every", "give 1d to 3650d"))?
            }
        };
        let count = (to - from) / (every * DAY) + 1;
        if count > MOST_MOMENTS as u64 {
            let words = format!("{count} moments exceed the limit of {MOST_MOMENTS}; use a longer `every`");
            return Err(refused("every", words));
        }
        Ok(Self((0..count).map(|at| from + at * every * DAY).collect()))
    }
}

/// `as_of`: a moment in the past, in Unix seconds.
pub(crate) struct AsOf(pub Option<u64>);

parameters!(AsOf: optional::<String>("as_of", "A point of the history that was read; now by default"));

impl FromRequestParts<App> for AsOf {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let text = single(parts, "as_of")?;
        text.map(|text| moment(&text).map_err(|why| refused("as_of", why))).transpose().map(Self)
    }
}

/// Longest window: one year.
const MOST_HOURS: u64 = 8_760;

fn refused(field: &'static str, why: impl std::fmt::Display) -> ApiError {
    ApiError::invalid(vec![Violation::refused(Location::Query, field, why)])
}

/// Maximum number of characters of an invalid item in an answer.
const MOST_REPEATED: usize = 100;

/// The distinct valid items of `address`, and the distinct others. Only valid items count against the limit.
fn list<T: PartialEq>(
    parts: &Parts,
    app: &App,
    parse: impl Fn(&str) -> Result<T, InvalidAddress>,
) -> Result<(Vec<T>, Vec<Skipped>), ApiError> {
    let mut given = values(parts, "address").peekable();
    if given.peek().is_none() {
        return Err(ApiError::invalid(vec![Violation::missing(Location::Query, "address")]));
    }
    let most = app.limits.addresses;
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for list in given {
        for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let Ok(item) = parse(item) else {
                let item = item.chars().take(MOST_REPEATED).collect();
                let one = Skipped { item, why: SkipReason::Invalid };
                // The same limit as for valid items: more invalid items would say nothing new.
                if skipped.len() < most && !skipped.contains(&one) {
                    skipped.push(one);
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
    if found.is_empty() { Err(ApiError::no_valid_address()) } else { Ok((found, skipped)) }
}

/// The value of a parameter that is given at most once.
///
/// # Errors
/// 422 if it is given more than once.
pub(super) fn single<'a>(parts: &'a Parts, name: &'static str) -> Result<Option<Cow<'a, str>>, ApiError> {
    let mut given = values(parts, name);
    match (given.next(), given.next()) {
        (_, Some(_)) => Err(ApiError::invalid(vec![Violation::duplicate(Location::Query, name)])),
        (text, None) => Ok(text),
    }
}

fn values<'a>(parts: &'a Parts, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    let query = parts.uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).filter(move |(key, _)| key == name).map(|(_, value)| value)
}
