//! `/api/v2/score/…` of several subjects: the mean of their scores, and each score.

use axum::{Json, extract::State, response::Response};

use super::{ScoreRoutes, Show, choice::ModelChoice, identified, reasoned};
use crate::{
    Ask, Scores,
    bodies::{MeanBody, ScoresBody, SkippedList},
    responses,
};
use assay_domain::Freshness;
use assay_http::{
    ApiError,
    extract::{Caller, SubjectList},
    fresh::{self, Known},
};

/// One score for several addresses: the mean of their scores.
///
/// Items that are neither an address nor a name are skipped, and so are addresses without activity: `skipped` lists
/// them. An address that occurs twice counts once. Each address costs the units of one score.
#[utoipa::path(
    get, path = "/api/v2/score/", tag = "scores", operation_id = "get_mean_score",
    params(SubjectList, ModelChoice),
    responses(
        (
            status = 200, description = "The mean", body = MeanBody,
            headers(
                ("Assay-Score-Id" = String, description = "Ids of the scores in order; a dash if none is kept"),
                ("Assay-Model-Reason" = String, description = "Why the version of each score answered, in order"),
            ),
        ),
        responses::Unchanged, responses::NoValidAddress, responses::Validated, responses::Keyed, responses::Units,
        responses::NotFound, responses::VersionRefused, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn mean(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    known: Known,
    SubjectList(subjects, invalid): SubjectList,
    choice: ModelChoice,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let ask = Ask { one_version: true, ..choice.ask(caller.name(), false) };
    let mean = async { scores.source.scores(subjects, ask).await?.mean() };
    let mut mean = caller.pay_each(count, mean).await?;
    mean.skipped = mean.skipped.after(invalid);
    let ids: Vec<_> = mean.scores.iter().map(|scored| scores.rollout.score_id(scored, caller.owner())).collect();
    let chosen: Vec<_> = mean.scores.first().map(|scored| scored.chosen).into_iter().collect();
    Ok(reasoned(identified(known.answer(mean.fresh, &MeanBody::from(mean))?, ids), chosen))
}

/// The score of each of several addresses.
///
/// Items that are neither an address nor a name are skipped, and so are addresses without activity: `skipped` lists
/// them, also if no score is left. An address that occurs twice is in the response once. Each address costs the units
/// of one score.
#[utoipa::path(
    get, path = "/api/v2/score/batch/", tag = "scores", operation_id = "list_scores",
    params(SubjectList, Show, ModelChoice),
    responses(
        (
            status = 200, description = "The scores", body = ScoresBody,
            headers(
                ("Assay-Score-Id" = String, description = "Ids of the scores in order; a dash if none is kept"),
                ("Assay-Model-Reason" = String, description = "Why the version of each score answered, in order"),
            ),
        ),
        responses::Unchanged, responses::NoValidAddress, responses::Validated, responses::Keyed, responses::Units,
        responses::NotFound, responses::VersionRefused, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn batch(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    known: Known,
    SubjectList(subjects, invalid): SubjectList,
    show: Show,
    choice: ModelChoice,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let ask = choice.ask(caller.name(), show.words());
    let Scores { found: scored, skipped, .. } = caller.pay_each(count, scores.source.scores(subjects, ask)).await?;
    let skipped = SkippedList::from(skipped.after(invalid));
    let Some(soonest) = Freshness::soonest(scored.iter().map(|scored| scored.fresh)) else {
        return Ok(fresh::once(Json(ScoresBody { skipped, ..Vec::new().into() })));
    };
    let mut bodies = Vec::with_capacity(scored.len());
    for scored in &scored {
        bodies.push(scores.explained(scored, show).await);
    }
    let ids = scored.iter().map(|scored| scores.rollout.score_id(scored, caller.owner()));
    let answer = known.answer(soonest, &ScoresBody { skipped, ..bodies.into() })?;
    Ok(reasoned(identified(answer, ids), scored.iter().map(|scored| scored.chosen)))
}
