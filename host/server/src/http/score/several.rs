//! `/api/v2/score/…` of several subjects: the mean of their scores, and each score.

use axum::{extract::State, response::Response};

use crate::{
    http::{
        ApiError, App,
        extract::{Asked, Caller, IncludeFactors, SubjectList, charge},
        fresh::{self, Known},
        responses,
        wire::{MeanBody, ScoresBody},
    },
    scoring::{Ask, ScoringError},
};
use assay_domain::Freshness;

/// One score for several addresses: the mean of their scores.
///
/// Items that are neither an address nor a name are skipped, and so are addresses without activity; an address that
/// occurs twice counts once. Each address costs the units of one score.
#[utoipa::path(
    get, path = "/api/v2/score/", tag = "scores", operation_id = "mean_score",
    params(
        ("address" = String, Query, description = "Comma-separated addresses or ENS names", example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045,vitalik.eth"),
        ("model_version" = Option<String>, Query, description = "Which version is to answer; the champion where absent", example = "1.0"),
    ),
    responses((status = 200, description = "The mean", body = MeanBody, headers(("Assay-Score-Id" = String, description = "Ids of the scores in their order, joined by commas; a dash for one that is not kept"))), responses::Unchanged, responses::Several, responses::Validated, responses::Keyed, responses::Units, responses::Unknown, responses::OutOfService, responses::Chains),
    security(("key" = [])),
)]
pub async fn mean(
    caller: Caller<charge::Score>,
    State(app): State<App>,
    known: Known,
    SubjectList(subjects): SubjectList,
    Asked(version): Asked,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let ask = Ask { by: caller.name(), version: version.as_ref(), factors: false };
    let mean = app.charged(&caller, count, app.source.mean(subjects, &ask)).await?;
    let ids: Vec<_> = mean.scores.iter().map(|scored| app.rollout.score_id(scored, caller.owner())).collect();
    Ok(fresh::identified(app.answer(&known, mean.fresh, &MeanBody::from(mean))?, ids))
}

/// The score of each of several addresses.
///
/// Items that are neither an address nor a name are skipped, and so are addresses without activity; an address that
/// occurs twice is in the response once. Each address costs the units of one score.
#[utoipa::path(
    get, path = "/api/v2/score/batch/", tag = "scores", operation_id = "scores",
    params(
        ("address" = String, Query, description = "Comma-separated addresses or ENS names", example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045,vitalik.eth"),
        ("include_factors" = Option<bool>, Query, description = "Also say what the scores are made of, and what their model claims of such wallets"),
        ("model_version" = Option<String>, Query, description = "Which version is to answer; the champion where absent", example = "1.0"),
    ),
    responses((status = 200, description = "The scores", body = ScoresBody, headers(("Assay-Score-Id" = String, description = "Ids of the scores in their order, joined by commas; a dash for one that is not kept"))), responses::Unchanged, responses::Several, responses::Validated, responses::Keyed, responses::Units, responses::Unknown, responses::OutOfService, responses::Chains),
    security(("key" = [])),
)]
pub async fn batch(
    caller: Caller<charge::Score>,
    State(app): State<App>,
    known: Known,
    SubjectList(subjects): SubjectList,
    IncludeFactors(factors): IncludeFactors,
    Asked(version): Asked,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let ask = Ask { by: caller.name(), version: version.as_ref(), factors };
    let scored = app.charged(&caller, count, app.source.scores(subjects, &ask)).await?;
    let soonest = Freshness::soonest(scored.iter().map(|scored| scored.fresh)).ok_or(ScoringError::NoneValid)?;
    let mut bodies = Vec::with_capacity(scored.len());
    for scored in &scored {
        bodies.push(app.explained(scored, factors).await);
    }
    let ids = scored.iter().map(|scored| app.rollout.score_id(scored, caller.owner()));
    Ok(fresh::identified(app.answer(&known, soonest, &ScoresBody::from(bodies))?, ids))
}
