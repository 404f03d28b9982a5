//! `/api/v2/score/address/{address}/history`: the score at moments in the past, and what changed between them.

use axum::{Json, extract::State, response::Response};

use crate::{
    ApiError, App,
    extract::{Asked, Caller, Moments, SubjectPath},
    fresh, responses,
};
use assay_scoring::{Ask, NotScored, ScoringError, history::Past};
use assay_wire::{HistoryBody, PointBody};

/// The score at moments in the past, read from endpoints that keep old state.
///
/// What was not read before is read in the background: `pending` is true until all is known, and asking again is free
/// for a day. Each point names its blocks, and how each factor changed since the point before; with `rest`, what no
/// factor accounts for, these sum to the change of the score. Explorers and price APIs are not asked, because they tell
/// only of today. Each point costs the units of one score.
#[utoipa::path(
    get, path = "/api/v2/score/address/{address}/history", tag = "scores", operation_id = "get_score_history",
    params(SubjectPath, Moments, Asked),
    responses(
        (status = 200, description = "The points", body = HistoryBody),
        responses::Address, responses::Validated, responses::Keyed, responses::Units, responses::Unknown,
        responses::Provisional, responses::OutOfService, responses::Chains,
    ),
    security(("key" = [])),
)]
pub(crate) async fn history(
    caller: Caller,
    State(app): State<App>,
    SubjectPath(subject): SubjectPath,
    Moments(moments): Moments,
    Asked(version): Asked,
) -> Result<Response, ApiError> {
    let scoring = app.chain_scoring("has no past")?;
    if !app.reads_chains {
        return Err(app.refuse(ScoringError::ChainsDown));
    }
    let ask = Ask { by: caller.name(), version: version.as_ref(), factors: false };
    let model = scoring.model(&ask).map_err(|error| app.refuse(error))?;
    let wallet = scoring.address(&subject).await.map_err(|error| app.refuse(error))?;
    let known = async || app.history.at(caller.owner(), wallet, &moments).await.map_err(ApiError::from);
    let known = if app.history.is_paid(caller.owner(), wallet, &moments).await.map_err(ApiError::store)? {
        known().await?
    } else {
        // If the payment cannot be recorded, the units are given back, because the next request pays again.
        let recorded = async {
            let known = known().await?;
            let pays = app.history.pay(caller.owner(), wallet, &moments).await.map_err(ApiError::store)?;
            Ok((known, pays))
        };
        caller.pay_each_if(&app, moments.len(), recorded).await?
    };
    let mut body = HistoryBody::new(wallet, &model.reference().version);
    for (moment, past) in moments.iter().zip(known) {
        let point = match past {
            Past::Pending => PointBody::pending(*moment),
            Past::Unread(reason) => PointBody::unread(*moment, reason),
            Past::Read(read) => match scoring.past(&model, wallet, &read) {
                Ok(scored) => PointBody::scored(*moment, &scored, app.claimed(&scored).await),
                Err(ScoringError::NotFound) => PointBody::inactive(*moment, read.blocks.clone()),
                Err(error) => match NotScored::of(&error) {
                    Some(why) => PointBody::not_scored(*moment, &why, read.blocks.clone()),
                    None => return Err(app.refuse(error)),
                },
            },
        };
        body.push(point);
    }
    Ok(fresh::once(Json(body)))
}
