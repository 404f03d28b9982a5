//! Error responses of scores, in groups that the rows name.

use utoipa::IntoResponses;

pub use assay_http::responses::*;
use assay_http::{DetailBody, ErrorBody};

/// Responses that do not exist for every address or name.
#[derive(IntoResponses)]
pub enum NotFound {
    /// Address not found or has no on-chain activity
    #[response(status = 404)]
    NotFound(DetailBody),
}

/// Requests that name a model version.
#[derive(IntoResponses)]
pub enum VersionRefused {
    /// The requested version exists and cannot answer; the message says why
    #[response(status = 409)]
    Benched(DetailBody),
}

/// Responses that a sandbox does not give.
#[derive(IntoResponses)]
pub enum OfChains {
    /// This server is a sandbox, whose answers are mocks
    #[response(status = 409)]
    Sandbox(DetailBody),
}

/// Responses that need the chains.
#[derive(IntoResponses)]
pub enum ChainsDown {
    /// The chains could not be read, the requested chain is not configured, or a name could not be resolved
    #[response(status = 502)]
    Down(DetailBody),
    /// No model is in service, the version of a pin cannot answer, or every instance is busy
    #[response(status = 503)]
    Unready(DetailBody),
}

/// Responses that need only a model.
#[derive(IntoResponses)]
pub enum NoChampion {
    /// No model is in service, the version of a pin cannot answer, or every instance is busy
    #[response(status = 503)]
    Unready(DetailBody),
}

/// A path with the id of a score in it.
#[derive(IntoResponses)]
pub enum NoScore {
    /// No score with this id is stored for this key
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// The path of a statement, which only a final score of a chain has.
#[derive(IntoResponses)]
pub enum Provisional {
    /// The score is not final, or a mock
    #[response(status = 409)]
    Provisional(DetailBody),
}

/// The path of the signers of statements.
#[derive(IntoResponses)]
pub enum NoSigners {
    /// This server signs no statements
    #[response(status = 502)]
    NotConfigured(DetailBody),
}

/// Requests that the protocol or this server does not know.
#[derive(IntoResponses)]
pub enum Tensors {
    /// The request is not of this protocol, or names a tensor, type, shape or parameter that this model does not have
    #[response(status = 400)]
    Invalid(ErrorBody),
    /// There is no model of this name or version, or it does not score one of the wallets
    #[response(status = 404)]
    Unknown(ErrorBody),
    /// The version exists and cannot answer; the message says why
    #[response(status = 409)]
    Benched(ErrorBody),
}
