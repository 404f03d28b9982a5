//! `page` and `limit` of a list.

use axum::{extract::FromRequestParts, http::request::Parts};
use url::form_urlencoded;

use super::parameter::{limited, optional};
use crate::{
    ApiError, parameters,
    validation::{Location, Violation},
};

const LIMIT: u64 = 20;
const MOST: u64 = 100;
/// The largest page, which the answer repeats as it was sent: every JSON parser reads numbers up to it exactly.
const MOST_PAGE: u64 = super::body::MOST;

/// The part of a list: page 1 with 20 entries by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    /// 1 or more.
    pub page: u64,
    /// 1 to 100.
    pub limit: u64,
}

parameters!(Paging:
    limited(optional::<u64>("page", "Page, counted from 1").example(Some(1.into())), |schema| {
        (schema.minimum, schema.maximum) = (Some(1.into()), Some(MOST_PAGE.into()));
    }),
    limited(optional::<u64>("limit", "Entries on a page; 20 by default").example(Some(LIMIT.into())), |schema| {
        (schema.minimum, schema.maximum) = (Some(1.into()), Some(MOST.into()));
    }),
);

impl<S: Send + Sync> FromRequestParts<S> for Paging {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        paging(parts.uri.query().unwrap_or_default())
    }
}

fn paging(query: &str) -> Result<Paging, ApiError> {
    let values = |name| form_urlencoded::parse(query.as_bytes()).filter(move |(key, _)| key == name);
    if values("page").nth(1).is_some() {
        return Err(ApiError::page_out_of_range());
    }
    if values("limit").nth(1).is_some() {
        return Err(ApiError::limit_out_of_range());
    }
    let integer = |name| values(name).next().map(|(_, text)| integer(&text, name)).transpose();
    let (page, limit) = (integer("page"), integer("limit"));
    let violations: Vec<Violation> =
        [&page, &limit].into_iter().filter_map(|read| read.as_ref().err().cloned()).collect();
    let (Ok(page), Ok(limit)) = (page, limit) else { return Err(ApiError::invalid(violations)) };
    let (page, limit) = (page.unwrap_or(1), limit.unwrap_or(LIMIT as i128));
    if page < 1 {
        return Err(ApiError::page_out_of_range());
    }
    if page > i128::from(MOST_PAGE) {
        return Err(ApiError::invalid(vec![Violation::beyond(Location::Query, "page", MOST_PAGE)]));
    }
    if !(1..=MOST as i128).contains(&limit) {
        return Err(ApiError::limit_out_of_range());
    }
    Ok(Paging { page: u64::try_from(page).unwrap_or(u64::MAX), limit: limit as u64 })
}

/// The integer parameter `name`. A number outside the range of the type becomes the largest or smallest one.
fn integer(text: &str, name: &'static str) -> Result<i128, Violation> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Violation::not_an_integer(Location::Query, name));
    }
    let beyond = if text.starts_with('-') { i128::MIN } else { i128::MAX };
    Ok(text.parse().unwrap_or(beyond))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_their_bounds() {
        let read =
            |query: &str| paging(query).map(|paging| (paging.page, paging.limit)).map_err(|error| format!("{error:?}"));
        assert_eq!((read(""), read("page=3&limit=100&q=x")), (Ok((1, 20)), Ok((3, 100))));
        assert_eq!(read(&format!("page={MOST_PAGE}")), Ok((MOST_PAGE, 20)));
        for (query, why) in [
            ("page=0", "Page must be >= 1"),
            ("page=1&page=2", "Page must be >= 1"),
            ("limit=20&page=1&limit=20", "Limit must be between 1 and 100"),
            ("page=-7&limit=0", "Page must be >= 1"),
            ("limit=0", "Limit must be between 1 and 100"),
            ("limit=101", "Limit must be between 1 and 100"),
            ("limit=-1", "Limit must be between 1 and 100"),
            ("page=9007199254740992", "less_than_equal"),
            ("page=99999999999999999999999999999999999999999999999999", "less_than_equal"),
            ("page=", "int_parsing"),
            ("page=1.5", "int_parsing"),
            ("limit=ten", "int_parsing"),
        ] {
            let error = read(query).unwrap_err();
            assert!(error.contains(why), "{query}: {error}");
        }
    }
}
