//! `/api/v2/admin/models`: putting models on the shelf, moving their roles, and taking them off.

use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    ApiError, App,
    docs::responses,
    extract::{self, Caller, JsonObject, KindPath, VersionPath, charge},
    router::UPLOAD,
    wire::{ReferenceBody, RolesBody},
};
use crate::domain::ModelVersion;

#[derive(Deserialize, ToSchema)]
#[schema(example = json!({ "version": "1.1" }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub struct OneVersion {
    version: String,
}

#[derive(Deserialize, ToSchema)]
#[schema(example = json!({ "versions": ["1.0"] }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub struct SeveralVersions {
    versions: Vec<String>,
}

/// The bytes of a model.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "the schema of a body that is taken as it is")]
pub struct Component(Vec<u8>);

/// Puts a component on the shelf.
///
/// It is checked, compiled and tried out first; what is wrong with it comes back in words. The same bytes again are no error.
#[utoipa::path(
    post, path = UPLOAD, tag = "admin", operation_id = "add_model",
    request_body(content = inline(Component), content_type = "application/wasm", description = "A component, or a core module as cargo builds it"),
    responses(
        (status = 201, description = "It is on the shelf", body = ReferenceBody),
        responses::Upload, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub async fn add(
    _: Caller<charge::Admin>,
    State(app): State<App>,
    request: Request,
) -> Result<(StatusCode, Json<ReferenceBody>), ApiError> {
    let bytes = extract::read(request.into_body(), app.limits.component, app.limits.arrival()).await?;
    let model = app.scoring.registry().add(bytes.into()).await?;
    Ok((StatusCode::CREATED, Json(model.into())))
}

/// Makes a version the one that answers.
#[utoipa::path(
    put, path = "/api/v2/admin/models/{kind}/champion", tag = "admin", operation_id = "set_champion",
    params(("kind" = String, Path, description = "credit, boost, sybil or sandbox", example = "credit")),
    request_body = OneVersion,
    responses((status = 200, description = "The roles as they are now", body = RolesBody), responses::Model, responses::Validated, responses::Bodied, responses::Keyed),
    security(("key" = [])),
)]
pub async fn champion(
    _: Caller<charge::Admin>,
    State(app): State<App>,
    KindPath(kind): KindPath,
    mut body: JsonObject,
) -> Result<Json<RolesBody>, ApiError> {
    let version: Option<ModelVersion> = body.required("version");
    body.finish()?;
    if let Some(version) = version {
        app.scoring.set_champion(kind, &version).await?;
    }
    Ok(Json(RolesBody::of(kind, &app.scoring.registry().list())))
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
    _: Caller<charge::Admin>,
    State(app): State<App>,
    KindPath(kind): KindPath,
    mut body: JsonObject,
) -> Result<Json<RolesBody>, ApiError> {
    let versions: Vec<ModelVersion> = body.required_list("versions");
    body.finish()?;
    app.scoring.set_challengers(kind, &versions).await?;
    Ok(Json(RolesBody::of(kind, &app.scoring.registry().list())))
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
    _: Caller<charge::Admin>,
    State(app): State<App>,
    KindPath(kind): KindPath,
    VersionPath(version): VersionPath,
) -> Result<StatusCode, ApiError> {
    app.scoring.registry().remove(kind, &version).await?;
    Ok(StatusCode::NO_CONTENT)
}
