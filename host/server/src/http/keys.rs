//! `GET /api/v2/admin/keys`: the keys that this server accepts.

use axum::{extract::State, response::Response};

use super::{
    ApiError, App, fresh, responses,
    wire::{KeyBody, KeysBody},
};

/// The keys of the configuration and the minted keys, by name, with their usage.
///
/// The text of a key is not in the response: the server has only its hash.
#[utoipa::path(
    get, path = "/api/v2/admin/keys", tag = "admin", operation_id = "list_keys",
    responses((status = 200, description = "The keys", body = KeysBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn list(State(app): State<App>) -> Result<Response, ApiError> {
    let known = app.access.known_keys().await.map_err(ApiError::store)?;
    let keys: Vec<KeyBody> = known.into_iter().map(KeyBody::from).collect();
    Ok(fresh::once(axum::Json(KeysBody { count: keys.len(), keys })))
}
