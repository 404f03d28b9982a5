//! `GET /api/v2/submissions`: the submissions of the caller's own key.

use axum::{Json, extract::State, response::Response};

use super::{Form, ReputationRoutes, parameters::SearchQuery};
use crate::{
    OwnPage, OwnQuery,
    bodies::{OwnSubmissionBody, OwnSubmissionsBody},
    responses,
};
use assay_http::{
    ApiError,
    extract::{Caller, Paging},
    fresh,
};

/// The submissions of your key, the newest first; free.
///
/// A key sees only those that it paid for. Submissions that were accepted by a version of the server without this list
/// are not in it.
#[utoipa::path(
    get, path = "/api/v2/submissions", tag = "reputation", operation_id = "list_submissions",
    params(SearchQuery, Paging),
    responses(
        (status = 200, description = "The page", body = OwnSubmissionsBody),
        responses::Paged, responses::Validated, responses::Keyed, responses::NoSubmissions,
    ),
    security(("key" = [])),
)]
pub(crate) async fn own(
    caller: Caller,
    State(state): State<ReputationRoutes>,
    SearchQuery(query): SearchQuery,
    Paging { page, limit }: Paging,
) -> Result<Response, ApiError> {
    let asked = OwnQuery { owner: caller.owner(), text: &query, page, limit };
    let OwnPage { records, total } = state.service()?.own(&asked).await.map_err(ApiError::store)?;
    let submissions =
        records.iter().map(|record| OwnSubmissionBody::of(record, Form::Agents.status_url(record.agent_id, record.id)));
    let body = OwnSubmissionsBody { submissions: submissions.collect(), total, query, page, limit };
    Ok(fresh::once(Json(body)))
}
