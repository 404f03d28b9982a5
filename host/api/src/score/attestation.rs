//! Signed statements of scores, and the document that names their signers.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::{
    paid,
    statement::{StatementRequest, StatementService, statement_response},
};
use crate::{
    ApiError, App,
    extract::{AsOf, Asked, Payer, SubjectPath},
    responses,
};
use assay_scoring::attestation::Attestor;
use assay_wire::{SignersBody, StatementBody};

/// A signed statement of the score of one address, which a contract can accept and anyone can recompute.
///
/// It is an off-chain attestation of EAS, version 2. It commits to the score, the model's bytes, the features and the
/// blocks; `evidence` is the path that shows them. A score that is not final has no statement, and neither has a mock.
/// With `as_of` it is of a moment in the past, which the history of the score has read.
///
/// When the server accepts payments by x402, a request without a key is answered with 402 and the terms. The payment is
/// settled before anything is read. If there is no statement then, for instance because a part of the reading is still
/// missing, the payment is kept for it: the same request, with the same payment or another one, fetches it within a day
/// and nothing more is paid.
#[utoipa::path(
    post, path = "/api/v2/score/address/{address}/attestation", tag = "scores", operation_id = "attest_score",
    params(SubjectPath, Asked, AsOf, Payer),
    responses(
        (
            status = 200, description = "The statement", body = StatementBody,
            headers(
                ("Assay-Score-Id" = String, description = "Id for `/api/v2/score/{id}/evidence`"),
                ("X-PAYMENT-RESPONSE" = Option<String>, description = "What became of a payment by x402, version 1"),
                ("PAYMENT-RESPONSE" = Option<String>, description = "What became of a payment by x402, version 2"),
            ),
        ),
        responses::Address, responses::Validated, responses::Keyed, responses::Units, responses::Unknown,
        responses::Provisional, responses::OutOfService, responses::Chains, responses::Payable,
    ),
    security(("key" = []), ("x402" = [])),
)]
pub(crate) async fn attest(
    payer: Payer,
    State(app): State<App>,
    SubjectPath(subject): SubjectPath,
    Asked(version): Asked,
    AsOf(moment): AsOf,
) -> Result<Response, ApiError> {
    let (attestor, scoring) = (attestor(&app)?, app.chain_scoring("signs no statements")?);
    let order = StatementRequest { subject, version, moment };
    let service = StatementService { app: &app, attestor, scoring };
    let sold = match &payer {
        Payer::Key(caller) => {
            // A statement that could not be signed or kept costs nothing.
            let stated = async { service.state(service.score(&order, caller.name()).await?, caller.key()).await };
            caller.pay(&app, stated).await?
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
pub(crate) async fn signers(State(app): State<App>) -> Result<Response, ApiError> {
    let signers = attestor(&app)?.signers();
    Ok(([(header::CACHE_CONTROL, "public, max-age=300")], Json(signers)).into_response())
}

fn attestor(app: &App) -> Result<&Attestor, ApiError> {
    app.attestor.as_deref().ok_or_else(|| {
        let words = "This server signs no statements; its operator can configure [attestation]";
        ApiError::coded(StatusCode::BAD_GATEWAY, "attestation_not_configured", words)
    })
}
