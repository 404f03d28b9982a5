//! What a score would be: of an address after changes, and of features that the caller sends.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
    response::Response,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{ScoreRoutes, choice::ModelChoice, reasoned};
use crate::{
    Baseline, ScoringError, WhatIfError,
    bodies::{FeaturesScoreBody, Rung, Supposed, WhatIfBody},
    responses,
};
use assay_domain::{
    Range, Score, Standing,
    features::{AttestationFeature, ChainFeatures, Change, Features, Holding, MOST_EVENTS, MarketFeatures},
};
use assay_http::{
    ApiError, Location, Violation,
    extract::{Caller, JsonObject, SubjectPath, VersionQuery, flag, optional, refused, single},
    fresh, parameters,
    twice::given_twice,
};
use assay_rollout::{Basis, Scored};
use assay_tasks::blocking;

/// Most changes of one request.
const MOST_CHANGES: usize = 16;
/// The falls of a ladder, in percent.
const LADDER: [f64; 5] = [-10.0, -20.0, -30.0, -40.0, -50.0];
/// Most characters of the name of a lender or a provider.
const NAME: usize = 80;
/// Fields of a line of a features file that are no features.
const IGNORED: [&str; 3] = ["id", "outcome", "cluster"];

/// `include_changes`, with the score that `target` names, or the lowest of the range.
pub(crate) struct ChangesQuery(pub Option<Option<Score>>);

parameters!(ChangesQuery:
    optional::<bool>("include_changes", "Also find what would raise the score to the next range, and lower it"),
    optional::<String>("target", "With include_changes: a range or a score to reach; the next range by default"),
);

impl<S: Send + Sync> FromRequestParts<S> for ChangesQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let is_wanted = flag(parts, "include_changes")?;
        let target = single(parts, "target")?.map(|text| {
            let range = text.parse::<Range>().ok().map(Range::lowest);
            let score = || text.parse().ok().and_then(Score::new);
            range
                .or_else(score)
                .ok_or_else(|| refused("target", "give a range, such as good, or a score of 300 to 1000"))
        });
        match (is_wanted, target.transpose()?) {
            (true, target) => Ok(Self(Some(target))),
            (false, None) => Ok(Self(None)),
            (false, Some(_)) => Err(refused("target", "it needs include_changes=true")),
        }
    }
}

/// Changes to the features of an address, made one after the other.
#[derive(Deserialize, ToSchema)]
#[schema(as = WhatIfRequest, example = json!({
    "changes": [
        { "repay": { "market": "1/lenderA_v3", "usd": 1000 } }, { "price": { "asset": "native", "percent": -30 } }
    ]
}))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct WhatIfRequest {
    /// At most 16 of: `repay`, `borrow`, `deposit` and `withdraw` with `market` (`chain_id/protocol`, or
    /// `chain_id/protocol/market` with the name or the address of the market) and `usd`; `price` with `asset`
    /// (`native`, `bitcoin`, `stablecoin` or `other`, or the symbol or the address of a token of its positions) and
    /// `percent`, above -100; `days`, 1 to 3650.
    #[schema(value_type = Vec<Object>, max_items = 16)]
    changes: Vec<Change>,
}

/// The score that one address would have after changes.
///
/// The changes are made to the features that its score was computed from, and the model scores the result. A repayment
/// lowers the debt of one market and takes nothing from the wallet's holdings; waiting only moves the moment. Nothing
/// is recorded, and there is no statement of such a score. Without changes, the answer is of the score as it is.
#[utoipa::path(
    post, path = "/api/v2/score/address/{address}/what-if", tag = "scores", operation_id = "try_changes",
    params(SubjectPath, ModelChoice),
    request_body(content = WhatIfRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The score after the changes", body = WhatIfBody),
        responses::BadAddress, responses::Validated, responses::Bodied, responses::Keyed, responses::Units,
        responses::NotFound, responses::VersionRefused, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn what_if(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    SubjectPath(subject): SubjectPath,
    choice: ModelChoice,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let changes: Vec<Change> = body.objects("changes", MOST_CHANGES).unwrap_or_default();
    body.finish()?;
    let ask = choice.ask(caller.name(), false);
    let found = async {
        let baseline = scores.source.baseline(&subject, ask).await?;
        let scored = baseline.scored.clone();
        Ok::<_, WhatIfError>((scored, blocking(move || supposed(&baseline, &changes)).await?))
    };
    let (scored, supposed) = caller.pay(found).await?;
    let standing = Standing::of(&supposed.features);
    let basis = match scored.basis {
        Basis::Unknown => Basis::Unknown,
        Basis::Wallet(_) | Basis::Boosted => Basis::Wallet(standing),
    };
    let then_scored = Scored { assessment: supposed.then.clone(), basis, ..Scored::clone(&scored) };
    let reasons = scores.cards.reasons(scores.rollout.registry(), &then_scored).await;
    let body = WhatIfBody::new(&scored, supposed, reasons);
    Ok(reasoned(fresh::once(Json(body)), [scored.chosen]))
}

fn supposed(baseline: &Baseline, changes: &[Change]) -> Result<Supposed, WhatIfError> {
    let (features, positions, then) = baseline.after(changes)?;
    let rung = |percent: f64| {
        let features = features.after_move(percent)?;
        let score = baseline.score_of(&features)?;
        Ok::<_, WhatIfError>(Rung { percent, score, features })
    };
    let ladder = LADDER.into_iter().map(rung).collect::<Result<_, _>>()?;
    Ok(Supposed { features, positions, then, ladder })
}

/// Features as a line of a features file has them. A list that is absent is empty.
#[derive(Deserialize, ToSchema)]
#[schema(as = OwnFeatures, example = json!({
    "as_of": 1_767_225_600,
    "markets": [{
        "chain_id": 1, "protocol": "lenderA_v3", "market": null, "coverage": "complete", "feeds_score": true,
        "supply": 1, "withdraw": 0, "borrow": 1, "repay": 0, "liquidation": 0, "first_event": 1_760_000_000,
        "last_event": 1_760_000_000, "last_liquidation": null, "supplied_usd": 10_000.0, "borrowed_usd": 4_000.0,
        "position": {
            "coverage": "complete", "collateral": [{ "class": "native", "usd": 10_000.0 }],
            "debt": [{ "class": "stablecoin", "usd": 4_000.0 }], "liquidation_threshold": 0.8, "health_factor": 2.0,
            "utilisation": 0.4
        }
    }]
}))]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnFeatures {
    /// The moment that the features describe, in Unix seconds.
    as_of: u64,
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    chains: Vec<ChainFeatures>,
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    markets: Vec<MarketFeatures>,
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    holdings: Vec<Holding>,
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    identity: Vec<AttestationFeature>,
}

/// The score of features of one's own, by a credit model.
///
/// The body is a line of a features file: `as_of`, `chains`, `markets`, `holdings` and `identity`, as
/// `GET /api/v2/score/{id}` shows them and `assay features export` writes them. `id`, `outcome` and `cluster` are
/// ignored. Nothing is read from a chain, and nothing is recorded.
#[utoipa::path(
    post, path = "/api/v2/models/credit/score", tag = "models", operation_id = "score_features",
    params(VersionQuery),
    request_body(content = OwnFeatures, content_type = "application/json"),
    responses(
        (status = 200, description = "The score of the features", body = FeaturesScoreBody),
        responses::Validated, responses::Bodied, responses::Keyed, responses::Units, responses::NotFound,
        responses::VersionRefused, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn features(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    VersionQuery(version): VersionQuery,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    body.ignore(&IGNORED);
    let features =
        body.rest::<OwnFeatures>()?.checked().map_err(|why| ApiError::invalid(vec![Violation::of_body(why)]))?;
    let registry = scores.rollout.registry();
    let scored = async {
        let (model, chosen) = scores.for_features(&caller, version.as_ref())?;
        let assessment = model.explained_uncounted(&features)?;
        Ok::<_, ScoringError>((model, chosen, assessment))
    };
    let (model, chosen, assessment) = caller.pay(scored).await?;
    let standing = Standing::of(&features);
    let reasons = scores.cards.reasons_of(registry, model.reference(), &assessment.factors, &standing).await;
    let body = FeaturesScoreBody::new(model.reference(), &features, &assessment, reasons);
    Ok(reasoned(fresh::once(Json(body)), [chosen]))
}

/// The features of a line of a features file.
///
/// # Errors
/// It is not such a line; in words.
pub(super) fn own_features(line: &str) -> Result<Features, String> {
    if let Some(field) = given_twice(line.as_bytes()).first() {
        return Err(format!("{field:.100} is given more than once"));
    }
    let mut fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(line).map_err(|error| format!("it must be a JSON object: {error}"))?;
    IGNORED.iter().for_each(|name| drop(fields.remove(*name)));
    let own: OwnFeatures = serde_json::from_value(fields.into()).map_err(|error| format!("{error:.300}"))?;
    own.checked().map_err(str::to_owned)
}

impl OwnFeatures {
    /// Refuses features that no reading gives, and that the interface of models rules out.
    fn checked(self) -> Result<Features, &'static str> {
        let Self { as_of, chains, markets, holdings, identity } = self;
        let features = Features { as_of, chains, markets, holdings, identity };
        let is_name = |text: &str| (1..=NAME).contains(&text.chars().count());
        match () {
            () if !features.figures().all(f64::is_finite) => Err("a figure is infinite or not a number"),
            () if features.markets.iter().any(|market| market.events.len() > MOST_EVENTS) => {
                Err("a market has over 200 events")
            }
            () if !features.markets.iter().all(|market| is_name(&market.protocol)) => {
                Err("a protocol needs 1 to 80 characters")
            }
            () if !features.identity.iter().all(|one| is_name(&one.provider)) => {
                Err("a provider needs 1 to 80 characters")
            }
            () => Ok(features),
        }
    }
}

impl From<WhatIfError> for ApiError {
    fn from(error: WhatIfError) -> Self {
        match error {
            WhatIfError::Change(why) => Self::invalid(vec![Violation::refused(Location::Body, "changes", why)]),
            WhatIfError::Scoring(error) => error.into(),
        }
    }
}
