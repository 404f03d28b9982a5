//! A market that did not exist yet at a moment in the past: nobody had a position or an event there.

use alloy::primitives::Bytes;

use crate::{
    figures::balance::Balance,
    protocols::{Held, LendingTerms},
};

/// The terms of a market without code.
#[derive(Debug)]
pub(crate) struct Absent;

impl LendingTerms for Absent {
    fn held(&self, _: &[Option<Bytes>], _: Option<f64>) -> Option<Held> {
        Some(Held::default())
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        Some(Vec::new())
    }

    fn is_absent(&self) -> bool {
        true
    }
}
