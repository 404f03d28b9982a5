//! `/api/v2/admin/models`: putting models on the shelf, moving their roles, and taking them off; and the log of all
//! that.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    ApiError, App,
    extract::{Caller, JsonObject, KindPath, Paging, Upload, VersionPath, charge},
    responses,
    wire::{AuditBody, AuditEntryBody, ReferenceBody, RolesBody},
};
use crate::rollout::Move;
use assay_domain::ModelVersion;

const LONGEST_WHY: usize = 1_000;

/// Two to four numbers joined by dots.
#[derive(Deserialize, ToSchema)]
#[schema(value_type = String, pattern = r"^[0-9]{1,9}(\.[0-9]{1,9}){1,3}$", max_length = 32, example = "1.1")]
#[expect(dead_code, reason = "the schema of a text that is read as what it is")]
pub struct VersionText(String);

#[derive(Deserialize, ToSchema)]
#[schema(example = json!({ "version": "1.1", "why": "a week in the shadow without a failure" }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub struct OneVersion {
    version: VersionText,
    /// For the audit log.
    why: Option<String>,
    /// Passes the bounds of `[promotion]`; needs a `why`.
    force: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[schema(example = json!({ "why": "complaints about the new one" }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub struct Reason {
    /// For the audit log.
    why: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[schema(example = json!({ "versions": ["1.0"] }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub struct SeveralVersions {
    versions: Vec<VersionText>,
    /// For the audit log.
    why: Option<String>,
}

/// The bytes of a model.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "the schema of a body that is taken as it is")]
pub struct Component(Vec<u8>);

/// Puts a component on the shelf.
///
/// It is checked, compiled and tried out first; what is wrong with it comes back in words. The same bytes again are no
/// error.
#[utoipa::path(
    post, path = "/api/v2/admin/models", tag = "admin", operation_id = "add_model",
    request_body(content = inline(Component), content_type = "application/wasm", description = "A component, or a core module as cargo builds it"),
    responses(
        (status = 201, description = "It is on the shelf", body = ReferenceBody),
        responses::Upload, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub async fn add(
    caller: Caller<charge::Admin>,
    State(app): State<App>,
    Upload(bytes): Upload,
) -> Result<(StatusCode, Json<ReferenceBody>), ApiError> {
    let model = app.rollout.stage(bytes.into(), by(&caller)).await?;
    Ok((StatusCode::CREATED, Json(model.into())))
}

/// Makes a version the one that answers.
///
/// Where the shadow has seen enough of it beside the champion, the bounds of `[promotion]` are held: 409 with the
/// figures where one is exceeded, unless `force` is given with a `why`.
#[utoipa::path(
    put, path = "/api/v2/admin/models/{kind}/champion", tag = "admin", operation_id = "set_champion",
    params(("kind" = String, Path, description = "credit, boost, sybil or sandbox", example = "credit")),
    request_body = OneVersion,
    responses((status = 200, description = "The roles as they are now", body = RolesBody), responses::Model, responses::Validated, responses::Bodied, responses::Keyed),
    security(("key" = [])),
)]
pub async fn champion(
    caller: Caller<charge::Admin>,
    State(app): State<App>,
    KindPath(kind): KindPath,
    mut body: JsonObject,
) -> Result<Json<RolesBody>, ApiError> {
    let version: Option<ModelVersion> = body.required("version");
    let (why, force) = (why(&mut body), body.flag("force"));
    if force && why.is_none() {
        body.refuse("why", "a promotion is forced with a reason");
    }
    body.finish()?;
    if let Some(version) = version {
        app.rollout.set_champion(kind, &version, Move { why, force, ..by(&caller) }).await?;
    }
    Ok(Json(RolesBody::of(kind, &app.rollout.registry().list())))
}

/// Makes the champion before this one answer again. No bound keeps one from going back.
#[utoipa::path(
    post, path = "/api/v2/admin/models/{kind}/rollback", tag = "admin", operation_id = "roll_back",
    params(("kind" = String, Path, description = "credit, boost, sybil or sandbox", example = "credit")),
    request_body = Reason,
    responses((status = 200, description = "The roles as they are now", body = RolesBody), responses::Model, responses::Validated, responses::Bodied, responses::Keyed),
    security(("key" = [])),
)]
pub async fn roll_back(
    caller: Caller<charge::Admin>,
    State(app): State<App>,
    KindPath(kind): KindPath,
    mut body: JsonObject,
) -> Result<Json<RolesBody>, ApiError> {
    let why = why(&mut body);
    body.finish()?;
    app.rollout.roll_back(kind, Move { why, ..by(&caller) }).await?;
    Ok(Json(RolesBody::of(kind, &app.rollout.registry().list())))
}

/// Makes versions score in the shadow, and no others.
#[utoipa::path(
    put, path = "/api/v2/admin/models/{kind}/challengers", tag = "admin", operation_id = "set_challengers",
    params(("kind" = String, Path, description = "credit, boost, sybil or sandbox", example = "credit")),
    request_body = SeveralVersions,
    responses((status = 200, description = "The roles as they are now", body = RolesBody), responses::Model, responses::Validated, responses::Bodied, responses::Keyed),
    security(("key" = [])),
)]
pub async fn challengers(
    caller: Caller<charge::Admin>,
    State(app): State<App>,
    KindPath(kind): KindPath,
    mut body: JsonObject,
) -> Result<Json<RolesBody>, ApiError> {
    let versions: Vec<ModelVersion> = body.required_list("versions");
    let why = why(&mut body);
    body.finish()?;
    app.rollout.set_challengers(kind, &versions, Move { why, ..by(&caller) }).await?;
    Ok(Json(RolesBody::of(kind, &app.rollout.registry().list())))
}

/// Takes a version off the shelf. The champion stays.
#[utoipa::path(
    delete, path = "/api/v2/admin/models/{kind}/{version}", tag = "admin", operation_id = "remove_model",
    params(
        ("kind" = String, Path, description = "credit, boost, sybil or sandbox", example = "credit"),
        ("version" = String, Path, description = "Two to four numbers joined by dots", example = "1.0"),
    ),
    responses((status = 204, description = "It is gone"), responses::Model, responses::Validated, responses::Keyed),
    security(("key" = [])),
)]
pub async fn remove(
    caller: Caller<charge::Admin>,
    State(app): State<App>,
    KindPath(kind): KindPath,
    VersionPath(version): VersionPath,
) -> Result<StatusCode, ApiError> {
    app.rollout.remove(kind, &version, by(&caller)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The audit log: every step of a model, latest first.
///
/// A step is written before it is made and closed after, and neither is ever written over. What a crash interrupted is
/// closed at the next start, by looking at the role.
#[utoipa::path(
    get, path = "/api/v2/admin/audit", tag = "admin", operation_id = "audit",
    params(
        ("page" = Option<usize>, Query, description = "From 1", minimum = 1),
        ("limit" = Option<usize>, Query, description = "Entries on a page, 20 where absent", minimum = 1, maximum = 100),
    ),
    responses((status = 200, description = "The page", body = AuditBody), responses::Paged, responses::Validated, responses::Keyed),
    security(("key" = [])),
)]
pub async fn audit(
    _: Caller<charge::Admin>,
    State(app): State<App>,
    Paging { page, limit }: Paging,
) -> Result<Json<AuditBody>, ApiError> {
    let found = app.rollout.audit(page, limit).await;
    let (entries, total) = found.map_err(ApiError::store)?;
    Ok(Json(AuditBody { entries: entries.into_iter().map(AuditEntryBody::from).collect(), total, page, limit }))
}

fn by(caller: &Caller<charge::Admin>) -> Move {
    Move { by: caller.name().to_owned(), ..Move::default() }
}

/// The reason, of a length that a log can bear.
fn why(body: &mut JsonObject) -> Option<String> {
    let why = body.text("why");
    if why.as_ref().is_some_and(|why| why.chars().count() > LONGEST_WHY) {
        body.refuse("why", format!("a reason has at most {LONGEST_WHY} characters"));
    }
    why
}
