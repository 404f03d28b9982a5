//! `/api/v2/models`: the models, their roles, and the errors of files that could not be loaded; the comparison of
//! several models on one subject, and the shadow report.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::{
    ApiError, App,
    admin::Component,
    extract::{Caller, KindPath, SubjectPath, VersionPath, Versions, Window},
    fresh, responses,
};
use assay_domain::{Digest, ModelKind};
use assay_registry::ModelStatus;
use assay_scoring::{blocking, cards};
use assay_wire::{ComparisonBody, ModelBody, ModelsBody, OutcomesBody, ShadowBody};
use sha2::{Digest as _, Sha256};

/// The models on the shelf, with state, role and, when one is not in service, the reason.
#[utoipa::path(
    get, path = "/api/v2/models", tag = "models", operation_id = "list_models",
    responses((status = 200, description = "The models", body = ModelsBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn list(State(app): State<App>) -> Result<Json<ModelsBody>, ApiError> {
    let registry = app.rollout.registry();
    let listed = registry.list();
    let previous = ModelKind::ALL.into_iter().filter_map(|kind| registry.previous(kind)).map(Into::into).collect();
    let models: Vec<ModelBody> = blocking(move || {
        let carded = |status: &ModelStatus| {
            let info = status.info.as_ref()?;
            let exists = status.card.is_some() || cards::path(app.cards.shelf(), info.kind, &info.version).is_file();
            exists.then(|| format!("/api/v2/models/{}/{}/card", info.kind, info.version))
        };
        // A card that cannot be used claims nothing; the page of the card says why.
        let claimed = |status: &ModelStatus| {
            let (info, digest) = (status.info.as_ref()?, status.digest?);
            cards::claims(app.cards.shelf(), info, digest, status.card.as_deref()).ok()
        };
        let body = |status| ModelBody::new(carded(&status), claimed(&status).unwrap_or_default(), status);
        listed.into_iter().map(body).collect()
    })
    .await;
    Ok(Json(ModelsBody { count: models.len(), models, previous }))
}

/// The model card as Markdown: purpose, training data, how well the model predicts, and its limits.
#[utoipa::path(
    get, path = "/api/v2/models/{kind}/{version}/card", tag = "models", operation_id = "get_model_card",
    params(KindPath, VersionPath),
    responses(
        (status = 200, description = "The card", body = String, content_type = "text/markdown"),
        responses::Model, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn card(
    State(app): State<App>,
    KindPath(kind): KindPath,
    VersionPath(version): VersionPath,
) -> Result<Response, ApiError> {
    let none = || {
        let detail = format!("The model {kind} {version} has no card, or is not on the shelf");
        ApiError::coded(StatusCode::NOT_FOUND, "no_card", detail)
    };
    let found = app.rollout.registry().list().into_iter().find_map(|status| {
        let info = status.info.filter(|info| (info.kind, &info.version) == (kind, &version))?;
        status.digest.map(|digest| (info, digest, status.card))
    });
    let (info, digest, packed) = found.ok_or_else(none)?;
    let page = blocking(move || cards::markdown(app.cards.shelf(), &info, digest, packed.as_deref())).await;
    let page = page.map_err(|error| ApiError::internal("bad_card", error))?.ok_or_else(none)?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page).into_response())
}

/// The bytes of a model, so that anyone can run it on the features of a score.
#[utoipa::path(
    get, path = "/api/v2/models/{kind}/{version}/component", tag = "models", operation_id = "get_model_component",
    params(KindPath, VersionPath),
    responses(
        (status = 200, description = "The component", body = inline(Component), content_type = "application/wasm"),
        responses::Component, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn component(
    State(app): State<App>,
    KindPath(kind): KindPath,
    VersionPath(version): VersionPath,
) -> Result<Response, ApiError> {
    if !app.public_models {
        let words = "This server does not give its models away; its operator can set models.public";
        return Err(ApiError::coded(StatusCode::FORBIDDEN, "models_not_public", words));
    }
    let found = app.rollout.registry().list().into_iter().find_map(|status| {
        status.info.filter(|info| (info.kind, &info.version) == (kind, &version))?;
        status.digest.zip(status.file)
    });
    let shelf = app.cards.shelf().to_owned();
    let bytes = blocking(move || {
        let (digest, file) = found?;
        let bytes = std::fs::read(shelf.join(file)).ok()?;
        // Another file may have its name since it was loaded.
        (Digest(Sha256::digest(&bytes).into()) == digest).then_some(bytes)
    });
    let none = || {
        let detail = format!("The model {kind} {version} is not on the shelf");
        ApiError::coded(StatusCode::NOT_FOUND, "no_component", detail)
    };
    Ok(([(header::CONTENT_TYPE, "application/wasm")], bytes.await.ok_or_else(none)?).into_response())
}

/// The results of several versions of the credit model for one address, all from the same reading.
///
/// Differences are relative to the first version. A version that fails has a reason instead of a score; the others
/// still have theirs. Each version costs the units of one score.
#[utoipa::path(
    get, path = "/api/v2/models/compare/address/{address}", tag = "models", operation_id = "compare_models",
    params(SubjectPath, Versions),
    responses(
        (status = 200, description = "What they say", body = ComparisonBody),
        responses::Address, responses::Validated, responses::Keyed, responses::Units, responses::Unknown,
        responses::Chains,
    ),
    security(("key" = [])),
)]
pub(crate) async fn compare(
    caller: Caller,
    State(app): State<App>,
    SubjectPath(subject): SubjectPath,
    Versions(mut versions): Versions,
) -> Result<Response, ApiError> {
    if versions.is_empty() {
        versions = app.scoring.default_versions()?;
    }
    let count = versions.len();
    let compared = async { app.scoring.compare(&subject, versions).await.map_err(|error| app.refuse(error)) };
    let comparison = caller.pay_each(&app, count, compared).await?;
    Ok(fresh::once(Json(ComparisonBody::from(comparison))))
}

/// The challengers of a kind compared with its champion, from live traffic, of all hosts together.
///
/// Challengers score what the champion has computed, outside the request, and never change a response. Windows start at
/// a full hour. Only credit models have a shadow: the report of another kind has no pairs.
#[utoipa::path(
    get, path = "/api/v2/models/{kind}/report", tag = "models", operation_id = "get_shadow_report",
    params(KindPath, Window),
    responses(
        (status = 200, description = "The report", body = ShadowBody),
        responses::Kind, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn report(
    State(app): State<App>,
    KindPath(kind): KindPath,
    Window(hours): Window,
) -> Result<Json<ShadowBody>, ApiError> {
    let hours = hours.unwrap_or_else(|| app.rollout.window());
    let pairs = app.rollout.shadow_pairs(kind, hours).await.map_err(ApiError::store)?;
    Ok(Json(ShadowBody::new(kind, hours, chrono::Utc::now(), &app.rollout, pairs)))
}

/// What became of the wallets that credit champion and challengers scored: realised against claimed rates of
/// liquidations by range, and the shift of the scores by week.
///
/// Scores are kept for `scoring.outcome_days`, of each model the first of a wallet in a week. Liquidations come from
/// the index of markets. Metrics of the same are computed every hour.
#[utoipa::path(
    get, path = "/api/v2/admin/models/outcomes", tag = "admin", operation_id = "get_model_outcomes",
    responses((status = 200, description = "The outcomes", body = OutcomesBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn outcomes(State(app): State<App>) -> Result<Json<OutcomesBody>, ApiError> {
    let joined = app.outcomes.joined().await.map_err(ApiError::store)?;
    app.outcomes.show(&joined).await;
    Ok(Json(joined.into()))
}
