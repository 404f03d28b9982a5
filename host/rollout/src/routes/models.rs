//! `/api/v2/models`: the models, their roles, and the errors of files that could not be loaded; and the shadow report.

use std::path::Path;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};

use super::{RolloutRoutes, admin::Component};
use crate::{
    bodies::{ModelBody, ModelsBody, OutcomesBody, ShadowBody},
    cards, responses,
};
use assay_domain::{Digest, ModelKind, ModelVersion};
use assay_http::{
    ApiError,
    extract::{KindPath, VersionPath, limited, optional, refused, single},
    parameters,
};
use assay_registry::ModelStatus;
use assay_tasks::blocking;
use sha2::{Digest as _, Sha256};

/// `window` in whole hours, such as `24h`; the configured window of promotion by default.
pub(crate) struct WindowQuery(pub Option<u64>);

parameters!(WindowQuery: limited(
    optional::<String>("window", "Hours or days to look back; `promotion.window_hours` by default")
        .example(Some("24h".into())),
    |schema| schema.pattern = Some(UP_TO_A_YEAR.to_owned()),
));

const UP_TO_A_YEAR: &str = "^([1-9][0-9]{0,2}h|[1-7][0-9]{3}h|8[0-6][0-9]{2}h|87[0-5][0-9]h|8760h|\
                            [1-9][0-9]?d|[1-2][0-9]{2}d|3[0-5][0-9]d|36[0-5]d)$";

impl<S: Send + Sync> FromRequestParts<S> for WindowQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(text) = single(parts, "window")? else { return Ok(Self(None)) };
        let hours = match text.split_at_checked(text.len().saturating_sub(1)) {
            Some((number, "h")) => number.parse().ok(),
            Some((number, "d")) => number.parse::<u64>().ok().and_then(|days| days.checked_mul(24)),
            _ => None,
        };
        let known = hours.filter(|hours| (1..=MOST_HOURS).contains(hours));
        known
            .map(|hours| Self(Some(hours)))
            .ok_or_else(|| refused("window", format!("give 1h to {MOST_HOURS}h, or days, such as 7d")))
    }
}

/// Longest window: one year.
const MOST_HOURS: u64 = 8_760;

/// The models on the shelf, with state, role and, when one is not in service, the reason.
#[utoipa::path(
    get, path = "/api/v2/models", tag = "models", operation_id = "list_models",
    responses((status = 200, description = "The models", body = ModelsBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn list(State(state): State<RolloutRoutes>) -> Result<Json<ModelsBody>, ApiError> {
    let registry = state.rollout.registry();
    let listed = registry.list();
    let previous = ModelKind::ALL.into_iter().filter_map(|kind| registry.previous(kind)).map(Into::into).collect();
    let models: Vec<ModelBody> =
        blocking(move || listed.into_iter().map(|status| described(state.cards.shelf(), status)).collect()).await;
    Ok(Json(ModelsBody { count: models.len(), models, previous }))
}

/// A model as the list has it, with the claims of its card.
pub(super) fn described(shelf: &Path, status: ModelStatus) -> ModelBody {
    let carded = status.info.as_ref().and_then(|info| {
        let exists = status.card.is_some() || cards::path(shelf, info.kind, &info.version).is_file();
        exists.then(|| format!("/api/v2/models/{}/{}/card", info.kind, info.version))
    });
    // A card that cannot be used claims nothing; the page of the card says why.
    let claimed = status
        .info
        .as_ref()
        .zip(status.digest)
        .and_then(|(info, digest)| cards::claims(shelf, info, digest, status.card.as_deref()).ok());
    ModelBody::new(carded, claimed.unwrap_or_default(), status)
}

/// A version on the shelf.
pub(super) fn status_of(state: &RolloutRoutes, kind: ModelKind, version: &ModelVersion) -> Option<ModelStatus> {
    let is_it =
        |status: &ModelStatus| status.info.as_ref().is_some_and(|info| (info.kind, &info.version) == (kind, version));
    state.rollout.registry().list().into_iter().find(is_it)
}

/// The bytes of a model on the shelf; `None` if its file is gone.
pub(super) fn bytes_of(shelf: &Path, status: &ModelStatus) -> Option<Vec<u8>> {
    let bytes = std::fs::read(shelf.join(status.file.as_ref()?)).ok()?;
    // Another file may have its name since it was loaded.
    (Some(Digest(Sha256::digest(&bytes).into())) == status.digest).then_some(bytes)
}

/// The model card as Markdown: purpose, training data, how well the model predicts, and its limits.
#[utoipa::path(
    get, path = "/api/v2/models/{kind}/{version}/card", tag = "models", operation_id = "get_model_card",
    params(KindPath, VersionPath),
    responses(
        (status = 200, description = "The card", body = String, content_type = "text/markdown"),
        responses::NoModel, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn card(
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    VersionPath(version): VersionPath,
) -> Result<Response, ApiError> {
    let none = || {
        let detail = format!("The model {kind} {version} has no card, or is not on the shelf");
        ApiError::coded(StatusCode::NOT_FOUND, "no_card", detail)
    };
    let found = status_of(&state, kind, &version);
    let found = found.and_then(|status| Some((status.info?, status.digest?, status.card)));
    let (info, digest, packed) = found.ok_or_else(none)?;
    let page = blocking(move || cards::markdown(state.cards.shelf(), &info, digest, packed.as_deref())).await;
    let page = page.map_err(|error| ApiError::internal("bad_card", error))?.ok_or_else(none)?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page).into_response())
}

/// The bytes of a model, so that anyone can run it on the features of a score.
#[utoipa::path(
    get, path = "/api/v2/models/{kind}/{version}/component", tag = "models", operation_id = "get_model_component",
    params(KindPath, VersionPath),
    responses(
        (status = 200, description = "The component", body = inline(Component), content_type = "application/wasm"),
        responses::NoComponent, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn component(
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    VersionPath(version): VersionPath,
) -> Result<Response, ApiError> {
    if !state.public_models {
        let words = "This server does not offer its models for download; its operator can set models.public";
        return Err(ApiError::coded(StatusCode::FORBIDDEN, "models_not_public", words));
    }
    let (found, shelf) = (status_of(&state, kind, &version), state.cards.shelf().to_owned());
    let bytes = blocking(move || bytes_of(&shelf, &found?));
    let none = || {
        let detail = format!("The model {kind} {version} is not on the shelf");
        ApiError::coded(StatusCode::NOT_FOUND, "no_component", detail)
    };
    Ok(([(header::CONTENT_TYPE, "application/wasm")], bytes.await.ok_or_else(none)?).into_response())
}

/// The challengers of a kind compared with its champion, from live traffic, of all hosts together.
///
/// Challengers score what the champion has computed, outside the request, and never change a response. Windows start at
/// a full hour. Only credit models have a shadow: the report of another kind has no pairs.
#[utoipa::path(
    get, path = "/api/v2/models/{kind}/report", tag = "models", operation_id = "get_shadow_report",
    params(KindPath, WindowQuery),
    responses(
        (status = 200, description = "The report", body = ShadowBody),
        responses::NoKind, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn report(
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    WindowQuery(hours): WindowQuery,
) -> Result<Json<ShadowBody>, ApiError> {
    let hours = hours.unwrap_or_else(|| state.rollout.window());
    let pairs = state.rollout.shadow_pairs(kind, hours).await.map_err(ApiError::store)?;
    Ok(Json(ShadowBody::new(kind, hours, chrono::Utc::now(), &state.rollout, pairs)))
}

/// The outcomes of the wallets that credit champion and challengers scored: realised and claimed liquidation rates by
/// range, and the shift of the scores by week.
///
/// Scores are kept for `scoring.outcome_days`, of each model the first of a wallet in a week. Liquidations come from
/// the index of markets. Metrics of the same are computed every hour.
#[utoipa::path(
    get, path = "/api/v2/admin/models/outcomes", tag = "admin", operation_id = "get_model_outcomes",
    responses((status = 200, description = "The outcomes", body = OutcomesBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn outcomes(State(state): State<RolloutRoutes>) -> Result<Json<OutcomesBody>, ApiError> {
    let joined = state.outcomes.joined().await.map_err(ApiError::store)?;
    state.outcomes.show(&joined).await;
    Ok(Json(joined.into()))
}
