//! Error responses of keys, in groups that the rows name.

use utoipa::IntoResponses;

use assay_http::DetailBody;
pub use assay_http::responses::*;

/// The path that mints a key.
#[derive(IntoResponses)]
pub enum NewKey {
    /// Another key has this name
    #[response(status = 409)]
    Taken(DetailBody),
}

/// A path with the name of a key in it.
#[derive(IntoResponses)]
pub enum OneKey {
    /// No minted key has this name
    #[response(status = 404)]
    Unknown(DetailBody),
    /// The key is in the configuration
    #[response(status = 409)]
    Configured(DetailBody),
}
