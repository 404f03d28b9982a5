//! Error responses in groups, so that a route names groups and does not repeat each status.

use utoipa::IntoResponses;

use crate::{DetailBody, ErrorBody, QuotaBody, ValidationBody};

/// Paths that take a key.
#[derive(IntoResponses)]
pub enum Keyed {
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

/// Paths that cost units.
#[derive(IntoResponses)]
pub enum Units {
    /// The units of the key are used up, or its rate limit is reached
    #[response(status = 429)]
    UsedUp(QuotaBody),
}

/// A path with an address in it.
#[derive(IntoResponses)]
pub enum BadAddress {
    /// Invalid Ethereum address format
    #[response(status = 400)]
    Invalid(DetailBody),
}

/// Responses that the client may already have.
#[derive(IntoResponses)]
pub enum Unchanged {
    /// The client already has this response, according to its `If-None-Match`
    #[response(status = 304)]
    Unchanged,
}

/// A list of addresses.
#[derive(IntoResponses)]
pub enum NoValidAddress {
    /// No valid address, or more addresses than the limit
    #[response(status = 400)]
    Invalid(ErrorBody),
}

/// The 422 response to an invalid parameter or body.
#[derive(IntoResponses)]
pub enum Validated {
    /// The request does not have the documented form; the body names each error and its location
    #[response(status = 422)]
    Invalid(ValidationBody),
}

/// A request body with a small size limit.
#[derive(IntoResponses)]
pub enum Bodied {
    /// The body did not arrive in time
    #[response(status = 408)]
    TooSlow(DetailBody),
    /// The body is larger than the limit
    #[response(status = 413)]
    TooLarge(DetailBody),
}

/// A page of a list.
#[derive(IntoResponses)]
pub enum Paged {
    /// Page or limit out of range
    #[response(status = 400)]
    OutOfRange(DetailBody),
}
