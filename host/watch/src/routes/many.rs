//! `GET /api/v2/watches`.

use axum::{Json, extract::State, response::Response};

use super::{WatchRoutes, parameters::GroupQuery};
use crate::{
    bodies::{WatchBody, WatchesBody},
    responses,
};
use assay_http::{
    ApiError,
    extract::{Caller, Paging},
    fresh,
};

/// The watches of your key, oldest first, with their last values; free. Those of one `group` are in a fixed order.
#[utoipa::path(
    get, path = "/api/v2/watches", tag = "watches", operation_id = "list_watches",
    params(Paging, GroupQuery),
    responses(
        (status = 200, description = "The watches", body = WatchesBody),
        responses::Paged, responses::Validated, responses::Keyed, responses::OneGroup,
    ),
    security(("key" = [])),
)]
pub(crate) async fn list(
    caller: Caller,
    State(state): State<WatchRoutes>,
    Paging { page, limit }: Paging,
    GroupQuery(group): GroupQuery,
) -> Result<Response, ApiError> {
    let skip = usize::try_from(page.saturating_sub(1).saturating_mul(limit)).unwrap_or(usize::MAX);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let (found, total) = match group {
        Some(group) => state.watches.list_of_group(caller.owner(), group, skip, most).await?,
        None => state.watches.list(caller.owner(), skip, most).await.map_err(ApiError::store)?,
    };
    let key = state.watches.public_key();
    let watches = found.iter().map(|watch| WatchBody::of(watch, &key)).collect();
    Ok(fresh::once(Json(WatchesBody { watches, page, limit, total })))
}
