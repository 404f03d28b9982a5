//! `/api/v2/admin/watches`: the watches and groups of all keys, also of those that cannot ask for them any more.

use axum::{
    Json, extract::FromRequestParts, extract::State, http::StatusCode, http::request::Parts, response::Response,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{WatchRoutes, groups::shown, parameters::WatchPath};
use crate::{bodies::WatchBody, group_bodies::GroupBody, responses};
use assay_http::{
    ApiError,
    extract::{Caller, Paging, optional, single},
    fresh, parameters,
};

/// One page of the watches and groups of all keys, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchesOfKeys)]
pub(crate) struct KeyWatchesBody {
    watches: Vec<KeyWatchBody>,
    page: u64,
    limit: u64,
    /// All watches and groups of the server, or of the key.
    total: usize,
}

/// A watch or a group of any key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchOfKey)]
pub(crate) struct KeyWatchBody {
    /// Name of the key that created it.
    key: String,
    /// `watch` or `group`.
    #[schema(value_type = String)]
    kind: &'static str,
    /// Null for a group.
    watch: Option<WatchBody>,
    /// Null for a watch.
    group: Option<GroupBody>,
}

/// The key whose watches are listed.
pub(crate) struct OfKey(Option<String>);

parameters!(OfKey: optional::<String>("key", "Only watches and groups that the key of this name created"));

impl<S: Send + Sync> FromRequestParts<S> for OfKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(single(parts, "key")?.map(|name| name.into_owned())))
    }
}

/// The watches and groups of all keys, oldest first, with their state.
///
/// Each group and each watch that has not ended takes a place of `watches.max`. A watch is `suspended` while its key is
/// not configured or lacks the scope `read`. The watches of a revoked key end.
#[utoipa::path(
    get, path = "/api/v2/admin/watches", tag = "admin", operation_id = "list_all_watches",
    params(OfKey, Paging),
    responses(
        (status = 200, description = "The watches and groups", body = KeyWatchesBody),
        responses::Paged, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn list(
    State(state): State<WatchRoutes>,
    OfKey(by): OfKey,
    Paging { page, limit }: Paging,
) -> Result<Response, ApiError> {
    let skip = usize::try_from(page.saturating_sub(1).saturating_mul(limit)).unwrap_or(usize::MAX);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let (found, total) = state.watches.all(by.as_deref(), skip, most).await.map_err(ApiError::store)?;
    let public_key = state.watches.public_key();
    let mut watches = Vec::with_capacity(found.len());
    for watch in found {
        let lapse = state.watches.0.lapse(&watch.record).await.map_err(ApiError::store)?;
        watches.push(if watch.record.is_group() {
            let group = shown(&state, &watch).await?;
            let group = if lapse.is_some() { group.suspended() } else { group };
            KeyWatchBody { key: watch.record.by, kind: "group", watch: None, group: Some(group) }
        } else {
            let body = WatchBody::of(&watch, &public_key).under(lapse);
            KeyWatchBody { key: watch.record.by, kind: "watch", watch: Some(body), group: None }
        });
    }
    Ok(fresh::once(Json(KeyWatchesBody { watches, page, limit, total })))
}

/// Removes a watch of any key with its events, or a group with its watches. Units are not returned.
#[utoipa::path(
    delete, path = "/api/v2/admin/watches/{watch_id}", tag = "admin", operation_id = "remove_any_watch",
    params(WatchPath),
    responses(
        (status = 204, description = "The watch or the group is removed"),
        responses::OneWatch, responses::Changed, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn remove(
    caller: Caller,
    State(state): State<WatchRoutes>,
    WatchPath(id): WatchPath,
) -> Result<StatusCode, ApiError> {
    let removed = state.watches.remove_any(id).await?;
    tracing::info!(by = caller.name(), watch = %id, key = removed.by, "watch removed by an admin");
    Ok(StatusCode::NO_CONTENT)
}
