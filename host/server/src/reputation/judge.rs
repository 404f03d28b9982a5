//! The seam to whoever scores: this module and `scoring` are siblings and do not know each other.

use crate::reputation::records::ScoresRecord;
use futures::future::BoxFuture;

use assay_domain::Address;

/// Says what the pinned models make of an address.
pub trait Judge: Send + Sync + 'static {
    /// # Errors
    /// [`Unjudged`].
    fn judge(&self, address: Address) -> BoxFuture<'_, Result<ScoresRecord, Unjudged>>;
}

/// Why there are no scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unjudged {
    /// There may be some later.
    NotYet(String),
    Never(String),
}
