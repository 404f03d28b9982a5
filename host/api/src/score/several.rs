//! `/api/v2/score/…` of several subjects: the mean of their scores, and each score.

use axum::{extract::State, response::Response};

use crate::{
    ApiError, App,
    extract::{Asked, Caller, IncludeFactors, SubjectList},
    fresh::{self, Known},
    responses,
};
use assay_domain::Freshness;
use assay_scoring::{Ask, Scores, ScoringError};
use assay_wire::{MeanBody, ScoresBody, SkippedBody};

/// One score for several addresses: the mean of their scores.
///
/// Items that are neither an address nor a name are skipped, and so are addresses without activity: `skipped` lists
/// them. An address that occurs twice counts once. Each address costs the units of one score.
#[utoipa::path(
    get, path = "/api/v2/score/", tag = "scores", operation_id = "get_mean_score",
    params(SubjectList, Asked),
    responses(
        (
            status = 200, description = "The mean", body = MeanBody,
            headers(("Assay-Score-Id" = String, description = "Ids of the scores in order; a dash if none is kept")),
        ),
        responses::Unchanged, responses::Several, responses::Validated, responses::Keyed, responses::Units,
        responses::Unknown, responses::OutOfService, responses::Chains,
    ),
    security(("key" = [])),
)]
pub(crate) async fn mean(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectList(subjects, mut skipped): SubjectList,
    Asked(version): Asked,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let ask = Ask { by: caller.name(), version: version.as_ref(), factors: false };
    let mean = async { app.source.scores(subjects, ask).await?.mean() };
    let mut mean = app.charged(&caller, count, mean).await?;
    skipped.append(&mut mean.skipped);
    mean.skipped = skipped;
    let ids: Vec<_> = mean.scores.iter().map(|scored| app.rollout.score_id(scored, caller.owner())).collect();
    Ok(fresh::identified(known.answer(mean.fresh, &MeanBody::from(mean))?, ids))
}

/// The score of each of several addresses.
///
/// Items that are neither an address nor a name are skipped, and so are addresses without activity: `skipped` lists
/// them. An address that occurs twice is in the response once. Each address costs the units of one score.
#[utoipa::path(
    get, path = "/api/v2/score/batch/", tag = "scores", operation_id = "list_scores",
    params(SubjectList, IncludeFactors, Asked),
    responses(
        (
            status = 200, description = "The scores", body = ScoresBody,
            headers(("Assay-Score-Id" = String, description = "Ids of the scores in order; a dash if none is kept")),
        ),
        responses::Unchanged, responses::Several, responses::Validated, responses::Keyed, responses::Units,
        responses::Unknown, responses::OutOfService, responses::Chains,
    ),
    security(("key" = [])),
)]
pub(crate) async fn batch(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectList(subjects, mut skipped): SubjectList,
    IncludeFactors(factors): IncludeFactors,
    Asked(version): Asked,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let ask = Ask { by: caller.name(), version: version.as_ref(), factors };
    let Scores { found: scored, skipped: mut more, .. } =
        app.charged(&caller, count, app.source.scores(subjects, ask)).await?;
    skipped.append(&mut more);
    let soonest = Freshness::soonest(scored.iter().map(|scored| scored.fresh)).ok_or(ScoringError::NoneValid)?;
    let mut bodies = Vec::with_capacity(scored.len());
    for scored in &scored {
        bodies.push(app.explained(scored, factors).await);
    }
    let ids = scored.iter().map(|scored| app.rollout.score_id(scored, caller.owner()));
    Ok(fresh::identified(
        known.answer(soonest, &ScoresBody { skipped: SkippedBody::all(skipped), ..bodies.into() })?,
        ids,
    ))
}
