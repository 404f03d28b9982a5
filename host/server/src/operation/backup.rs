//! `/api/v2/admin/backup`: a copy of the embedded store while it is in use.

use axum::{Json, extract::State, http::StatusCode};
use chrono::Utc;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Operations, responses};
use assay_http::ApiError;
use assay_store::BackupError;

/// A backup that was made, on the server's own disk.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Backup, example = json!({
    "file": "data/backups/assay-20261121T150301.042Z.redb", "records": 81_203, "bytes": 61_927_424
}))]
pub(crate) struct BackupBody {
    /// In the folder `backups` next to the store.
    file: String,
    records: u64,
    bytes: u64,
}

/// Makes a backup of the store.
///
/// It has the state of one moment; `assay store restore` replaces the store with it. It is completed even if the caller
/// disconnects.
#[utoipa::path(
    post, path = "/api/v2/admin/backup", tag = "admin", operation_id = "make_backup",
    responses(
        (status = 201, description = "The backup is complete", body = BackupBody),
        responses::NoBackup, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn make(State(state): State<Operations>) -> Result<(StatusCode, Json<BackupBody>), ApiError> {
    let making = assay_tasks::complete("backup", async move {
        let _turn = state.backups.turn.try_lock().map_err(|_| BackupError::Busy)?;
        let name = format!("assay-{}.redb", Utc::now().format("%Y%m%dT%H%M%S%.3fZ"));
        state.store.back_up(&state.backups.folder.join(name)).await
    });
    let copied = making.await.map_err(|panic| ApiError::internal("store", panic))?.map_err(|error| refused(&error))?;
    tracing::info!(file = %copied.path.display(), copied.records, copied.bytes, "a backup of the store was made");
    let body = BackupBody { file: copied.path.display().to_string(), records: copied.records, bytes: copied.bytes };
    Ok((StatusCode::CREATED, Json(body)))
}

/// The caller is an operator of the server, who needs the reason.
fn refused(error: &BackupError) -> ApiError {
    tracing::error!(%error, "no backup of the store was made");
    match error {
        BackupError::Busy => ApiError::coded(StatusCode::CONFLICT, "busy", error.to_string()),
        BackupError::Elsewhere => ApiError::coded(StatusCode::CONFLICT, "store_elsewhere", error.to_string()),
        BackupError::Failed { .. } => ApiError::coded(StatusCode::INTERNAL_SERVER_ERROR, "store", error.to_string()),
    }
}
