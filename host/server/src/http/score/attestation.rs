//! Signed statements of scores, and the document that names their signers.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::paid;
use crate::{
    access::Caller,
    attestation::{Attestor, Kept},
    history::PastRecord,
    http::{
        ApiError, App,
        extract::{AsOf, Asked, Payer, SubjectPath},
        fresh, responses,
        wire::{SignersBody, StatementBody},
    },
    rollout::{Inputs, ScoreId, Scored},
    scoring::{Ask, Scoring, Source},
};
use assay_domain::{Address, ModelVersion, Subject, features::Features};
use assay_statement::Signed;

/// A signed statement of the score of one address, which a contract can accept and a stranger can recompute.
///
/// It is an off-chain attestation of EAS, version 2. It commits to the score, the model's bytes, the features and the
/// blocks; `evidence` is where these are shown. A score that is not final has no statement, and neither has a mock.
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
pub async fn attest(
    payer: Payer,
    State(app): State<App>,
    SubjectPath(subject): SubjectPath,
    Asked(version): Asked,
    AsOf(moment): AsOf,
) -> Result<Response, ApiError> {
    let (attestor, Source::Chains(scoring)) = (attestor(&app)?, &app.source) else {
        let words = "A sandbox signs no statements: its answers are mocks. Ask a server that reads chains";
        return Err(ApiError::coded(StatusCode::CONFLICT, "sandbox", words));
    };
    let order = Order { subject, version, moment };
    let desk = Desk { app: &app, attestor, scoring };
    let sold = match &payer {
        Payer::Key(caller) => {
            let basis = caller.pay(&app, desk.score(&order, caller.name())).await?;
            desk.state(basis, caller.key()).await?
        }
        Payer::Payment(offered) => return paid::attest(&desk, offered, &order).await,
    };
    Ok(handed_over(sold))
}

/// What a statement is asked of.
pub(super) struct Order {
    subject: Subject,
    version: Option<ModelVersion>,
    moment: Option<u64>,
}

impl Order {
    /// What tells two orders apart.
    pub fn words(&self) -> String {
        let subject = match &self.subject {
            Subject::Address(address) => format!("{address:#x}"),
            Subject::Name(name) => name.to_string(),
        };
        let version = self.version.as_ref().map_or_else(|| "champion".to_owned(), ToString::to_string);
        let moment = self.moment.map_or_else(|| "now".to_owned(), |moment| moment.to_string());
        format!("statement of {subject} by {version} as of {moment}")
    }
}

/// Where statements are made.
pub(super) struct Desk<'a> {
    pub app: &'a App,
    pub attestor: &'a Attestor,
    scoring: &'a Scoring,
}

/// A score with its features.
type Basis = (Arc<Scored>, Arc<Features>);

impl Desk<'_> {
    /// Refuses an order that no reading can fulfil: of a model that is not loaded, or of a moment that was not read.
    pub async fn require(&self, order: &Order, by: &str) -> Result<(), ApiError> {
        let ask = Ask { by, version: order.version.as_ref(), factors: false };
        self.scoring.model(&ask).map_err(|error| self.app.refuse(error))?;
        match order.moment {
            None => Ok(()),
            Some(moment) => self.moment(&order.subject, moment).await.map(drop),
        }
    }

    /// The score that is to be stated, asked by the key of this name.
    pub async fn score(&self, order: &Order, by: &str) -> Result<Basis, ApiError> {
        let refuse = |error| self.app.refuse(error);
        let ask = Ask { by, version: order.version.as_ref(), factors: false };
        let Some(moment) = order.moment else {
            return self.scoring.score_and_features(&order.subject, &ask).await.map_err(refuse);
        };
        let model = self.scoring.model(&ask).map_err(refuse)?;
        let (wallet, read) = self.moment(&order.subject, moment).await?;
        let scored = self.scoring.past(&model, wallet, &read).map_err(refuse)?;
        Ok((scored, Arc::new(read.features)))
    }

    /// What the history has read of this moment.
    async fn moment(&self, subject: &Subject, moment: u64) -> Result<(Address, PastRecord), ApiError> {
        let wallet = self.scoring.address(subject).await.map_err(|error| self.app.refuse(error))?;
        let read = self.app.history.known(wallet, moment).await.map_err(ApiError::store)?;
        let unread = || {
            let words = "This moment was not read; ask for the history of the score with it, until it is not pending";
            ApiError::coded(StatusCode::CONFLICT, "history_unread", words)
        };
        Ok((wallet, read.ok_or_else(unread)?))
    }

    /// The statement of a final score, whose evidence is kept for this caller.
    pub async fn state(&self, (scored, features): Basis, caller: &Caller) -> Result<Stated, ApiError> {
        if scored.coverage.is_provisional() {
            let words = "The score is not final: a part of the reading is missing. The field `unread` of the report names it; \
                         try again when `provisional` of the score is false";
            return Err(ApiError::coded(StatusCode::CONFLICT, "provisional", words).retry_after(5));
        }
        let (attestor, rollout, owner) = (self.attestor, &self.app.rollout, caller.identity());
        if let Some(Kept { record, signed }) = attestor.recent(&scored).await {
            return Ok(Stated { id: rollout.bound(record, owner), signed });
        }
        let signed = attestor.attest(&scored, &features).await.map_err(|why| ApiError::internal("attestation", why))?;
        let signed = Arc::new(signed);
        let inputs = Inputs { features, boost: None, asked_by: caller.name.clone() };
        let id = rollout.keep(&scored, inputs, owner, attestor.valid()).await.map_err(ApiError::store)?;
        attestor.remember(&scored, &Kept { record: id.record(), signed: Arc::clone(&signed) }).await;
        Ok(Stated { id, signed })
    }
}

/// A statement, and the id of its score for who asked.
pub(super) struct Stated {
    pub id: ScoreId,
    pub signed: Arc<Signed>,
}

/// The response with a statement.
pub(super) fn handed_over(Stated { id, signed }: Stated) -> Response {
    let answer = fresh::once(Json(StatementBody::new(id.to_string(), signed)));
    fresh::identified(answer, [Some(id)])
}

/// The accounts that sign statements, when each did, and the schema of what they sign.
#[utoipa::path(
    get, path = "/.well-known/assay-attestation.json", tag = "scores", operation_id = "attestation_signers",
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
