//! The index that requests read. It is replaced as a whole, so no request waits for a refresh.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwapOption;

use super::{index::AgentIndex, registered::Registered};
use assay_domain::{AgentMetadata, B256};

/// The published index, absent until the first build ends.
#[derive(Default)]
pub(super) struct Published {
    now: ArcSwapOption<IndexSnapshot>,
    /// Reasons already reported in the metrics. Each is set to 0 when no agent has that reason any more.
    reasons: Mutex<BTreeSet<String>>,
}

pub(super) struct IndexSnapshot {
    pub index: AgentIndex,
    /// The digest of each agent's URI, by ascending id.
    uris: Vec<(u64, B256)>,
}

impl Published {
    pub(super) fn get(&self) -> Option<Arc<IndexSnapshot>> {
        self.now.load_full()
    }

    pub(super) fn set(&self, agents: &Registered) {
        let snapshot = IndexSnapshot { index: AgentIndex::new(agents.agents()), uris: agents.uris() };
        metrics::gauge!("assay_agents_indexed").set(snapshot.index.len() as f64);
        let skipped = agents.skipped();
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.extend(skipped.keys().map(|why| (*why).to_owned()));
        for why in reasons.iter() {
            let count = skipped.get(why.as_str()).copied().unwrap_or_default();
            metrics::gauge!("assay_agents_without_metadata", "reason" => why.clone()).set(count as f64);
        }
        self.now.store(Some(Arc::new(snapshot)));
    }
}

impl IndexSnapshot {
    /// The metadata of an agent, if it was read from exactly this URI.
    pub(super) fn metadata(&self, id: u64, uri: B256) -> Option<AgentMetadata> {
        let at = self.uris.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.uris.get(at).filter(|(_, known)| *known == uri)?;
        self.index.get(id)?.metadata.clone()
    }
}
