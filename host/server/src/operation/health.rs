//! `/healthz`, `/readyz` and `/metrics`: for operators. They are public and say nothing about any subject.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use chrono::Utc;
use serde::Serialize;
use utoipa::ToSchema;

use super::Operations;
use assay_domain::ModelKind;

/// Kinds of model without which some path of this API cannot answer.
const NEEDED: [ModelKind; 3] = [ModelKind::Credit, ModelKind::Boost, ModelKind::Sandbox];

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Health, example = json!({ "status": "ok" }))]
pub(crate) struct HealthBody {
    #[schema(value_type = String)]
    status: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Readiness, example = json!({ "status": "ready", "reasons": [] }))]
pub(crate) struct ReadyBody {
    /// `ready` or `not_ready`.
    #[schema(value_type = String)]
    status: &'static str,
    /// The reasons why the server is not ready.
    reasons: Vec<String>,
    /// Conditions that degrade answers; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Whether the server can answer, and what degrades its answers.
pub struct Readiness {
    /// The reasons why the server is not ready; it is ready without any.
    pub reasons: Vec<String>,
    pub warnings: Vec<String>,
}

impl Operations {
    pub async fn readiness(&self) -> Readiness {
        let mut reasons = self.missing_models();
        reasons.extend(self.rollout.store_fault());
        reasons.extend(self.gate.stopping.is_cancelled().then(|| "the server is stopping".to_owned()));
        let mut warnings: Vec<_> = self.lacks().await.into_iter().map(str::to_owned).collect();
        let gaps = self.rollout.registry().split_gaps(ModelKind::Credit, Utc::now());
        warnings.extend(gaps.iter().map(ToString::to_string));
        warnings.extend(self.scoring.chain_warnings());
        warnings.extend(self.contradictions.words());
        Readiness { reasons, warnings }
    }

    /// Models whose absence keeps some path from answering, each with a remedy.
    pub fn missing_models(&self) -> Vec<String> {
        NEEDED.into_iter().filter_map(|kind| self.rollout.registry().vacancy(kind)).collect()
    }

    /// The chains and keys that the server lacks. It is ready without them, and refuses most requests.
    pub async fn lacks(&self) -> Vec<&'static str> {
        // A store that cannot be read is reported by itself.
        let key = !self.gate.access.has_keys().await.unwrap_or(true);
        [self.lacks_chains.then_some(NO_CHAIN), key.then_some(NO_KEY)].into_iter().flatten().collect()
    }
}

/// The chains that are missing, in words that say what to do.
const NO_CHAIN: &str = "no chain is configured, so scores and reports answer 502; add [[chains]] to the configuration, \
                        or write one with `assay init`";
/// The keys that are missing.
const NO_KEY: &str = "there is no API key, so every request is refused with 401; make one with `assay key mint`";

/// The process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operation", operation_id = "get_health",
    responses((status = 200, description = "Alive", body = HealthBody)))]
pub(crate) async fn health() -> Json<HealthBody> {
    Json(HealthBody { status: "ok" })
}

/// The server can answer, and will continue to: a model of every kind it needs is in service, records can be written,
/// and it is not stopping.
#[utoipa::path(
    get, path = "/readyz", tag = "operation", operation_id = "get_readiness",
    responses(
        (status = 200, description = "Ready", body = ReadyBody),
        (status = 503, description = "Not ready", body = ReadyBody),
    ),
)]
pub(crate) async fn ready(State(state): State<Operations>) -> Response {
    let Readiness { reasons, warnings } = state.readiness().await;
    if reasons.is_empty() {
        return Json(ReadyBody { status: "ready", reasons, warnings }).into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, Json(ReadyBody { status: "not_ready", reasons, warnings })).into_response()
}

/// Metrics as Prometheus reads them.
#[utoipa::path(
    get, path = "/metrics", tag = "operation", operation_id = "get_metrics",
    responses((status = 200, description = "Prometheus text", body = String, content_type = "text/plain")),
)]
pub(crate) async fn metrics(State(state): State<Operations>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.metrics.rendered().to_string())
        .into_response()
}
