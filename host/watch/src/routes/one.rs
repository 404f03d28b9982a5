//! `/api/v2/watches/{watch_id}`: one watch, its change, its test and its replay.

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
    change::make,
    holder::Holder,
    parameters::{self, WatchPath},
};
use crate::{
    bodies::{NewWatchBody, WatchBody},
    changes::WatchChange,
    responses,
    trigger::NewTrigger,
    watches::Watch,
};
use assay_http::{ApiError, extract::JsonObject, fresh};

/// Changes to a watch; absent fields leave it as it is.
#[derive(Deserialize, ToSchema)]
#[schema(as = WatchChange, example = json!({ "every_s": 120, "paused": false }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct ChangeBody {
    /// Replaces all entries, whose states begin anew.
    when: Option<Vec<NewTrigger>>,
    every_s: Option<u64>,
    /// Another receiver, which must agree and gets the events that were not delivered; null removes it. A receiver
    /// where there was none begins with the next event.
    url: Option<String>,
    /// Each further 30 days begun cost units.
    #[schema(format = DateTime)]
    until: Option<String>,
    /// True: neither evaluated nor delivered. False resumes it, and deliveries that have stopped.
    paused: Option<bool>,
    /// Makes a new secret, which the response has. The old one signs too for a day.
    rotate_secret: Option<bool>,
    /// Your own words for the wallet; null removes them.
    #[schema(max_length = 200)]
    label: Option<String>,
}

/// The events to deliver once more.
#[derive(Deserialize, ToSchema)]
#[schema(as = WatchReplay, example = json!({ "from": 3, "to": 5 }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct ReplayBody {
    /// The number of the first event.
    #[schema(minimum = 1)]
    from: u64,
    /// The number of the last one; only `from` by default.
    to: Option<u64>,
}

/// A watch with its last values and the state of its delivery; free.
#[utoipa::path(
    get, path = "/api/v2/watches/{watch_id}", tag = "watches", operation_id = "get_watch",
    params(WatchPath),
    responses((status = 200, description = "The watch", body = WatchBody), responses::OneWatch, responses::Keyed),
    security(("key" = []), ("watch_token" = [])),
)]
pub(crate) async fn get(
    holder: Holder,
    State(state): State<WatchRoutes>,
    WatchPath(id): WatchPath,
) -> Result<Response, ApiError> {
    let watch = state.watches.watch(holder.owner(), id).await?;
    Ok(fresh::once(Json(WatchBody::of(&watch, &state.watches.public_key()))))
}

/// Changes a watch. Of a watch in a group only `paused` and `label`; its group has the rest.
///
/// The response has `secret` only if `rotate_secret` made a new one. A watch that was paid for by x402 ends with its
/// term at the latest.
#[utoipa::path(
    patch, path = "/api/v2/watches/{watch_id}", tag = "watches", operation_id = "change_watch",
    params(WatchPath), request_body = ChangeBody,
    responses(
        (status = 200, description = "The watch, with a new secret", body = NewWatchBody),
        responses::OneWatch, responses::Changed, responses::Validated, responses::Bodied, responses::Keyed,
        responses::Units,
    ),
    security(("key" = []), ("watch_token" = [])),
)]
pub(crate) async fn change(
    holder: Holder,
    State(state): State<WatchRoutes>,
    WatchPath(id): WatchPath,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let watches = &state.watches;
    let is_label_given = body.has("label");
    let label = Some(parameters::label(&mut body)).filter(|_| is_label_given);
    let change = WatchChange { label, ..parameters::change(&mut body, watches) };
    body.finish()?;
    let before = watches.watch(holder.owner(), id).await?;
    let (watch, secret) = make(&state, &holder, before, change).await?;
    let body = NewWatchBody { secret, token: None, watch: WatchBody::of(&watch, &watches.public_key()) };
    Ok(fresh::once(Json(body)))
}

/// Removes a watch with its events. Units are not returned.
#[utoipa::path(
    delete, path = "/api/v2/watches/{watch_id}", tag = "watches", operation_id = "remove_watch",
    params(WatchPath),
    responses(
        (status = 204, description = "The watch is removed"),
        responses::OneWatch, responses::Changed, responses::Keyed,
    ),
    security(("key" = []), ("watch_token" = [])),
)]
pub(crate) async fn remove(
    holder: Holder,
    State(state): State<WatchRoutes>,
    WatchPath(id): WatchPath,
) -> Result<StatusCode, ApiError> {
    state.watches.watch(holder.owner(), id).await?;
    state.watches.remove(holder.owner(), id).await?;
    tracing::info!(by = holder.name(), watch = %id, "watch removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Adds the event `watch.test`, which is delivered like every other; to a group, a `watch.digest`.
#[utoipa::path(
    post, path = "/api/v2/watches/{watch_id}/test", tag = "watches", operation_id = "test_watch",
    params(WatchPath),
    responses(
        (status = 202, description = "The watch; the event follows", body = WatchBody),
        responses::OneWatch, responses::Changed, responses::Keyed,
    ),
    security(("key" = []), ("watch_token" = [])),
)]
pub(crate) async fn test(
    holder: Holder,
    State(state): State<WatchRoutes>,
    WatchPath(id): WatchPath,
) -> Result<Response, ApiError> {
    accepted(&state, &state.watches.test(holder.owner(), id).await?)
}

/// The watch, for work that follows.
fn accepted(state: &WatchRoutes, watch: &Watch) -> Result<Response, ApiError> {
    let body = WatchBody::of(watch, &state.watches.public_key());
    Ok((StatusCode::ACCEPTED, fresh::once(Json(body))).into_response())
}

/// Delivers events once more, under their ids, before all others. Resumes deliveries that have stopped.
#[utoipa::path(
    post, path = "/api/v2/watches/{watch_id}/replay", tag = "watches", operation_id = "replay_watch",
    params(WatchPath), request_body = ReplayBody,
    responses(
        (status = 202, description = "The watch; the events follow", body = WatchBody),
        responses::OneWatch, responses::Changed, responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = []), ("watch_token" = [])),
)]
pub(crate) async fn replay(
    holder: Holder,
    State(state): State<WatchRoutes>,
    WatchPath(id): WatchPath,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let (from, to) = (body.count("from"), body.count("to"));
    if body.is_good() && from.is_none_or(|from| from == 0 || to.is_some_and(|to| to < from)) {
        body.refuse("from", "give the number of an event, from 1, and not above `to`");
    }
    body.finish()?;
    let from = from.unwrap_or(1);
    accepted(&state, &state.watches.replay(holder.owner(), id, from, to.unwrap_or(from)).await?)
}
