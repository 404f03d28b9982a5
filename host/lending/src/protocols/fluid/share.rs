//! The tokens of deposits.

use assay_domain::Address;

/// A token that is a share of the deposits of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShareToken {
    pub token: Address,
    /// The deposited token.
    pub asset: Address,
}
