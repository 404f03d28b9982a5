//! The interface to scoring: this module and `scoring` are siblings and do not import each other.

use futures::future::BoxFuture;

use super::records::ScoresRecord;
use assay_domain::Address;

/// Scores an address with the pinned models.
pub trait Appraiser: Send + Sync + 'static {
    /// # Errors
    /// [`NoAppraisal`].
    fn appraise(&self, address: Address) -> BoxFuture<'_, Result<ScoresRecord, NoAppraisal>>;
}

/// Why there are no scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAppraisal {
    /// A later attempt may succeed.
    NotYet(String),
    /// Parts of the address were not read, so that scores would be wrong; which ones. A later attempt may read them.
    Unread(String),
    Never(String),
}
