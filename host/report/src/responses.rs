//! Error responses of reports, in groups that the rows name.

use utoipa::IntoResponses;

use assay_http::{DetailBody, DetailOrError};
pub use assay_score::responses::*;

/// A path with an address and a chain in it.
#[derive(IntoResponses)]
pub enum AddressAndChain {
    /// Invalid Ethereum address format, or invalid chain id
    #[response(status = 400)]
    Invalid(DetailBody),
}

/// A path with an address and a chain, if an invalid chain has an error of another form.
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
