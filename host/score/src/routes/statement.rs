//! Makes statements, for keys and for payments: from the request to the signed statement.

use std::sync::Arc;

use axum::{Json, http::StatusCode, response::Response};

use super::{ScoreRoutes, identified};
use crate::{
    Ask, Baseline, Scoring, ScoringError,
    attestation::{Attestor, Kept},
    bodies::StatementBody,
    history::PastRecord,
};
use assay_access::Caller;
use assay_domain::{Address, ModelVersion, Subject, features::Features};
use assay_http::{ApiError, fresh};
use assay_rollout::{Inputs, ScoreId, Scored};
use assay_statement::Signed;

/// The request for a statement.
pub(super) struct StatementRequest {
    pub subject: Subject,
    pub version: Option<ModelVersion>,
    pub moment: Option<u64>,
}

impl StatementRequest {
    /// The identity of an order.
    pub(crate) fn words(&self) -> String {
        let subject = match &self.subject {
            Subject::Address(address) => format!("{address:#x}"),
            Subject::Name(name) => name.to_string(),
        };
        let version = self.version.as_ref().map_or_else(|| "champion".to_owned(), ToString::to_string);
        let moment = self.moment.map_or_else(|| "now".to_owned(), |moment| moment.to_string());
        format!("statement of {subject} by {version} as of {moment}")
    }
}

/// Makes statements.
pub(super) struct StatementService<'a> {
    pub scores: &'a ScoreRoutes,
    pub attestor: &'a Attestor,
    /// Absent in a sandbox, which states mock scores.
    pub scoring: Option<&'a Scoring>,
}

/// A score with its features.
type ScoredFeatures = (Arc<Scored>, Arc<Features>);

impl StatementService<'_> {
    /// Refuses an order that no reading can fulfil: of a model that is not loaded, or of a moment that was not read.
    pub(crate) async fn require(&self, order: &StatementRequest, by: &str) -> Result<(), ApiError> {
        let ask = Ask { version: order.version.as_ref(), ..Ask::by(by, false) };
        let Some(scoring) = self.scoring else { return Ok(()) };
        scoring.answering(&ask, None)?;
        match order.moment {
            None => Ok(()),
            Some(moment) => self.moment(scoring, &order.subject, moment).await.map(drop),
        }
    }

    /// The score of a statement, requested by the key of this name.
    pub(crate) async fn score(&self, order: &StatementRequest, by: &str) -> Result<ScoredFeatures, ApiError> {
        let ask = Ask { version: order.version.as_ref(), ..Ask::by(by, false) };
        let Some(scoring) = self.scoring else {
            if order.moment.is_some() {
                return Err(ScoringError::Sandbox("signs no statements of the past").into());
            }
            let Baseline { scored, features, .. } = self.scores.source.baseline(&order.subject, ask).await?;
            return Ok((scored, features));
        };
        let Some(moment) = order.moment else {
            return scoring.score_and_features(&order.subject, &ask).await.map_err(ApiError::from);
        };
        let (wallet, read) = self.moment(scoring, &order.subject, moment).await?;
        let scored = scoring.past(&scoring.answering(&ask, Some(wallet))?, wallet, &read, ask.factors)?;
        Ok((scored, Arc::new(read.features)))
    }

    /// The data of this moment in the history.
    async fn moment(
        &self,
        scoring: &Scoring,
        subject: &Subject,
        moment: u64,
    ) -> Result<(Address, PastRecord), ApiError> {
        let wallet = scoring.address(subject).await?;
        let read = self.scores.history.known(wallet, moment).await.map_err(ApiError::store)?;
        let unread = || {
            let words = "This moment was not read; request the history of the score for it until `pending` is false";
            ApiError::coded(StatusCode::CONFLICT, "history_unread", words)
        };
        Ok((wallet, read.ok_or_else(unread)?))
    }

    /// The statement of a final score, whose evidence is kept for this caller.
    pub(crate) async fn state(
        &self,
        (scored, features): ScoredFeatures,
        caller: &Caller,
    ) -> Result<SignedScore, ApiError> {
        if scored.coverage.is_provisional() {
            let words = "The score is not final, because a part was not read; the field `unread` of the report names \
                         it. Try again when `provisional` of the score is false";
            return Err(ApiError::coded(StatusCode::CONFLICT, "provisional", words).retry_after(5));
        }
        let (attestor, rollout, owner) = (self.attestor, &self.scores.rollout, caller.identity());
        if let Some(Kept { record, signed }) = attestor.recent(&scored).await {
            return Ok(SignedScore { id: rollout.bound(record, owner), signed });
        }
        let signed = attestor.attest(&scored, &features).await.map_err(|why| ApiError::internal("attestation", why))?;
        let signed = Arc::new(signed);
        let inputs = Inputs { features, boost: None, asked_by: caller.name.clone() };
        let id = rollout.keep(&scored, inputs, owner, attestor.valid()).await.map_err(ApiError::store)?;
        attestor.remember(&scored, &Kept { record: id.record(), signed: Arc::clone(&signed) }).await;
        Ok(SignedScore { id, signed })
    }
}

/// A statement, and the id of its score for the caller.
pub(super) struct SignedScore {
    pub id: ScoreId,
    pub signed: Arc<Signed>,
}

/// The response with a statement.
pub(super) fn statement_response(SignedScore { id, signed }: SignedScore) -> Response {
    let answer = fresh::once(Json(StatementBody::new(id.to_string(), signed)));
    identified(answer, [Some(id)])
}
