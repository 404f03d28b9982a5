//! `/api/v2/admin/models`: adds models to the shelf, changes their roles and removes them; and the audit log of these
//! changes.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    RoleMove,
    bodies::{AuditBody, AuditEntryBody, ReferenceBody, RolesBody},
    responses,
    routes::RolloutRoutes,
};
use assay_domain::ModelVersion;
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject, KindPath, Paging, Upload, VersionPath},
};

const LONGEST_WHY: usize = 1_000;

/// Two to four numbers joined by dots.
#[derive(Deserialize, ToSchema)]
#[schema(value_type = String, pattern = r"^[0-9]{1,9}(\.[0-9]{1,9}){1,3}$", max_length = 32, example = "1.1")]
#[expect(dead_code, reason = "the schema of a text that is read as what it is")]
pub(crate) struct VersionText(String);

#[derive(Deserialize, ToSchema)]
#[schema(example = json!({ "version": "1.1", "why": "a week in the shadow without a failure" }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
#[serde(deny_unknown_fields)]
pub(crate) struct OneVersion {
    version: VersionText,
    /// For the audit log.
    why: Option<String>,
    /// Promotes although the review objects; needs a `why`.
    force: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = RollBack, example = json!({ "why": "complaints about the new one" }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
#[serde(deny_unknown_fields)]
pub(crate) struct RollBackBody {
    /// For the audit log.
    why: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[schema(example = json!({ "versions": ["1.0"] }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
#[serde(deny_unknown_fields)]
pub(crate) struct SeveralVersions {
    versions: Vec<VersionText>,
    /// For the audit log.
    why: Option<String>,
}

/// The bytes of a model.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "the schema of a body that is taken as it is")]
pub(crate) struct Component(Vec<u8>);

/// Completes a change of models even if the client disconnects: a change that is stored must also take effect.
pub(super) async fn to_its_end<T: Send + 'static>(
    change: impl Future<Output = T> + Send + 'static,
) -> Result<T, ApiError> {
    assay_tasks::complete("change", change).await.map_err(|panic| ApiError::internal("rollout", panic))
}

/// Adds a component to the shelf.
///
/// It is checked, compiled and tested first; the error message says what is wrong with it. Sending the same bytes
/// again is not an error.
#[utoipa::path(
    post, path = "/api/v2/admin/models", tag = "admin", operation_id = "add_model",
    request_body(content = inline(Component), content_type = "application/octet-stream",
        description = "A component, or a core module as cargo builds it"),
    responses(
        (status = 201, description = "Added", body = ReferenceBody),
        responses::UploadRefused, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn add(
    caller: Caller,
    State(state): State<RolloutRoutes>,
    Upload(bytes): Upload,
) -> Result<(StatusCode, Json<ReferenceBody>), ApiError> {
    let (rollout, by) = (state.rollout.clone(), by(&caller));
    let model = to_its_end(async move { rollout.stage(bytes.into(), by).await }).await??;
    Ok((StatusCode::CREATED, Json(model.into())))
}

/// Makes a version the champion, which answers requests.
///
/// When the shadow has seen enough wallets with this version and the champion, the bounds of `[promotion]` apply: 409
/// with the figures when one is exceeded, unless `force` is given with a `why`. So is a credit model that would replace
/// another if its card does not show that its claims hold, or if the server has scored `min_scores` wallets and the
/// shadow has seen fewer. The refusal and the audit log say how many of the last wallets it would refuse to score.
#[utoipa::path(
    put, path = "/api/v2/admin/models/{kind}/champion", tag = "admin", operation_id = "set_champion",
    params(KindPath),
    request_body = OneVersion,
    responses(
        (status = 200, description = "The current roles", body = RolesBody),
        responses::NoModel, responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn champion(
    caller: Caller,
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    mut body: JsonObject,
) -> Result<Json<RolesBody>, ApiError> {
    let version: Option<ModelVersion> = body.required("version");
    let (why, force) = (why(&mut body), body.flag("force"));
    if force && why.is_none() {
        body.refuse("why", "a forced promotion needs a `why`");
    }
    body.finish()?;
    if let Some(version) = version {
        let (state, with) = (state.clone(), RoleMove { why, force, ..by(&caller) });
        let change = async move {
            let doubts = state.cards.doubts(state.rollout.registry(), kind, &version).await;
            state.rollout.set_champion(kind, &version, doubts, with).await
        };
        to_its_end(change).await??;
    }
    Ok(Json(RolesBody::of(kind, state.rollout.registry())))
}

/// Makes the previous champion answer again. No bound of promotion prevents a rollback.
#[utoipa::path(
    post, path = "/api/v2/admin/models/{kind}/rollback", tag = "admin", operation_id = "roll_back_champion",
    params(KindPath),
    request_body = RollBackBody,
    responses(
        (status = 200, description = "The current roles", body = RolesBody),
        responses::NoModel, responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn roll_back(
    caller: Caller,
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    mut body: JsonObject,
) -> Result<Json<RolesBody>, ApiError> {
    let why = why(&mut body);
    body.finish()?;
    let (rollout, with) = (state.rollout.clone(), RoleMove { why, ..by(&caller) });
    to_its_end(async move { rollout.roll_back(kind, with).await }).await??;
    Ok(Json(RolesBody::of(kind, state.rollout.registry())))
}

/// Sets the versions that score in the shadow; all others stop.
#[utoipa::path(
    put, path = "/api/v2/admin/models/{kind}/challengers", tag = "admin", operation_id = "set_challengers",
    params(KindPath),
    request_body = SeveralVersions,
    responses(
        (status = 200, description = "The current roles", body = RolesBody),
        responses::NoModel, responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn challengers(
    caller: Caller,
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    mut body: JsonObject,
) -> Result<Json<RolesBody>, ApiError> {
    let versions: Vec<ModelVersion> = body.required_list("versions");
    let why = why(&mut body);
    body.finish()?;
    let (rollout, with) = (state.rollout.clone(), RoleMove { why, ..by(&caller) });
    to_its_end(async move { rollout.set_challengers(kind, &versions, with).await }).await??;
    Ok(Json(RolesBody::of(kind, state.rollout.registry())))
}

/// Removes a version from the shelf. The champion cannot be removed.
#[utoipa::path(
    delete, path = "/api/v2/admin/models/{kind}/{version}", tag = "admin", operation_id = "remove_model",
    params(KindPath, VersionPath),
    responses((status = 204, description = "Removed"), responses::NoModel, responses::Validated, responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn remove(
    caller: Caller,
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    VersionPath(version): VersionPath,
) -> Result<StatusCode, ApiError> {
    let (rollout, by) = (state.rollout.clone(), by(&caller));
    to_its_end(async move { rollout.remove(kind, &version, by).await }).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// The audit log: every change to a model, newest first.
///
/// A change is recorded before it is made and completed afterwards; no entry is ever overwritten. A change that a crash
/// interrupted is completed at the next start, by looking at the role.
#[utoipa::path(
    get, path = "/api/v2/admin/audit", tag = "admin", operation_id = "list_audit_entries",
    params(Paging),
    responses(
        (status = 200, description = "The page", body = AuditBody),
        responses::Paged, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn audit(
    State(state): State<RolloutRoutes>,
    Paging { page, limit }: Paging,
) -> Result<Json<AuditBody>, ApiError> {
    let found = state.rollout.audit(page, limit).await;
    let (entries, total) = found.map_err(ApiError::store)?;
    Ok(Json(AuditBody { entries: entries.into_iter().map(AuditEntryBody::from).collect(), total, page, limit }))
}

pub(super) fn by(caller: &Caller) -> RoleMove {
    RoleMove { by: caller.name().to_owned(), ..RoleMove::default() }
}

/// The reason, with a limited length.
pub(super) fn why(body: &mut JsonObject) -> Option<String> {
    let why = body.text("why");
    if why.as_ref().is_some_and(|why| why.chars().count() > LONGEST_WHY) {
        body.refuse("why", format!("a reason has at most {LONGEST_WHY} characters"));
    }
    why
}
