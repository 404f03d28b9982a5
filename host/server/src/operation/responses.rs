//! Error responses of operation, in groups that the rows name.

use utoipa::IntoResponses;

use assay_http::DetailBody;
pub use assay_http::responses::*;

/// The path that makes a backup.
#[derive(IntoResponses)]
pub enum NoBackup {
    /// Another backup is running, or the store is not a file of this server
    #[response(status = 409)]
    Busy(DetailBody),
}
