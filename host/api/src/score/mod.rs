//! `/api/v2/score/address/{address}`: the score of one subject, from the chains alone or with off-chain assets added.

pub(crate) mod attestation;
pub(crate) mod history;
mod paid;
pub(crate) mod provenance;
pub(crate) mod several;
mod statement;

use axum::{Json, extract::State, response::Response};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    ApiError, App,
    extract::{Asked, Caller, IncludeFactors, JsonObject, SubjectPath},
    fresh::{self, Known},
    responses,
    state::AppState,
};
use assay_domain::Claimed;
use assay_scoring::{Ask, rollout::Scored};
use assay_wire::ScoreBody;

/// Off-chain figures from the caller, which are not verified.
#[derive(Deserialize, ToSchema)]
#[schema(as = OffChain, example = json!({ "total_asset_usd": 50_000 }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct OffChain {
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
    params(SubjectPath, IncludeFactors, Asked),
    responses(
        (
            status = 200, description = "The score", body = ScoreBody,
            headers(("Assay-Score-Id" = String, description = "Id for `/api/v2/score/{id}`; absent if none is kept")),
        ),
        responses::Unchanged, responses::Address, responses::Validated, responses::Keyed, responses::Units,
        responses::Unknown, responses::OutOfService, responses::Chains,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    IncludeFactors(factors): IncludeFactors,
    Asked(version): Asked,
) -> Result<Response, ApiError> {
    let ask = Ask { by: caller.name(), version: version.as_ref(), factors };
    let scored = app.charged(&caller, 1, app.source.score(&subject, None, ask)).await?;
    let body = app.explained(&scored, factors).await;
    let answer = known.answer(scored.fresh, &body)?;
    Ok(fresh::identified(answer, [app.rollout.score_id(&scored, caller.owner())]))
}

/// The score of one address with off-chain assets added.
///
/// The score rises by at most 15 % of the gap to 1000, in proportion to the assets up to 50,000 USD.
#[utoipa::path(
    post, path = "/api/v2/score/address/{address}", tag = "scores", operation_id = "enhance_score",
    params(SubjectPath, IncludeFactors, Asked),
    request_body(content = OffChain, content_type = "application/json"),
    responses(
        (
            status = 200, description = "The score", body = ScoreBody,
            headers(("Assay-Score-Id" = String, description = "Id for `/api/v2/score/{id}`; absent if none is kept")),
        ),
        responses::Address, responses::Validated, responses::Bodied, responses::Keyed, responses::Units,
        responses::Unknown, responses::OutOfService, responses::Chains,
    ),
    security(("key" = [])),
)]
pub(crate) async fn post(
    caller: Caller,
    State(app): State<App>,
    SubjectPath(subject): SubjectPath,
    IncludeFactors(factors): IncludeFactors,
    Asked(version): Asked,
    body: JsonObject,
) -> Result<Response, ApiError> {
    let assets = assets(body)?;
    let ask = Ask { by: caller.name(), version: version.as_ref(), factors };
    let scored = app.charged(&caller, 1, app.source.score(&subject, Some(assets), ask)).await?;
    let answer = fresh::once(Json(app.explained(&scored, factors).await));
    Ok(fresh::identified(answer, [app.rollout.score_id(&scored, caller.owner())]))
}

/// The assets in a body of [`OffChain`]. The other fields of the report's body are ignored.
pub(crate) fn assets(mut body: JsonObject) -> Result<f64, ApiError> {
    let assets = body.amount("total_asset_usd").unwrap_or(0.0);
    body.ignore(&["name", "total_collateral_usd", "total_debt_usd", "count_transactions", "count_transfers"]);
    body.finish()?;
    Ok(assets)
}

impl AppState {
    /// What the model of `scored` claims of the wallet.
    pub async fn claimed(&self, scored: &Scored) -> Claimed {
        self.cards.claimed(self.rollout.registry(), scored).await
    }

    /// The body of a score with what the model claims.
    pub async fn explained(&self, scored: &Scored, factors: bool) -> ScoreBody {
        ScoreBody::scored(scored, factors).claimed(self.claimed(scored).await)
    }
}
