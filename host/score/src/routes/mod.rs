//! `/api/v2/score` and the comparison of models.

mod attestation;
mod choice;
mod compare;
mod history;
mod inference;
mod one;
mod paid;
mod provenance;
mod several;
mod show;
mod statement;
mod what_if;

use std::{fmt::Write as _, sync::Arc};

use axum::{
    extract::FromRef,
    http::{HeaderName, HeaderValue},
    response::Response,
};
use chrono::Utc;

use crate::{ScoreSource, ScoringError, attestation::Attestor, bodies::ScoreBody, history::ScoreHistory};
use assay_domain::{Claimed, ModelVersion, Reasons};
use assay_http::extract::Caller;
use assay_payment::Payments;
use assay_registry::{Chosen, CreditModel};
use assay_rollout::{Rollout, ScoreId, Scored, cards::Cards};

pub use choice::NoModelChoice;
pub use one::{OffChain, assets};
use show::Show;

/// The id with which the same key can read the provenance of a score.
const SCORE_ID: HeaderName = HeaderName::from_static("assay-score-id");
/// Why a model answered.
const MODEL_REASON: HeaderName = HeaderName::from_static("assay-model-reason");

/// The state of the handlers of scores.
#[derive(Clone)]
pub struct ScoreRoutes {
    pub source: Arc<dyn ScoreSource>,
    pub rollout: Rollout,
    pub cards: Arc<Cards>,
    pub history: ScoreHistory,
    /// Signs statements of scores; absent when not configured.
    pub attestor: Option<Arc<Attestor>>,
    /// The means of payment of a statement.
    pub payments: Payments,
}

impl FromRef<ScoreRoutes> for Payments {
    fn from_ref(scores: &ScoreRoutes) -> Self {
        scores.payments.clone()
    }
}

impl ScoreRoutes {
    /// The claims of the model of `scored` for the wallet.
    async fn claimed(&self, scored: &Scored) -> Claimed {
        self.cards.claimed(self.rollout.registry(), scored).await
    }

    /// The body of a score with what the model claims, and with what `show` asks for.
    async fn explained(&self, scored: &Scored, show: Show) -> ScoreBody {
        let body = ScoreBody::scored(scored, show.factors).claimed(self.claimed(scored).await);
        body.reasoned(self.reasons(scored, show.reasons).await)
    }

    /// The model that scores features of the caller's own, and why: the named version, or the one that is pinned for
    /// the key, or the champion.
    fn for_features(
        &self,
        caller: &Caller,
        version: Option<&ModelVersion>,
    ) -> Result<(CreditModel, Chosen), ScoringError> {
        let registry = self.rollout.registry();
        if let Some(version) = version {
            return Ok((registry.in_service(version)?, Chosen::Requested));
        }
        let active = registry.active_guard();
        match active.pinned(caller.name(), Utc::now())? {
            Some(model) => Ok((model, Chosen::Pinned)),
            None => Ok((active.champion()?, Chosen::Champion)),
        }
    }

    async fn reasons(&self, scored: &Scored, are_shown: bool) -> Option<Reasons> {
        if are_shown { self.cards.reasons(self.rollout.registry(), scored).await } else { None }
    }
}

assay_http::rows! { ScoreRoutes:
    GET "/api/v2/score/address/{address}" Score one::get;
    POST "/api/v2/score/address/{address}" Score one::post;
    POST "/api/v2/score/address/{address}/what-if" Score what_if::what_if;
    POST "/api/v2/models/credit/score" Score what_if::features;
    GET "/api/v2/score/" Score [several] several::mean;
    GET "/api/v2/score/batch/" Score [several] several::batch;
    GET "/api/v2/score/address/{address}/history" Score [several] history::history;
    POST "/api/v2/score/address/{address}/attestation" Attestation attestation::attest;
    GET "/api/v2/score/{id}" Models provenance::mine;
    GET "/api/v2/score/{id}/evidence" Status provenance::evidence;
    GET "/api/v2/models/compare/address/{address}" Score [several] compare::compare;
    GET "/api/v2/admin/scores/{id}" Admin provenance::audited;
    GET "/v2" Public inference::server;
    GET "/v2/health/live" Operation inference::live;
    GET "/v2/health/ready" Operation inference::ready;
    GET "/v2/models/{name}" Models inference::model;
    GET "/v2/models/{name}/versions/{version}" Models inference::model as "get_inference_version";
    GET "/v2/models/{name}/ready" Models inference::model_ready;
    GET "/v2/models/{name}/versions/{version}/ready" Models inference::model_ready
        as "get_inference_version_readiness";
    POST "/v2/models/{name}/infer" Score [several] inference::infer;
    POST "/v2/models/{name}/versions/{version}/infer" Score [several] inference::infer as "score_tensor_by_version";
    GET "/.well-known/assay-attestation.json" Public [open] attestation::signers;
}

/// Adds a header to `answer` that says why the model of each of its scores answered, in order.
pub fn reasoned(mut answer: Response, chosen: impl IntoIterator<Item = Chosen>) -> Response {
    let list = chosen.into_iter().map(Chosen::as_str).collect::<Vec<_>>().join(",");
    if !list.is_empty()
        && let Ok(list) = HeaderValue::try_from(list)
    {
        answer.headers_mut().insert(MODEL_REASON, list);
    }
    answer
}

/// Adds a header to `answer` with the ids of its scores, in order; a dash for a score without an id.
pub fn identified(mut answer: Response, ids: impl IntoIterator<Item = Option<ScoreId>>) -> Response {
    let mut list = String::new();
    let mut known = false;
    for id in ids {
        if !list.is_empty() {
            list.push(',');
        }
        match id {
            Some(id) => {
                known = true;
                // Writing to a string cannot fail.
                let _ = write!(list, "{id}");
            }
            None => list.push('-'),
        }
    }
    if known {
        answer.headers_mut().insert(SCORE_ID, HeaderValue::try_from(list).unwrap_or(HeaderValue::from_static("")));
    }
    answer
}
