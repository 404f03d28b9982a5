//! Error responses of models and their roles, in groups that the rows name.

use utoipa::IntoResponses;

use assay_http::DetailBody;
pub use assay_http::responses::*;

/// A path with a kind of model in it.
#[derive(IntoResponses)]
pub enum NoKind {
    /// No such kind of model
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// A path with a model in it.
#[derive(IntoResponses)]
pub enum NoModel {
    /// No such kind or version; the message names those that exist
    #[response(status = 404)]
    Unknown(DetailBody),
    /// The model's role does not allow it
    #[response(status = 409)]
    Conflict(DetailBody),
}

/// A change of a split that the client has read.
#[derive(IntoResponses)]
pub enum ChangedMeanwhile {
    /// The split has changed since, according to `If-Match`; the message says what to do
    #[response(status = 412)]
    Changed(DetailBody),
}

/// The path of a model's bytes.
#[derive(IntoResponses)]
pub enum NoComponent {
    /// No such kind or version is on the shelf
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// A document that the server signs.
#[derive(IntoResponses)]
pub enum Unsigned {
    /// The server has no `attestation.signer`
    #[response(status = 502)]
    NotConfigured(DetailBody),
}

/// Uploads of a component.
#[derive(IntoResponses)]
pub enum UploadRefused {
    /// This version already exists with other bytes
    #[response(status = 409)]
    Taken(DetailBody),
    /// The component did not arrive in time
    #[response(status = 408)]
    TooSlow(DetailBody),
    /// The component is larger than the limit
    #[response(status = 413)]
    TooLarge(DetailBody),
    /// It is not a model that this server can run; the message says what is wrong and what to do
    #[response(status = 422)]
    Refused(DetailBody),
}
