//! `POST /api/v2/watches`.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    WatchRoutes,
    parameters::{self, EVERY},
};
use crate::{
    bodies::{NewWatchBody, WatchBody},
    records::Role,
    responses,
    trigger::NewTrigger,
    watches::{NewWatch, TERM},
};
use assay_domain::{Address, InvalidAddress, Subject};
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject},
    fresh,
};

/// A new watch.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewWatch, example = json!({
    "address": "vitalik.eth", "when": [{ "measure": "health_factor", "below": 1.3, "clear_above": 1.4 }],
    "every_s": 60, "url": "https://lender.example/hooks/assay"
}))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct CreateBody {
    /// The address or ENS name to watch. A watch of a name follows it.
    address: String,
    /// What to tell, 1 to 16 entries.
    when: Vec<NewTrigger>,
    /// Seconds between two evaluations; 300 by default.
    every_s: Option<u64>,
    /// Tell at the first evaluation if a bound is crossed already; otherwise that is where the watch begins.
    fires_at_once: Option<bool>,
    /// Events of a score have its signed statement, on a server that signs any.
    statement: Option<bool>,
    /// Where events are delivered: HTTPS, a public host. Without it, poll or follow them.
    url: Option<String>,
    /// When the watch ends, at most 366 days from now; 30 days from now by default.
    #[schema(format = DateTime)]
    until: Option<String>,
    /// Your own words for the wallet.
    #[schema(max_length = 200)]
    label: Option<String>,
}

/// Watches a wallet.
///
/// Costs units for each 30 days begun. Read the events at `/events`, or let them be delivered to `url` as Standard
/// Webhooks: the receiver must first agree, either by answering `OPTIONS` with `WebHook-Allowed-Origin`, or by
/// returning `data.challenge` of a signed `watch.verify`.
#[utoipa::path(
    post, path = "/api/v2/watches", tag = "watches", operation_id = "add_watch",
    request_body = CreateBody,
    responses(
        (status = 201, description = "The watch, with its secret", body = NewWatchBody),
        responses::BadAddress, responses::Validated, responses::Bodied, responses::Keyed, responses::Units,
        responses::NewWatch,
    ),
    security(("key" = [])),
)]
pub(crate) async fn create(
    caller: Caller,
    State(state): State<WatchRoutes>,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let (watches, now) = (&state.watches, parameters::now());
    let scoring = state.source.of_chains("watches no wallets")?;
    let subject = body.required::<GivenSubject>("address");
    let triggers = parameters::required_triggers(&mut body, watches);
    let every = parameters::every(&mut body, watches).unwrap_or(EVERY.max(watches.settings().min_every));
    let fires_at_once = body.flag("fires_at_once");
    let statement = parameters::statement(&mut body, watches);
    let url = parameters::url(&mut body, watches);
    let until = parameters::until(&mut body, now).unwrap_or(now + TERM);
    let label = parameters::label(&mut body);
    body.finish()?;
    let subject = subject.unwrap_or_default().0;
    scoring.require_chains()?;
    // A name that does not resolve is refused now, and reported later.
    scoring.address(&subject).await?;
    let (owner, by) = (caller.owner().to_owned(), caller.name().to_owned());
    let (subject, role) = (subject.to_string(), Role::Single);
    let new = NewWatch { owner, by, subject, triggers, every, fires_at_once, statement, url, until, role, label };
    let watch = parameters::paid(&caller, parameters::terms(until - now), watches.create(new)).await?;
    tracing::info!(by = caller.name(), watch = %watch.record.id, "watch created");
    let secret = Some(watch.record.secret.expose().to_owned());
    let body = NewWatchBody { secret, watch: WatchBody::of(&watch, &watches.public_key()) };
    Ok((StatusCode::CREATED, fresh::once(Json(body))).into_response())
}

/// An address or a name in a body.
struct GivenSubject(Subject);

impl Default for GivenSubject {
    fn default() -> Self {
        Self(Subject::Address(Address::ZERO))
    }
}

impl std::str::FromStr for GivenSubject {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        Subject::parse(text).map(Self)
    }
}
