//! Mock scores: one, one with off-chain assets, the mean of several, and each of several.

use axum::{Json, extract::State};

use super::SandboxRoutes;
use crate::{SandboxScore, responses};
use assay_domain::Address;
use assay_http::{
    ApiError,
    extract::{AddressList, AddressPath, JsonObject},
    values::Moment,
};
use assay_score::{
    LeftOut, OffChain, ScoringError, assets,
    bodies::{MeanBody, ScoreBody, ScoresBody},
};
use assay_tasks::blocking;

/// A mock score: the same address always has the same.
///
/// 0x0000000000000000000000000000000000000001 to …04 are excellent, good, fair and low.
#[utoipa::path(
    get, path = "/api/v2/sandbox/score/address/{address}", tag = "sandbox", operation_id = "get_sandbox_score",
    params(AddressPath),
    responses(
        (status = 200, description = "The score", body = ScoreBody),
        responses::BadAddress, responses::Keyed, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(
    State(state): State<SandboxRoutes>,
    AddressPath(address): AddressPath,
) -> Result<Json<ScoreBody>, ApiError> {
    Ok(Json(mock(address, state.sandbox().score(address)?)))
}

/// A mock score with off-chain assets added, in proportion up to 100,000 USD.
#[utoipa::path(
    post, path = "/api/v2/sandbox/score/address/{address}", tag = "sandbox", operation_id = "enhance_sandbox_score",
    params(AddressPath),
    request_body(content = OffChain, content_type = "application/json"),
    responses(
        (status = 200, description = "The score", body = ScoreBody),
        responses::BadAddress, responses::Validated, responses::Bodied, responses::Keyed, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn post(
    State(state): State<SandboxRoutes>,
    AddressPath(address): AddressPath,
    body: JsonObject,
) -> Result<Json<ScoreBody>, ApiError> {
    Ok(Json(mock(address, state.sandbox().boosted(address, assets(body)?)?)))
}

/// One mock score for several addresses: the mean of their scores. Invalid addresses are skipped.
#[utoipa::path(
    get, path = "/api/v2/sandbox/score/", tag = "sandbox", operation_id = "get_sandbox_mean_score",
    params(AddressList),
    responses(
        (status = 200, description = "The mean", body = MeanBody),
        responses::NoValidAddress, responses::Validated, responses::Keyed, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn mean(
    State(state): State<SandboxRoutes>,
    AddressList(addresses, invalid): AddressList,
) -> Result<Json<MeanBody>, ApiError> {
    let sandbox = state.sandbox();
    let mean = blocking(move || {
        let SandboxScore { score, decile, model } = sandbox.mean(&addresses)?;
        Ok::<_, ScoringError>(MeanBody::bare(addresses, score, decile, model.version, Moment::now()))
    });
    Ok(Json(MeanBody { skipped: LeftOut::default().after(invalid).into(), ..mean.await? }))
}

/// Mock scores of several addresses. Invalid addresses are skipped.
#[utoipa::path(
    get, path = "/api/v2/sandbox/score/batch/", tag = "sandbox", operation_id = "list_sandbox_scores",
    params(AddressList),
    responses(
        (status = 200, description = "The scores", body = ScoresBody),
        responses::NoValidAddress, responses::Validated, responses::Keyed, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn batch(
    State(state): State<SandboxRoutes>,
    AddressList(addresses, invalid): AddressList,
) -> Result<Json<ScoresBody>, ApiError> {
    let sandbox = state.sandbox();
    let score = move |address| Ok(mock(address, sandbox.score(address)?));
    let scores: Result<Vec<ScoreBody>, ScoringError> =
        blocking(move || addresses.into_iter().map(score).collect()).await;
    Ok(Json(ScoresBody { skipped: LeftOut::default().after(invalid).into(), ..scores?.into() }))
}

/// A mock score with the current time.
fn mock(address: Address, SandboxScore { score, decile, model }: SandboxScore) -> ScoreBody {
    ScoreBody::bare(address, score, decile, model.version, Moment::now())
}
