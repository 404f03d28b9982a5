//! Signed statements of scores, and the document that names their signers.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use crate::{
    attestation::Attestor,
    http::{
        ApiError, App,
        extract::{AsOf, Asked, Caller, SubjectPath},
        fresh, responses,
        wire::{SignersBody, StatementBody},
    },
    rollout::{Inputs, Scored},
    scoring::{Ask, Scoring, Source},
};
use assay_domain::{Subject, features::Features};

/// A signed statement of the score of one address, which a contract can accept and a stranger can recompute.
///
/// It is an off-chain attestation of EAS, version 2. It commits to the score, the model's bytes, the features and the
/// blocks; `evidence` is where these are shown. A score that is not final has no statement, and neither has a mock.
/// With `as_of` it is of a moment in the past, which the history of the score has read.
#[utoipa::path(
    post, path = "/api/v2/score/address/{address}/attestation", tag = "scores", operation_id = "attest_score",
    params(SubjectPath, Asked, AsOf),
    responses(
        (
            status = 200, description = "The statement", body = StatementBody,
            headers(("Assay-Score-Id" = String, description = "Id for `/api/v2/score/{id}/evidence`")),
        ),
        responses::Address, responses::Validated, responses::Keyed, responses::Units, responses::Unknown,
        responses::Provisional, responses::OutOfService, responses::Chains,
    ),
    security(("key" = [])),
)]
pub async fn attest(
    caller: Caller,
    State(app): State<App>,
    SubjectPath(subject): SubjectPath,
    Asked(version): Asked,
    AsOf(moment): AsOf,
) -> Result<Response, ApiError> {
    let (attestor, Source::Chains(scoring)) = (attestor(&app)?, &app.source) else {
        let words = "A sandbox signs no statements: its answers are mocks. Ask a server that reads chains";
        return Err(ApiError::coded(StatusCode::CONFLICT, "sandbox", words));
    };
    let ask = Ask { by: caller.name(), version: version.as_ref(), factors: false };
    let (scored, features) = match moment {
        None => app.charged(&caller, 1, scoring.score_and_features(&subject, &ask)).await?,
        Some(moment) => caller.pay(&app, past(&app, scoring, (&subject, moment), &ask)).await?,
    };
    if scored.coverage.is_provisional() {
        let words = "The score is not final: a part of the reading is missing. The field `unread` of the report names it; \
                     try again when `provisional` of the score is false";
        return Err(ApiError::coded(StatusCode::CONFLICT, "provisional", words).retry_after(5));
    }
    let signed = attestor.attest(&scored, &features).await.map_err(|why| ApiError::internal("attestation", why))?;
    let inputs = Inputs { features, boost: None, asked_by: caller.name().to_owned() };
    let id = app.rollout.keep(&scored, inputs, caller.owner(), attestor.valid()).await.map_err(ApiError::store)?;
    let answer = fresh::once(Json(StatementBody::new(&id, signed)));
    Ok(fresh::identified(answer, [Some(id)]))
}

/// The score at a moment of the history.
async fn past(
    app: &App,
    scoring: &Scoring,
    (subject, moment): (&Subject, u64),
    ask: &Ask<'_>,
) -> Result<(Arc<Scored>, Arc<Features>), ApiError> {
    let refuse = |error| app.refuse(error);
    let model = scoring.model(ask).map_err(refuse)?;
    let wallet = scoring.address(subject).await.map_err(refuse)?;
    let Some(read) = app.history.known(wallet, moment).await.map_err(ApiError::store)? else {
        let words = "This moment was not read; ask for the history of the score with it, until it is not pending";
        return Err(ApiError::coded(StatusCode::CONFLICT, "history_unread", words));
    };
    let scored = scoring.past(&model, wallet, &read).map_err(refuse)?;
    Ok((scored, Arc::new(read.features)))
}

/// The accounts that sign statements, when each did, and the schema of what they sign.
#[utoipa::path(
    get, path = "/.well-known/assay-attestation.json", tag = "scores", operation_id = "list_attestation_signers",
    responses((status = 200, description = "The signers", body = SignersBody), responses::NoSigners),
)]
pub async fn signers(State(app): State<App>) -> Result<Response, ApiError> {
    let signers = attestor(&app)?.signers();
    Ok(([(header::CACHE_CONTROL, "public, max-age=300")], Json(signers)).into_response())
}

fn attestor(app: &App) -> Result<&Attestor, ApiError> {
    app.attestor.as_deref().ok_or_else(|| {
        let words = "This server signs no statements; its operator can configure [attestation]";
        ApiError::coded(StatusCode::BAD_GATEWAY, "attestation_not_configured", words)
    })
}
