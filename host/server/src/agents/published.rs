//! The index that requests see: replaced as a whole, so that none waits for a refresh or sees half of one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;

use super::{book::Book, index::Index};
use assay_domain::{AgentMetadata, B256};

/// Absent until the first build has ended.
#[derive(Default)]
pub(super) struct Published {
    now: ArcSwapOption<Shown>,
    /// Reasons that were told in the metrics, to be set to 0 when there are none of them any more.
    reasons: Mutex<BTreeSet<String>>,
}

pub(super) struct Shown {
    pub index: Index,
    /// The digest of each agent's URI, by ascending id.
    uris: Vec<(u64, B256)>,
}

impl Published {
    pub(super) fn get(&self) -> Option<Arc<Shown>> {
        self.now.load_full()
    }

    pub(super) fn set(&self, book: &Book) {
        let shown = Shown { index: Index::new(book.agents()), uris: book.uris() };
        metrics::gauge!("assay_agents_indexed").set(shown.index.len() as f64);
        let skipped = book.skipped();
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.extend(skipped.keys().map(|why| (*why).to_owned()));
        for why in reasons.iter() {
            let count = skipped.get(why.as_str()).copied().unwrap_or_default();
            metrics::gauge!("assay_agents_without_metadata", "reason" => why.clone()).set(count as f64);
        }
        self.now.store(Some(Arc::new(shown)));
    }
}

impl Shown {
    /// The metadata of an agent, where it is known for this very URI.
    pub(super) fn metadata(&self, id: u64, uri: B256) -> Option<AgentMetadata> {
        let at = self.uris.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.uris.get(at).filter(|(_, known)| *known == uri)?;
        self.index.get(id)?.metadata.clone()
    }
}
