//! Error responses in groups, so that a route names the conditions it has and not each status again.
#![expect(dead_code, reason = "these types are read by the OpenAPI document alone")]

use utoipa::IntoResponses;

use crate::http::{
    error::{DetailBody, DetailOrError, ErrorBody, QuotaBody, ValidationBody},
    wire::PaymentRequiredBody,
};

/// Every path that takes a key.
#[derive(IntoResponses)]
pub enum Keyed {
    /// Invalid or missing API key
    #[response(status = 401)]
    Unauthorized(DetailBody),
    /// The key may not do this
    #[response(status = 403)]
    Forbidden(DetailBody),
    /// Too many requests of this key, or of this address without a valid one
    #[response(status = 429)]
    TooMany(QuotaBody),
    /// Our failure; `code` says of which kind
    #[response(status = 500)]
    Failed(DetailBody),
    /// Not at this moment: too many requests are at work, records cannot be reached, no model is in service, an index
    /// is being built, or every instance is at work; `code` says which, where there may be doubt
    #[response(status = 503)]
    NotNow(DetailBody),
    /// The answer took too long
    #[response(status = 504)]
    TooSlow(DetailBody),
}

/// The path that makes a backup.
#[derive(IntoResponses)]
pub enum Backup {
    /// Another backup is being made, or the store is not a file of this server
    #[response(status = 409)]
    Busy(DetailBody),
}

/// Every path that costs units.
#[derive(IntoResponses)]
pub enum Units {
    /// The key's units are used up, or its rate is
    #[response(status = 429)]
    UsedUp(QuotaBody),
}

/// A path with an address in it.
#[derive(IntoResponses)]
pub enum Address {
    /// Invalid Ethereum address format
    #[response(status = 400)]
    Invalid(DetailBody),
}

/// A path with an address and a chain in it.
#[derive(IntoResponses)]
pub enum AddressAndChain {
    /// Invalid Ethereum address format, or invalid chain id
    #[response(status = 400)]
    Invalid(DetailBody),
}

/// A path with an address and a chain in it, where the chain has an error of its own form.
#[derive(IntoResponses)]
pub enum AddressOrChain {
    /// Invalid Ethereum address format, or unsupported chain
    #[response(status = 400)]
    Invalid(DetailOrError),
}

/// A path with an address in it, and a body with a name.
#[derive(IntoResponses)]
pub enum AddressOrName {
    /// Invalid Ethereum address format, or no name in the body
    #[response(status = 400)]
    Invalid(DetailOrError),
}

/// An answer that the client may have already.
#[derive(IntoResponses)]
pub enum Unchanged {
    /// The client has this answer, by its `If-None-Match`
    #[response(status = 304)]
    Unchanged,
}

/// A list of addresses.
#[derive(IntoResponses)]
pub enum Several {
    /// No valid address, or more than the limit
    #[response(status = 400)]
    Invalid(ErrorBody),
}

/// A typed parameter or body.
#[derive(IntoResponses)]
pub enum Validated {
    /// Something does not have the documented form: each thing that is wrong, and where
    #[response(status = 422)]
    Invalid(ValidationBody),
}

/// A small body.
#[derive(IntoResponses)]
pub enum Bodied {
    /// The body did not arrive in time
    #[response(status = 408)]
    TooSlow(DetailBody),
    /// The body is larger than the limit
    #[response(status = 413)]
    TooLarge(DetailBody),
}

/// An answer that not every address or name has.
#[derive(IntoResponses)]
pub enum Unknown {
    /// Address not found or has no on-chain activity
    #[response(status = 404)]
    NotFound(DetailBody),
}

/// A version that was asked for.
#[derive(IntoResponses)]
pub enum OutOfService {
    /// The version asked for is there, and does not answer; the message says why
    #[response(status = 409)]
    Benched(DetailBody),
}

/// An answer from the chains.
#[derive(IntoResponses)]
pub enum Chains {
    /// The chains could not be read, the chain asked for is not configured, or a name could not be looked up
    #[response(status = 502)]
    Down(DetailBody),
    /// No model is in service, or every instance is at work
    #[response(status = 503)]
    Unready(DetailBody),
}

/// An answer from a model alone.
#[derive(IntoResponses)]
pub enum Models {
    /// No model is in service, or every instance is at work
    #[response(status = 503)]
    Unready(DetailBody),
}

/// A path with a kind of model in it.
#[derive(IntoResponses)]
pub enum Kind {
    /// No such kind of model
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// A path with a model in it.
#[derive(IntoResponses)]
pub enum Model {
    /// No such kind or version; the message names those there are
    #[response(status = 404)]
    Unknown(DetailBody),
    /// The model's role does not allow it
    #[response(status = 409)]
    Conflict(DetailBody),
}

/// A path with the id of a score in it.
#[derive(IntoResponses)]
pub enum NoScore {
    /// No score of this id is kept for this key
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// An upload.
#[derive(IntoResponses)]
pub enum Upload {
    /// This version is already there with other bytes
    #[response(status = 409)]
    Taken(DetailBody),
    /// The component did not arrive in time
    #[response(status = 408)]
    TooSlow(DetailBody),
    /// The component is larger than the limit
    #[response(status = 413)]
    TooLarge(DetailBody),
    /// It is no model that can be served; the message says what is wrong and what to do
    #[response(status = 422)]
    Refused(DetailBody),
}

/// A page of a list.
#[derive(IntoResponses)]
pub enum Paged {
    /// Page or limit out of range
    #[response(status = 400)]
    OutOfRange(DetailBody),
}

/// A path with an agent in it.
#[derive(IntoResponses)]
pub enum Agent {
    /// The agent does not exist in the Identity Registry
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// An answer from the agent registries.
#[derive(IntoResponses)]
pub enum AgentRegistry {
    /// The registry could not be read, or none is configured
    #[response(status = 502)]
    Down(DetailBody),
}

/// An answer from the index of agents.
#[derive(IntoResponses)]
pub enum AgentIndex {
    /// The search failed, or no registry is configured
    #[response(status = 502)]
    Failed(DetailBody),
    /// The index is being built for the first time
    #[response(status = 503)]
    Unready(DetailBody),
}

/// A call that can be paid for by x402, where the server takes that.
#[derive(IntoResponses)]
pub enum Payable {
    /// No key and no payment, or a payment that was not taken: why, and the terms
    #[response(status = 402, headers(
        ("PAYMENT-REQUIRED" = String, description = "The terms for x402, version 2"),
        ("X-PAYMENT-RESPONSE" = Option<String>, description = "What became of a payment by version 1 that was tried"),
        ("PAYMENT-RESPONSE" = Option<String>, description = "What became of a payment by version 2 that was tried"),
    ))]
    Required(PaymentRequiredBody),
    /// The payment is being settled: present the same one again, and sign no other
    #[response(status = 503)]
    Pending(DetailBody),
}

/// A submission of reputation.
#[derive(IntoResponses)]
pub enum Submission {
    /// The address is missing or invalid, or the Idempotency-Key or the payment is
    #[response(status = 400)]
    Invalid(DetailBody),
    /// The agent does not exist in the Identity Registry
    #[response(status = 404)]
    NoAgent(DetailBody),
    /// The Identity Registry could not be read, a payment could not be checked, or reputation is not configured on this
    /// server
    #[response(status = 502)]
    Down(DetailBody),
}

/// A path with a submission in it.
#[derive(IntoResponses)]
pub enum OfSubmission {
    /// Submission not found, or not for this agent; or the document has not been written yet
    #[response(status = 404)]
    Unknown(DetailBody),
    /// Reputation is not configured on this server
    #[response(status = 502)]
    NotConfigured(DetailBody),
}
