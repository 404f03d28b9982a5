//! The errors of admission and of minting a key.

use assay_domain::Scope;
use assay_store::StoreError;

/// Why a call is not admitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    #[error("Invalid or missing API key")]
    MissingOrInvalid,
    #[error("This API key does not have the scope {}", joined(needed))]
    Scope { needed: &'static [Scope] },
    #[error("This call costs {cost} units and this API key has {} of {limit} left", limit.saturating_sub(*used))]
    UnitsExhausted { cost: u64, used: u64, limit: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a key was not minted.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    #[error("the name {name:?} is not 1 to {max} characters: letters, digits, '-', '_' or '.'")]
    Name { name: String, max: usize },
    #[error("another key is named {name}; choose another name, or revoke that key first")]
    NameTaken { name: String },
    #[error("no scope given; name at least one of read, submit, admin")]
    NoScope,
    #[error("the system's random number generator failed: {0}")]
    Random(#[from] getrandom::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn joined(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" or ")
}
