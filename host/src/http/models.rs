//! `GET /api/v2/models`: which models there are, what each does, and what is wrong with the files that are none.

use axum::{Json, extract::State};

use super::{
    ApiError, App,
    docs::responses,
    extract::{Caller, charge},
    wire::{ModelBody, ModelsBody},
};

/// The models on the shelf, with state, role and, where one is not in service, the reason.
#[utoipa::path(
    get, path = "/api/v2/models", tag = "models", operation_id = "models",
    responses((status = 200, description = "The models", body = ModelsBody), responses::Keyed),
    security(("key" = [])),
)]
pub async fn list(_: Caller<charge::Models>, State(app): State<App>) -> Result<Json<ModelsBody>, ApiError> {
    let models: Vec<ModelBody> = app.scoring.registry().list().into_iter().map(ModelBody::from).collect();
    Ok(Json(ModelsBody { count: models.len(), models }))
}
