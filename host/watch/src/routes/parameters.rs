//! The watch in a path, and the fields that creation and change share.

use std::time::Duration;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::{
    changes::WatchChange,
    rows::LONGEST_LABEL,
    trigger::{NewTrigger, Trigger},
    watches::{TERM, WatchError, Watches},
};
use assay_domain::Time;
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject, in_path, limited, optional, param, refused, single},
    parameters,
};

/// Time between two evaluations, unless the caller chooses.
pub(crate) const EVERY: Duration = Duration::from_secs(300);
/// Maximum number of triggers of one watch.
pub(crate) const MOST_TRIGGERS: usize = 16;
/// Maximum time from now to the end of a watch.
const LONGEST: TimeDelta = TimeDelta::days(366);
/// Maximum time between two evaluations.
const DAY: u64 = 86_400;

/// `{watch_id}`.
pub(crate) struct WatchPath(pub Uuid);

parameters!(WatchPath: limited(
    in_path::<String>("watch_id", "Id of a watch", "6f3c1f0a-8f0e-4a6f-9f6d-0c5b3c1d2e4f"),
    |schema| schema.max_length = Some(64),
));

impl<S: Send + Sync> FromRequestParts<S> for WatchPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let id = param(parts, state, "watch_id", |text| Uuid::try_parse(text).ok()).await.flatten();
        id.map(Self).ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "Watch not found"))
    }
}

/// `{group_id}`.
pub(crate) struct GroupPath(pub Uuid);

parameters!(GroupPath: limited(
    in_path::<String>("group_id", "Id of a group", "0d9f1a52-1d1b-4b5e-9c3a-5a1f0e7c2b44"),
    |schema| schema.max_length = Some(64),
));

impl<S: Send + Sync> FromRequestParts<S> for GroupPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let id = param(parts, state, "group_id", |text| Uuid::try_parse(text).ok()).await.flatten();
        id.map(Self).ok_or_else(|| WatchError::UnknownGroup.into())
    }
}

/// `group`.
pub(crate) struct GroupQuery(pub Option<Uuid>);

parameters!(GroupQuery: limited(
    optional::<String>("group", "Id of a group"),
    |schema| schema.max_length = Some(64),
));

impl<S: Send + Sync> FromRequestParts<S> for GroupQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(text) = single(parts, "group")? else { return Ok(Self(None)) };
        let id = Uuid::try_parse(&text).map_err(|_| refused("group", "must be the id of a group"))?;
        Ok(Self(Some(id)))
    }
}

/// `when`, checked.
pub(crate) fn triggers(body: &mut JsonObject, watches: &Watches) -> Option<Vec<Trigger>> {
    let given = body.objects::<NewTrigger>("when", MOST_TRIGGERS)?;
    let mut found = Vec::with_capacity(given.len());
    for (at, trigger) in given.into_iter().enumerate() {
        match trigger
            .checked(&watches.0.chains.markets)
            .and_then(|trigger| watches.cannot(&trigger).map_or(Ok(trigger), Err))
        {
            Ok(trigger) if found.contains(&trigger) => body.refuse("when", format_args!("entry {at} is there twice")),
            Ok(trigger) => found.push(trigger),
            Err(why) => body.refuse("when", format_args!("entry {at}: {why}")),
        }
    }
    Some(found)
}

/// `when` with at least one entry.
pub(crate) fn required_triggers(body: &mut JsonObject, watches: &Watches) -> Vec<Trigger> {
    let found = triggers(body, watches);
    if found.as_ref().is_none_or(Vec::is_empty) && body.is_good() {
        body.refuse("when", "name at least one measure");
    }
    found.unwrap_or_default()
}

/// The changes that watches and groups share.
pub(crate) fn change(body: &mut JsonObject, watches: &Watches) -> WatchChange {
    let is_url_given = body.has("url");
    let change = WatchChange {
        triggers: triggers(body, watches),
        every: every(body, watches),
        url: Some(url(body, watches)).filter(|_| is_url_given),
        until: until(body, now()),
        paused: body.choice("paused"),
        rotates_secret: body.flag("rotate_secret"),
        label: None,
    };
    if change.triggers.as_ref().is_some_and(Vec::is_empty) && body.is_good() {
        body.refuse("when", "name at least one measure");
    }
    change
}

/// `label`.
pub(crate) fn label(body: &mut JsonObject) -> Option<String> {
    let label = body.text("label");
    check_label(body, "label", label.as_deref());
    label
}

/// Refuses a text that is longer than a label.
pub(crate) fn check_label(body: &mut JsonObject, field: &'static str, text: Option<&str>) {
    if text.is_some_and(|text| text.chars().count() > LONGEST_LABEL) {
        body.refuse(field, format_args!("must have at most {LONGEST_LABEL} characters"));
    }
}

/// `statement`: whether events of a score carry their signed statement.
pub(crate) fn statement(body: &mut JsonObject, watches: &Watches) -> bool {
    let is_wanted = body.flag("statement");
    if is_wanted && watches.0.attestor.is_none() {
        body.refuse("statement", "this server signs no statements; its operator can configure [attestation]");
    }
    is_wanted
}

/// `every_s`.
pub(crate) fn every(body: &mut JsonObject, watches: &Watches) -> Option<Duration> {
    let seconds = body.count("every_s")?;
    let least = watches.settings().min_every.as_secs();
    if !(least..=DAY).contains(&seconds) {
        body.refuse("every_s", format_args!("must be {least} to {DAY} seconds"));
    }
    Some(Duration::from_secs(seconds))
}

/// `until`.
pub(crate) fn until(body: &mut JsonObject, now: Time) -> Option<Time> {
    let text = body.text("until")?;
    match DateTime::parse_from_rfc3339(&text).map(|until| until.to_utc()) {
        Ok(until) if until > now && until - now <= LONGEST => return Some(until),
        Ok(_) => body.refuse("until", "must be in the future and at most 366 days away"),
        Err(_) => body.refuse("until", "must be a time such as 2026-12-31T00:00:00Z"),
    }
    None
}

/// `url`, checked as far as that needs no request.
pub(crate) fn url(body: &mut JsonObject, watches: &Watches) -> Option<String> {
    if body.is_blank("url") {
        body.refuse("url", "is empty; give an HTTPS URL of a public host, or null for none");
    }
    let url = body.text("url")?;
    if let Err(why) = watches.0.sender.allows(&url) {
        body.refuse("url", format_args!("{why}; give an HTTPS URL of a public host"));
    }
    Some(url)
}

/// The begun terms of 30 days in a time.
pub(crate) fn terms(time: TimeDelta) -> usize {
    let seconds = time.num_seconds().max(0);
    usize::try_from((seconds + TERM.num_seconds() - 1) / TERM.num_seconds()).unwrap_or(usize::MAX)
}

/// Makes `change` and charges the price of `terms` terms. A change that is refused costs nothing.
///
/// # Errors
/// 429 if too few units are left.
pub(crate) async fn paid<T: Send + 'static>(
    caller: &Caller,
    terms: usize,
    change: impl Future<Output = Result<T, WatchError>> + Send + 'static,
) -> Result<Result<T, WatchError>, ApiError> {
    let change = async {
        let done = change.await;
        let is_paid = done.is_ok();
        Ok((done, is_paid))
    };
    caller.pay_each_if(terms, change).await
}

pub(crate) fn now() -> Time {
    Utc::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_begun_term_is_paid() {
        let days = |days| terms(TimeDelta::days(days));
        assert_eq!([0, 1, 30, 31, 366].map(days), [0, 1, 1, 2, 13]);
        assert_eq!((terms(TimeDelta::seconds(-5)), terms(TimeDelta::seconds(1))), (0, 1));
    }
}
