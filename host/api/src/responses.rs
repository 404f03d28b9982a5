//! Error responses in groups, so that a route names groups and does not repeat each status.
#![expect(dead_code, reason = "these types are read by the OpenAPI document alone")]

use utoipa::IntoResponses;

use crate::error::{DetailBody, DetailOrError, DetailOrViolations, ErrorBody, QuotaBody, ValidationBody};
use assay_wire::PaymentRequiredBody;

/// Paths that take a key.
#[derive(IntoResponses)]
pub(crate) enum Keyed {
    /// Invalid or missing API key
    #[response(status = 401)]
    Unauthorized(DetailBody),
    /// The key does not have permission for this call
    #[response(status = 403)]
    Forbidden(DetailBody),
    /// Too many requests with this key, or without a valid key from this address
    #[response(status = 429)]
    TooMany(QuotaBody),
    /// Internal error; `code` says which
    #[response(status = 500)]
    Failed(DetailBody),
    /// Temporarily unavailable: too many requests are running, the store cannot be reached, no model is in service, an
    /// index is being built, or every model instance is busy; `code` says which, if it may be unclear
    #[response(status = 503)]
    NotNow(DetailBody),
    /// The response took too long
    #[response(status = 504)]
    TooSlow(DetailBody),
}

/// The path that mints a key.
#[derive(IntoResponses)]
pub(crate) enum NewKey {
    /// Another key has this name
    #[response(status = 409)]
    Taken(DetailBody),
}

/// A path with the name of a key in it.
#[derive(IntoResponses)]
pub(crate) enum OneKey {
    /// No minted key has this name
    #[response(status = 404)]
    Unknown(DetailBody),
    /// The key is in the configuration
    #[response(status = 409)]
    Configured(DetailBody),
}

/// The path that makes a backup.
#[derive(IntoResponses)]
pub(crate) enum Backup {
    /// Another backup is running, or the store is not a file of this server
    #[response(status = 409)]
    Busy(DetailBody),
}

/// Paths that cost units.
#[derive(IntoResponses)]
pub(crate) enum Units {
    /// The units of the key are used up, or its rate limit is reached
    #[response(status = 429)]
    UsedUp(QuotaBody),
}

/// A path with an address in it.
#[derive(IntoResponses)]
pub(crate) enum Address {
    /// Invalid Ethereum address format
    #[response(status = 400)]
    Invalid(DetailBody),
}

/// A path with an address and a chain in it.
#[derive(IntoResponses)]
pub(crate) enum AddressAndChain {
    /// Invalid Ethereum address format, or invalid chain id
    #[response(status = 400)]
    Invalid(DetailBody),
}

/// A path with an address and a chain in it, where the chain has an error of its own form.
#[derive(IntoResponses)]
pub(crate) enum AddressOrChain {
    /// Invalid Ethereum address format, or unsupported chain
    #[response(status = 400)]
    Invalid(DetailOrError),
}

/// A path with an address in it, and a body with a name.
#[derive(IntoResponses)]
pub(crate) enum AddressOrName {
    /// Invalid Ethereum address format, or no name in the body
    #[response(status = 400)]
    Invalid(DetailOrError),
}

/// Responses that the client may already have.
#[derive(IntoResponses)]
pub(crate) enum Unchanged {
    /// The client already has this response, according to its `If-None-Match`
    #[response(status = 304)]
    Unchanged,
}

/// A list of addresses.
#[derive(IntoResponses)]
pub(crate) enum Several {
    /// No valid address, or more addresses than the limit
    #[response(status = 400)]
    Invalid(ErrorBody),
}

/// The 422 response to an invalid parameter or body.
#[derive(IntoResponses)]
pub(crate) enum Validated {
    /// The request does not have the documented form; the body names each error and its location
    #[response(status = 422)]
    Invalid(ValidationBody),
}

/// A request body with a small size limit.
#[derive(IntoResponses)]
pub(crate) enum Bodied {
    /// The body did not arrive in time
    #[response(status = 408)]
    TooSlow(DetailBody),
    /// The body is larger than the limit
    #[response(status = 413)]
    TooLarge(DetailBody),
}

/// Responses that do not exist for every address or name.
#[derive(IntoResponses)]
pub(crate) enum Unknown {
    /// Address not found or has no on-chain activity
    #[response(status = 404)]
    NotFound(DetailBody),
}

/// Requests that name a model version.
#[derive(IntoResponses)]
pub(crate) enum OutOfService {
    /// The requested version exists and cannot answer; the message says why
    #[response(status = 409)]
    Benched(DetailBody),
}

/// Responses that need the chains.
#[derive(IntoResponses)]
pub(crate) enum Chains {
    /// The chains could not be read, the requested chain is not configured, or a name could not be resolved
    #[response(status = 502)]
    Down(DetailBody),
    /// No model is in service, or every instance is busy
    #[response(status = 503)]
    Unready(DetailBody),
}

/// Responses that need only a model.
#[derive(IntoResponses)]
pub(crate) enum Models {
    /// No model is in service, or every instance is busy
    #[response(status = 503)]
    Unready(DetailBody),
}

/// A path with a kind of model in it.
#[derive(IntoResponses)]
pub(crate) enum Kind {
    /// No such kind of model
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// A path with a model in it.
#[derive(IntoResponses)]
pub(crate) enum Model {
    /// No such kind or version; the message names those that exist
    #[response(status = 404)]
    Unknown(DetailBody),
    /// The model's role does not allow it
    #[response(status = 409)]
    Conflict(DetailBody),
}

/// A path with the id of a score in it.
#[derive(IntoResponses)]
pub(crate) enum NoScore {
    /// No score with this id is stored for this key
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// The path of a statement, which only a final score of a chain has.
#[derive(IntoResponses)]
pub(crate) enum Provisional {
    /// The score is not final, or a mock
    #[response(status = 409)]
    Provisional(DetailBody),
}

/// The path of the signers of statements.
#[derive(IntoResponses)]
pub(crate) enum NoSigners {
    /// This server signs no statements
    #[response(status = 502)]
    NotConfigured(DetailBody),
}

/// The path of a model's bytes.
#[derive(IntoResponses)]
pub(crate) enum Component {
    /// No such kind or version is on the shelf
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// Uploads of a component.
#[derive(IntoResponses)]
pub(crate) enum Upload {
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

/// A page of a list.
#[derive(IntoResponses)]
pub(crate) enum Paged {
    /// Page or limit out of range
    #[response(status = 400)]
    OutOfRange(DetailBody),
}

/// A path with an agent in it.
#[derive(IntoResponses)]
pub(crate) enum Agent {
    /// The agent does not exist in the Identity Registry
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// Responses that need the agent registries.
#[derive(IntoResponses)]
pub(crate) enum AgentRegistry {
    /// The registry could not be read, or none is configured
    #[response(status = 502)]
    Down(DetailBody),
}

/// Responses that need the index of agents.
#[derive(IntoResponses)]
pub(crate) enum AgentIndex {
    /// The search failed, or no registry is configured
    #[response(status = 502)]
    Failed(DetailBody),
    /// The index is being built for the first time
    #[response(status = 503)]
    Unready(DetailBody),
}

/// A call that can be paid by x402, where the server accepts it.
#[derive(IntoResponses)]
pub(crate) enum Payable {
    /// No key and no payment, or a payment that was not accepted; the body has the reason and the terms
    #[response(status = 402, headers(
        ("PAYMENT-REQUIRED" = String, description = "The terms for x402, version 2"),
        ("X-PAYMENT-RESPONSE" = Option<String>, description = "What became of a payment by version 1 that was tried"),
        ("PAYMENT-RESPONSE" = Option<String>, description = "What became of a payment by version 2 that was tried"),
    ))]
    Required(PaymentRequiredBody),
    /// The payment is being settled: send the same payment again, and do not sign another one
    #[response(status = 503)]
    Pending(DetailBody),
}

/// A submission of reputation.
#[derive(IntoResponses)]
pub(crate) enum Submission {
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
pub(crate) enum NoSubmissions {
    /// Reputation is not configured on this server
    #[response(status = 502)]
    NotConfigured(DetailBody),
}

/// A path with a submission in it.
#[derive(IntoResponses)]
pub(crate) enum OfSubmission {
    /// Submission not found, or it belongs to another agent; or the document is not written yet
    #[response(status = 404)]
    Unknown(DetailBody),
    /// Reputation is not configured on this server
    #[response(status = 502)]
    NotConfigured(DetailBody),
}
