//! `GET /api/v2/watches/summary`.

use axum::{Json, extract::State, response::Response};

use super::{WatchRoutes, parameters::GroupQuery};
use crate::{portfolio::Portfolio, responses, summary::SummaryBody};
use assay_http::{ApiError, extract::Caller, fresh};

/// Your watches together: how many are beyond their bounds or near them, and the debts at risk; free.
///
/// Debts are those of the last reading of each wallet, so nothing is read for the answer. They are at risk if the
/// health factor of their market is below 1 after the fall, computed as a `what-if` does.
#[utoipa::path(
    get, path = "/api/v2/watches/summary", tag = "watches", operation_id = "get_watch_summary",
    params(GroupQuery),
    responses(
        (status = 200, description = "The summary", body = SummaryBody),
        responses::OneGroup, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(
    caller: Caller,
    State(state): State<WatchRoutes>,
    GroupQuery(group): GroupQuery,
) -> Result<Response, ApiError> {
    let watches = &state.watches;
    let found = match group {
        Some(group) => {
            let group = watches.group(caller.owner(), group).await?.record.id;
            watches.0.members(group).await.map_err(ApiError::store)?
        }
        None => watches.list(caller.owner(), 0, usize::MAX).await.map_err(ApiError::store)?.0,
    };
    Ok(fresh::once(Json(SummaryBody::from(Portfolio::of(&found)))))
}
