//! The field `unread` of reports: what was not read, in words.

use assay_domain::{ChainId, Unread};

/// One sentence for each part that was not read, or not completely.
pub fn sentences(unread: impl IntoIterator<Item = (ChainId, Unread)>) -> Vec<String> {
    unread.into_iter().map(|(chain, unread)| unread.on(chain)).collect()
}
