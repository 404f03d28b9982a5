//! `/api/v2/score/address/{address}`: the score of one subject, only from the chains or with off-chain assets added.

use axum::{Json, extract::State, response::Response};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{ScoreRoutes, Show, choice::ModelChoice, identified, reasoned, what_if::ChangesQuery};
use crate::{ScoringError, bodies::ScoreBody, responses};
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject, SubjectPath},
    fresh::{self, Known},
};

/// Off-chain figures from the caller, which are not verified.
#[derive(Deserialize, ToSchema)]
#[schema(as = OffChain, example = json!({ "total_asset_usd": 50_000 }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub struct OffChain {
    /// Assets in US dollars, not negative.
    #[schema(minimum = 0)]
    total_asset_usd: Option<f64>,
}

/// The score of one address.
///
/// The first time an address is scored, its lending history is read from the chains. If that takes long, the response
/// has `pending` and `provisional`; request it again shortly.
#[utoipa::path(
    get, path = "/api/v2/score/address/{address}", tag = "scores", operation_id = "get_score",
    params(SubjectPath, Show, ChangesQuery, ModelChoice),
    responses(
        (
            status = 200, description = "The score", body = ScoreBody,
            headers(
                ("Assay-Score-Id" = String, description = "Id for `/api/v2/score/{id}`; absent if none is kept"),
                ("Assay-Model-Reason" = String, description = "Why this version answered: `champion`, `requested`, \
                    `pinned`, `header` or `split`"),
            ),
        ),
        responses::Unchanged, responses::BadAddress, responses::Validated, responses::Keyed, responses::Units,
        responses::NotFound, responses::VersionRefused, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    show: Show,
    ChangesQuery(changes): ChangesQuery,
    choice: ModelChoice,
) -> Result<Response, ApiError> {
    let ask = choice.ask(caller.name(), show.words());
    let found = async {
        let Some(target) = changes else { return Ok((scores.source.score(&subject, None, ask).await?, None)) };
        let baseline = scores.source.baseline(&subject, ask).await?;
        Ok::<_, ScoringError>((baseline.scored.clone(), Some(baseline.outlook(target).await?)))
    };
    let (scored, outlook) = caller.pay(found).await?;
    let body = scores.explained(&scored, show).await.changed(outlook);
    let answer = known.answer(scored.fresh, &body)?;
    let answer = identified(answer, [scores.rollout.score_id(&scored, caller.owner())]);
    Ok(reasoned(answer, [scored.chosen]))
}

/// The score of one address with off-chain assets added.
///
/// The score rises by at most 15 % of the gap to 1000, in proportion to the assets up to 50,000 USD.
#[utoipa::path(
    post, path = "/api/v2/score/address/{address}", tag = "scores", operation_id = "enhance_score",
    params(SubjectPath, Show, ModelChoice),
    request_body(content = OffChain, content_type = "application/json"),
    responses(
        (
            status = 200, description = "The score", body = ScoreBody,
            headers(
                ("Assay-Score-Id" = String, description = "Id for `/api/v2/score/{id}`; absent if none is kept"),
                ("Assay-Model-Reason" = String, description = "Why this version answered: `champion`, `requested`, \
                    `pinned`, `header` or `split`"),
            ),
        ),
        responses::BadAddress, responses::Validated, responses::Bodied, responses::Keyed, responses::Units,
        responses::NotFound, responses::VersionRefused, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn post(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    SubjectPath(subject): SubjectPath,
    show: Show,
    choice: ModelChoice,
    body: JsonObject,
) -> Result<Response, ApiError> {
    let assets = assets(body)?;
    let ask = choice.ask(caller.name(), show.words());
    let scored = caller.pay(scores.source.score(&subject, Some(assets), ask)).await?;
    let answer = fresh::once(Json(scores.explained(&scored, show).await));
    let answer = identified(answer, [scores.rollout.score_id(&scored, caller.owner())]);
    Ok(reasoned(answer, [scored.chosen]))
}

/// The assets in a body of [`OffChain`]. The other fields of the report's body are ignored.
pub fn assets(mut body: JsonObject) -> Result<f64, ApiError> {
    let assets = body.amount("total_asset_usd").unwrap_or(0.0);
    body.ignore(&["name", "total_collateral_usd", "total_debt_usd", "count_transactions", "count_transfers"]);
    body.finish()?;
    Ok(assets)
}
