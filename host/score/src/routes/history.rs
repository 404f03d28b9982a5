//! `/api/v2/score/address/{address}/history`: the score at moments in the past, and what changed between them.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
    response::Response,
};

use super::{ScoreRoutes, choice::ModelChoice};
use crate::{
    MockPast, MockPoint, NotScored, ScoringError,
    bodies::{HistoryBody, PointBody},
    history::{Past, ScoreHistory},
    reading::moment,
    responses,
};
use assay_domain::{Address, Subject};
use assay_http::{
    ApiError,
    extract::{Caller, IncludeReasons, SubjectPath, optional, refused, single},
    fresh, parameters,
};

/// `from`, `to` and `every`: moments in the past, in Unix seconds, oldest first.
pub(crate) struct MomentsQuery(pub Vec<u64>);

parameters!(MomentsQuery:
    optional::<String>("from", "First moment: a date, a time or Unix seconds; 360 days before `to` by default")
        .example(Some("2026-01-01".into())),
    optional::<String>("to", "Last moment, at least an hour ago; the start of the day by default"),
    optional::<String>("every", "Days between two moments, such as 7d; 30d by default").example(Some("30d".into())));

/// Maximum number of moments in one request.
const MOST_MOMENTS: usize = 60;
/// Minimum age of a moment, in seconds: a younger block may not be final.
const SETTLED: u64 = 3_600;
const DAY: u64 = 86_400;

impl<S: Send + Sync> FromRequestParts<S> for MomentsQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let read = |name: &'static str| {
            let text = single(parts, name)?;
            text.map(|text| moment(&text).map_err(|why| refused(name, why))).transpose()
        };
        let newest = chrono::Utc::now().timestamp().unsigned_abs().saturating_sub(SETTLED);
        // The start of the day: a repeated request then names the same moments.
        let to = read("to")?.unwrap_or(newest / DAY * DAY);
        if to > newest {
            return Err(refused("to", "less than an hour ago: a younger block may not be final"));
        }
        let from = read("from")?.unwrap_or(to.saturating_sub(360 * DAY));
        if from > to {
            return Err(refused("from", "after `to`"));
        }
        let every = match single(parts, "every")? {
            None => 30,
            Some(text) => {
                let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
                days.filter(|days| (1..=3_650).contains(days)).ok_or_else(|| refused("every", "give 1d to 3650d"))?
            }
        };
        let count = (to - from) / (every * DAY) + 1;
        if count > MOST_MOMENTS as u64 {
            let words = format!("{count} moments exceed the limit of {MOST_MOMENTS}; use a longer `every`");
            return Err(refused("every", words));
        }
        Ok(Self((0..count).map(|at| from + at * every * DAY).collect()))
    }
}

/// The score at moments in the past, read from endpoints that keep old state.
///
/// Moments that were not read before are read in the background: `pending` is true until all are known. Each point
/// names its blocks, and how each factor changed since the point before; with `rest`, what no factor accounts for,
/// these sum to the change of the score. Explorers and price APIs are not used, because they only know the present.
/// Each point costs the units of one score once it is read, and is then free for a day; a point that cannot be read
/// costs nothing.
#[utoipa::path(
    get, path = "/api/v2/score/address/{address}/history", tag = "scores", operation_id = "get_score_history",
    params(SubjectPath, MomentsQuery, IncludeReasons, ModelChoice),
    responses(
        (status = 200, description = "The points", body = HistoryBody),
        responses::BadAddress, responses::Validated, responses::Keyed, responses::Units, responses::NotFound,
        responses::Provisional, responses::VersionRefused, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn history(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    SubjectPath(subject): SubjectPath,
    MomentsQuery(moments): MomentsQuery,
    IncludeReasons(show_reasons): IncludeReasons,
    choice: ModelChoice,
) -> Result<Response, ApiError> {
    let ask = choice.ask(caller.name(), false);
    if let Some(past) = scores.source.mock_past(&subject, &moments, ask) {
        return mock(&scores, &moments, past.await?, show_reasons).await;
    }
    let scoring = scores.source.of_chains("has no past")?;
    scoring.require_chains()?;
    scoring.answering(&ask, None)?;
    let wallet = match &subject {
        Subject::Address(address) => *address,
        // A caller without units resolves no name; the units of one point are given back.
        Subject::Name(_) => caller.afford(1, async { Ok(scoring.address(&subject).await?) }).await?,
    };
    let (owner, history) = (caller.owner(), &scores.history);
    let known = async || history.at(owner, wallet, &moments).await.map_err(ApiError::from);
    let open = history.due(owner, wallet, &moments).await.map_err(ApiError::store)?.count();
    // A caller without the units starts no reading. They are given back, and each point is paid once it is read.
    let known = match open {
        0 => known().await?,
        open => caller.afford(open, known()).await?,
    };
    let is_read = |past: &&Past| matches!(past, Past::Read(_));
    let read: Vec<u64> = moments.iter().zip(&known).filter(|(_, past)| is_read(past)).map(|(at, _)| *at).collect();
    pay(&caller, history, wallet, &read).await?;
    let answering = scoring.answering(&ask, Some(wallet))?;
    let mut body = HistoryBody::new(wallet, &answering.model.reference().version);
    for (moment, past) in moments.iter().zip(known) {
        let point = match past {
            Past::Pending => PointBody::pending(*moment),
            Past::Unread(reason) => PointBody::unread(*moment, reason),
            Past::Read(read) => match scoring.past(&answering, wallet, &read, show_reasons) {
                Ok(scored) => {
                    let claimed = scores.claimed(&scored).await;
                    PointBody::scored(*moment, &scored, read.health_factor(), claimed)
                        .reasoned(scores.reasons(&scored, show_reasons).await)
                }
                Err(ScoringError::NotFound) => PointBody::inactive(*moment, read.blocks.clone()),
                Err(error) => match NotScored::of(&error) {
                    Some(why) => PointBody::not_scored(*moment, &why, read.blocks.clone()),
                    None => return Err(error.into()),
                },
            },
        };
        body.push(point);
    }
    Ok(fresh::once(Json(body)))
}

/// The history of a sandbox, which nobody pays for.
async fn mock(
    scores: &ScoreRoutes,
    moments: &[u64],
    MockPast { address, version, points }: MockPast,
    show_reasons: bool,
) -> Result<Response, ApiError> {
    let mut body = HistoryBody::new(address, &version);
    for (moment, point) in moments.iter().zip(points) {
        body.push(match point {
            MockPoint::Pending => PointBody::pending(*moment),
            MockPoint::Inactive => PointBody::inactive(*moment, Vec::new()),
            MockPoint::NotScored(why) => PointBody::not_scored(*moment, &why, Vec::new()),
            MockPoint::Scored(scored, health_factor) => {
                let claimed = scores.claimed(&scored).await;
                PointBody::scored(*moment, &scored, health_factor, claimed)
                    .reasoned(scores.reasons(&scored, show_reasons).await)
            }
        });
    }
    Ok(fresh::once(Json(body)))
}

/// Pays for the points of `moments` that were not paid for within a day.
async fn pay(caller: &Caller, history: &ScoreHistory, wallet: Address, moments: &[u64]) -> Result<(), ApiError> {
    loop {
        let due = history.due(caller.owner(), wallet, moments).await.map_err(ApiError::store)?;
        let count = due.count();
        if count == 0 {
            return Ok(());
        }
        // If the payment cannot be recorded, the units are given back, because the next request pays again.
        let history = history.clone();
        let recorded = async move {
            let is_paid = history.pay(due).await.map_err(ApiError::store)?;
            Ok((is_paid, is_paid))
        };
        if caller.pay_each_if(count, recorded).await? {
            return Ok(());
        }
        // An equal request has paid meanwhile.
    }
}
