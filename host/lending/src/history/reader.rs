//! State shared by every read of lending history on one chain: the client, the markets, and earlier records; and the
//! blocks by which records are checked.

use std::sync::Arc;

use moka::future::Cache;

use crate::{
    figures::indexed::Index,
    history::{named::WholeRange, settled::SettledHistory},
    limits,
    market::Market,
    position::terms_cache::TermsCache,
};
use assay_domain::{Address, B256, ChainId};
use assay_evm::{Block, Client, client::Anchors, config::LogLimits};
use assay_store::Store;
use assay_tasks::Tracker;

/// The dependencies of a read, shared by all reads of a chain.
pub struct Reader {
    pub chain: ChainId,
    pub client: Client,
    pub markets: Arc<[Market]>,
    pub terms: Arc<TermsCache>,
    pub store: Store,
    /// Tasks that write. They must end before the store is closed.
    pub tasks: Tracker,
    pub logs: LogLimits,
    pub finality: u64,
    /// An index in which histories can begin.
    pub index: Option<Arc<dyn Index>>,
    /// A source of first histories, for endpoints that answer only for short ranges.
    pub whole: Option<Arc<dyn WholeRange>>,
    /// The newest records, even before they are on disk.
    pub recent: Recent,
}

/// Records by wallet, one entry per market.
pub struct Recent(pub(crate) Cache<Address, Arc<[Option<SettledHistory>]>>);

impl Default for Recent {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(limits::CACHED_RECORDS).build())
    }
}

impl Reader {
    /// The blocks by which `records` and an index that ends at block `indexed` are checked at `head`, and the block
    /// through which history is then settled.
    pub(crate) fn anchors(
        &self,
        records: &[Option<SettledHistory>],
        indexed: Option<(u64, B256)>,
        head: Block,
    ) -> Anchors {
        let known = records.iter().flatten().map(|record| (record.through, record.hash)).chain(indexed);
        let mut anchors = Anchors::default();
        for (number, hash) in known.filter(|(number, _)| *number <= head.number) {
            anchors.add(number, Some(hash));
        }
        if let Some(settles) = self.settles(records, head) {
            anchors.add(settles, None);
        }
        anchors
    }

    /// The block through which a read settles history. `None` while the chain is shorter than its finality, or if all
    /// records end less than another finality before that block: a tail of twice the length costs nothing more, but a
    /// new record costs a block and a write.
    pub(crate) fn settles(&self, records: &[Option<SettledHistory>], head: Block) -> Option<u64> {
        let deepest = head.number.checked_sub(self.finality)?;
        let due = |record: &Option<SettledHistory>| {
            record.as_ref().is_none_or(|record| record.through.saturating_add(self.finality) <= deepest)
        };
        records.iter().any(due).then_some(deepest)
    }
}
