//! Why a transaction cannot be signed, sent or followed now.

use assay_domain::Address;
use assay_evm::fault::Fault;

/// Why a request to the chain failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SenderError {
    #[error("the chain of the registries: {0}")]
    Chain(String),
    #[error("a transaction could not be signed: {0}")]
    Unsigned(String),
    #[error("gas costs more than reputation.max_fee_gwei")]
    Dear,
    #[error("{0} transactions are in progress, the limit of reputation.max_transactions; waiting")]
    Full(usize),
    #[error("the account {0} of this service cannot pay for gas; send ether to it")]
    NoFunds(Address),
}

impl From<Fault> for SenderError {
    fn from(fault: Fault) -> Self {
        Self::Chain(fault.to_string())
    }
}
