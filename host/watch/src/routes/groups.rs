//! `/api/v2/watches/groups`.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{
    WatchRoutes,
    change::make,
    holder::Holder,
    parameters::{self, EVERY, GroupPath},
};
use crate::{
    creation::Retry,
    group_bodies::{GroupBody, GroupsBody, NewGroupBody},
    records::Role,
    responses,
    trigger::NewTrigger,
    watches::{NewWatch, TERM, Watch},
};
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject, RetryKey},
    fresh,
};

/// A new group.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewWatchGroup, example = json!({
    "name": "Loans in euros", "when": [{ "measure": "health_factor", "below": 1.3, "clear_above": 1.4 }],
    "every_s": 300, "url": "https://lender.example/hooks/assay"
}))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct CreateGroupBody {
    /// 1 to 200 characters.
    #[schema(max_length = 200)]
    name: String,
    /// What to tell of each wallet, 1 to 16 entries.
    when: Vec<NewTrigger>,
    /// Seconds between two evaluations of each wallet; 300 by default.
    every_s: Option<u64>,
    /// Tell at the first evaluation of a wallet if a bound is crossed already.
    fires_at_once: Option<bool>,
    /// Events of a score carry its signed statement.
    statement: Option<bool>,
    /// Where the events of all watches and the digests are delivered. Without it, poll or follow them.
    url: Option<String>,
    /// When all watches end, at most 366 days from now; 30 days from now by default.
    #[schema(format = DateTime)]
    until: Option<String>,
}

/// Changes to a group, for all of its watches; absent fields leave it as it is.
#[derive(Deserialize, ToSchema)]
#[schema(as = WatchGroupChange, example = json!({ "when": [{ "measure": "health_factor", "below": 1.5 }] }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct ChangeGroupBody {
    /// Replaces all entries, whose states begin anew.
    when: Option<Vec<NewTrigger>>,
    every_s: Option<u64>,
    /// Another receiver, which must agree and gets the events that were not delivered; null removes it. A receiver
    /// where there was none begins with the next events.
    url: Option<String>,
    /// Each further 30 days begun of each watch cost units.
    #[schema(format = DateTime)]
    until: Option<String>,
    /// True: nothing is evaluated or delivered. False resumes it, and deliveries that have stopped.
    paused: Option<bool>,
    /// Makes a new secret, which the response has. The old one signs too for a day.
    rotate_secret: Option<bool>,
}

/// Makes a group of watches; free.
///
/// Add its wallets by `POST /api/v2/watches/bulk`; each of them is paid like a watch. All watches of a group have its
/// settings. Once a day the group has the event `watch.digest`. A group counts as one of the watches of a key, also
/// after its end, until it is removed or its events have expired. The same request with the same `Idempotency-Key`
/// returns the same group within a day.
#[utoipa::path(
    post, path = "/api/v2/watches/groups", tag = "watches", operation_id = "add_watch_group",
    params(RetryKey),
    request_body = CreateGroupBody,
    responses(
        (status = 201, description = "The group, with its secret", body = NewGroupBody),
        responses::NewGroup, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn create(
    caller: Caller,
    State(state): State<WatchRoutes>,
    retry_key: RetryKey,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let (watches, now) = (&state.watches, parameters::now());
    state.source.of_chains("has no groups of watches")?;
    let name = body.text("name");
    if name.is_none() && body.is_good() {
        body.refuse("name", "name the group");
    }
    parameters::check_label(&mut body, "name", name.as_deref());
    let triggers = parameters::required_triggers(&mut body, watches);
    let every = parameters::every(&mut body, watches).unwrap_or(EVERY.max(watches.settings().min_every));
    let fires_at_once = body.flag("fires_at_once");
    let statement = parameters::statement(&mut body, watches);
    let url = parameters::url(&mut body, watches);
    let until = parameters::until(&mut body, now);
    body.finish()?;
    let words = json!([name, triggers, every.as_secs(), fires_at_once, statement, url, until]).to_string();
    let (retry, until) = (Retry::new(caller.owner(), retry_key, &words), until.unwrap_or(now + TERM));
    let (owner, by, subject) = (caller.owner().to_owned(), caller.name().to_owned(), name.unwrap_or_default());
    let (role, label) = (Role::Group, None);
    let new = NewWatch { owner, by, subject, triggers, every, fires_at_once, statement, url, until, role, label };
    let (group, _) = watches.create(new, (caller.key(), 0), retry.as_ref()).await?;
    let secret = Some(group.record.secret.expose().to_owned());
    let body = NewGroupBody { secret, group: shown(&state, &group).await? };
    Ok((StatusCode::CREATED, fresh::once(Json(body))).into_response())
}

/// Your groups, oldest first; free.
#[utoipa::path(
    get, path = "/api/v2/watches/groups", tag = "watches", operation_id = "list_watch_groups",
    responses((status = 200, description = "The groups", body = GroupsBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn list(caller: Caller, State(state): State<WatchRoutes>) -> Result<Response, ApiError> {
    let found = state.watches.groups(caller.owner()).await.map_err(ApiError::store)?;
    let mut groups = Vec::with_capacity(found.len());
    for group in &found {
        groups.push(shown(&state, group).await?);
    }
    Ok(fresh::once(Json(GroupsBody { groups })))
}

/// A group; free. Its watches are in `GET /api/v2/watches?group=`.
#[utoipa::path(
    get, path = "/api/v2/watches/groups/{group_id}", tag = "watches", operation_id = "get_watch_group",
    params(GroupPath),
    responses((status = 200, description = "The group", body = GroupBody), responses::OneGroup, responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn get(
    caller: Caller,
    State(state): State<WatchRoutes>,
    GroupPath(id): GroupPath,
) -> Result<Response, ApiError> {
    let group = state.watches.group(caller.owner(), id).await?;
    Ok(fresh::once(Json(shown(&state, &group).await?)))
}

/// Changes a group with all of its watches, in one step.
///
/// The response has `secret` only if `rotate_secret` made a new one.
#[utoipa::path(
    patch, path = "/api/v2/watches/groups/{group_id}", tag = "watches", operation_id = "change_watch_group",
    params(GroupPath), request_body = ChangeGroupBody,
    responses(
        (status = 200, description = "The group, with a new secret", body = NewGroupBody),
        responses::OneGroup, responses::Changed, responses::Validated, responses::Bodied, responses::Keyed,
        responses::Units,
    ),
    security(("key" = [])),
)]
pub(crate) async fn change(
    caller: Caller,
    State(state): State<WatchRoutes>,
    GroupPath(id): GroupPath,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let watches = &state.watches;
    let change = parameters::change(&mut body, watches);
    body.finish()?;
    let before = watches.group(caller.owner(), id).await?;
    let (group, secret) = make(&state, &Holder::Key(caller), before, change).await?;
    Ok(fresh::once(Json(NewGroupBody { secret, group: shown(&state, &group).await? })))
}

/// Removes a group with its watches and their events. Units are not returned.
#[utoipa::path(
    delete, path = "/api/v2/watches/groups/{group_id}", tag = "watches", operation_id = "remove_watch_group",
    params(GroupPath),
    responses(
        (status = 204, description = "The group is removed"),
        responses::OneGroup, responses::Changed, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn remove(
    caller: Caller,
    State(state): State<WatchRoutes>,
    GroupPath(id): GroupPath,
) -> Result<StatusCode, ApiError> {
    state.watches.remove_group(caller.owner(), id).await?;
    tracing::info!(by = caller.name(), group = %id, "group of watches removed");
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn shown(state: &WatchRoutes, group: &Watch) -> Result<GroupBody, ApiError> {
    let watches = state.watches.member_count(group.record.id).await.map_err(ApiError::store)?;
    Ok(GroupBody::of(group, watches, &state.watches.public_key()))
}
