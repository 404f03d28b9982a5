//! Signed statements of scores, and the document that names their signers.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};

use super::{
    ScoreRoutes,
    choice::NoModelChoice,
    paid,
    statement::{StatementRequest, StatementService, statement_response},
};
use crate::{
    attestation::Attestor,
    bodies::{SignersBody, StatementBody},
    reading::moment,
    responses,
};
use assay_http::{
    ApiError,
    extract::{SubjectPath, VersionQuery, optional, refused, single},
    parameters,
};
use assay_payment::{Payer, responses as payment};

/// `as_of`: a moment in the past, in Unix seconds.
pub(crate) struct AsOfQuery(pub Option<u64>);

parameters!(AsOfQuery: optional::<String>("as_of", "A point of the history that was read; now by default"));

impl<S: Send + Sync> FromRequestParts<S> for AsOfQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let text = single(parts, "as_of")?;
        text.map(|text| moment(&text).map_err(|why| refused("as_of", why))).transpose().map(Self)
    }
}

/// A signed statement of the score of one address, which a contract can accept and anyone can recompute.
///
/// It is an off-chain attestation of EAS, version 2. It commits to the score, the model's bytes, the features and the
/// blocks; `evidence` is the path that shows them. A score that is not final has no statement. The statement of a
/// sandbox says that it is one, is signed by a key that everyone knows, and is refused by `assay verify`. With `as_of`
/// it is of a moment in the past, which the history of the score has read.
///
/// When the server accepts payments by x402, a request without a key is answered with 402 and the terms. The payment is
/// settled before anything is read. If there is no statement then, for instance because a part of the reading is still
/// missing, the payment is kept for it: the same request, with the same payment or another one, fetches it within a day
/// and nothing more is paid.
#[utoipa::path(
    post, path = "/api/v2/score/address/{address}/attestation", tag = "scores", operation_id = "attest_score",
    params(SubjectPath, VersionQuery, AsOfQuery, Payer),
    responses(
        (
            status = 200, description = "The statement", body = StatementBody,
            headers(
                ("Assay-Score-Id" = String, description = "Id for `/api/v2/score/{id}/evidence`"),
                ("X-PAYMENT-RESPONSE" = Option<String>, description = "Outcome of the payment by x402, version 1"),
                ("PAYMENT-RESPONSE" = Option<String>, description = "Outcome of the payment by x402, version 2"),
            ),
        ),
        responses::BadAddress, responses::Validated, responses::Keyed, responses::Units, responses::NotFound,
        responses::Provisional, responses::VersionRefused, responses::ChainsDown, payment::Payable,
    ),
    security(("key" = []), ("x402" = [])),
)]
pub(crate) async fn attest(
    payer: Payer,
    State(scores): State<ScoreRoutes>,
    _: NoModelChoice,
    SubjectPath(subject): SubjectPath,
    VersionQuery(version): VersionQuery,
    AsOfQuery(moment): AsOfQuery,
) -> Result<Response, ApiError> {
    let scoring = scores.source.of_chains("signs statements of mock scores only").ok();
    let attestor = attestor(&scores)?;
    let order = StatementRequest { subject, version, moment };
    let service = StatementService { scores: &scores, attestor, scoring };
    let sold = match &payer {
        Payer::Key(caller) => {
            // A statement that could not be signed or kept costs nothing.
            let stated = async { service.state(service.score(&order, caller.name()).await?, caller.key()).await };
            caller.pay(stated).await?
        }
        Payer::Payment(offered) => return paid::attest(&service, offered, &order).await,
    };
    Ok(statement_response(sold))
}

/// The accounts that sign statements, when each did, and the schema of what they sign.
#[utoipa::path(
    get, path = "/.well-known/assay-attestation.json", tag = "scores", operation_id = "list_attestation_signers",
    responses((status = 200, description = "The signers", body = SignersBody), responses::NoSigners),
)]
pub(crate) async fn signers(State(scores): State<ScoreRoutes>) -> Result<Response, ApiError> {
    let signers = attestor(&scores)?.signers();
    Ok(([(header::CACHE_CONTROL, "public, max-age=300")], Json(signers)).into_response())
}

fn attestor(scores: &ScoreRoutes) -> Result<&Attestor, ApiError> {
    scores.attestor.as_deref().ok_or_else(|| {
        let words = "This server signs no statements; its operator can configure [attestation]";
        ApiError::coded(StatusCode::BAD_GATEWAY, "attestation_not_configured", words)
    })
}
