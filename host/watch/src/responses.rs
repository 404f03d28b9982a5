//! Error responses of watches, in groups that the rows name.

use utoipa::IntoResponses;

pub use assay_http::responses::*;
use assay_http::{DetailBody, DetailOrViolations};

/// A path with a watch in it.
#[derive(IntoResponses)]
pub enum OneWatch {
    /// The key has no such watch
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// A request that names a group.
#[derive(IntoResponses)]
pub enum OneGroup {
    /// The key has no such group
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// A new group.
#[derive(IntoResponses)]
pub enum NewGroup {
    /// The `Idempotency-Key` is invalid
    #[response(status = 400)]
    Invalid(DetailBody),
    /// The request does not have the documented form, or the `Idempotency-Key` was used for another request
    #[response(status = 422)]
    Refused(DetailOrViolations),
    /// The key or the server has as many watches as it may have, or the server is a sandbox; `code` says which
    #[response(status = 409)]
    Full(DetailBody),
}

/// The chains of wallets that are to be watched.
#[derive(IntoResponses)]
pub enum NoChain {
    /// The server reads no chains
    #[response(status = 502)]
    None(DetailBody),
}

/// A change of a watch.
#[derive(IntoResponses)]
pub enum Changed {
    /// The watch has ended, is in a group, has no `url`, was tested too often or was changed at once; `code` says which
    #[response(status = 409)]
    Refused(DetailBody),
}

/// A new watch.
#[derive(IntoResponses)]
pub enum NewWatch {
    /// The address, the `Idempotency-Key` or the payment is invalid
    #[response(status = 400)]
    Invalid(DetailBody),
    /// The request does not have the documented form, or the `Idempotency-Key` was used for another request
    #[response(status = 422)]
    Refused(DetailOrViolations),
    /// The name does not resolve
    #[response(status = 404)]
    Unknown(DetailBody),
    /// The key or the server has as many watches as it may have, or the server is a sandbox; `code` says which
    #[response(status = 409)]
    Full(DetailBody),
    /// The server reads no chains, or the name could not be read
    #[response(status = 502)]
    NoChain(DetailBody),
}

/// The clock of a sandbox.
#[derive(IntoResponses)]
pub enum Clock {
    /// The server is no sandbox, or the clock would go back while the key has watches; `code` says which
    #[response(status = 409)]
    Refused(DetailBody),
    /// The watches are not evaluated yet (`busy`), or the server cannot answer now
    #[response(status = 503)]
    Busy(DetailBody),
}

/// A stream of events.
#[derive(IntoResponses)]
pub enum Followed {
    /// Too many clients follow events (`busy`), or the server cannot answer now
    #[response(status = 503)]
    Busy(DetailBody),
}
