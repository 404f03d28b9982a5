//! Error responses of submissions, in groups that the rows name.

use utoipa::IntoResponses;

pub use assay_http::responses::*;
use assay_http::{DetailBody, DetailOrViolations};

/// A submission of reputation.
#[derive(IntoResponses)]
pub enum SubmissionRefused {
    /// The address is missing or invalid, or the Idempotency-Key or the payment is invalid
    #[response(status = 400)]
    Invalid(DetailBody),
    /// The agent does not exist in the Identity Registry
    #[response(status = 404)]
    NoAgent(DetailBody),
    /// The request does not have the documented form, the Idempotency-Key was used for another request, or the agent
    /// takes no feedback of this service
    #[response(status = 422)]
    Refused(DetailOrViolations),
    /// The Identity Registry could not be read, a payment could not be checked, or reputation is not configured on this
    /// server
    #[response(status = 502)]
    Down(DetailBody),
}

/// The list of submissions.
#[derive(IntoResponses)]
pub enum NoSubmissions {
    /// Reputation is not configured on this server
    #[response(status = 502)]
    NotConfigured(DetailBody),
}

/// A path with a submission in it.
#[derive(IntoResponses)]
pub enum OfSubmission {
    /// Submission not found, or it belongs to another agent; or the document is not written yet
    #[response(status = 404)]
    Unknown(DetailBody),
    /// Reputation is not configured on this server
    #[response(status = 502)]
    NotConfigured(DetailBody),
}
