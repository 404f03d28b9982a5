//! Sets the readers of one chain up, without a request.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{clock::ChainClock, discover::Discovery};
use crate::{
    activity::{ActivityReader, Goal, Histories, ListingSource, NodeLogs, SearchMethod},
    config::{self, ChainConfig, Reading, Spare},
    explorer::{ExplorerLogs, Explorers},
    holdings::Finder,
    prices::ExternalPrices,
};
use assay_evm::{client::Client, endpoint::Http};
use assay_index::follow::{Budget, FollowState, Indexer, LazyIndex};
use assay_lending::{Jobs, Market, Reader, Recent, TermsCache, WholeRange};
use assay_store::Store;
use assay_tasks::Tracker;

/// What every chain is set up with.
pub(crate) struct ChainSetup<'a> {
    pub http: &'a Http,
    pub explorers: &'a Explorers,
    pub reading: &'a Reading,
    pub external: &'a Arc<ExternalPrices>,
    pub clock: &'a Arc<ChainClock>,
    /// The index of all chains.
    pub index: Arc<LazyIndex>,
    pub store: &'a Store,
    pub tasks: &'a Tracker,
    pub stop: &'a CancellationToken,
    /// Whether the chains are read at their heads. If not, an index does not follow them.
    pub follows: bool,
}

impl ChainSetup<'_> {
    /// The explorer of a chain that has one, else the logs of its node if they are configured as a source.
    pub(super) fn discovery(&self, config: &ChainConfig, client: &Client) -> Option<Discovery> {
        let source = match (self.explorers.of(config), self.reading.discovery) {
            (Some(explorer), _) => ListingSource::Explorer(explorer),
            (None, config::Discovery::Logs) => ListingSource::Logs(NodeLogs::new(client.clone(), self.reading)),
            (None, config::Discovery::Explorer) => return None,
        };
        let (store, tasks, stop) = (self.store.clone(), self.tasks.clone(), self.stop.clone());
        let histories = Histories::new(config.id, source, store.clone(), config.finality, tasks, stop);
        Some(Discovery { histories, finder: Finder::new(client.clone(), store, config) })
    }

    pub(super) fn activity(&self, config: &ChainConfig, client: &Client) -> ActivityReader {
        let (store, tasks, stop) = (self.store.clone(), self.tasks.clone(), self.stop.clone());
        // Reads of the past are of many wallets, and nobody waits for them.
        let spare = if self.follows { self.reading.spare } else { Spare::Calls };
        let method = SearchMethod { finality: config.finality, spare, genesis_accounts: config.genesis_accounts };
        ActivityReader::new(config.id, client.clone(), store, method, tasks, stop)
    }

    /// How exactly a score needs first and last transactions.
    pub(super) fn goal(&self) -> Goal {
        if self.follows && self.reading.spare != Spare::Rounds { Goal::Day } else { Goal::Block }
    }

    /// The chain's explorer, if one is configured: the source of a wallet's first history.
    fn whole(&self, config: &ChainConfig, client: &Client) -> Option<Arc<dyn WholeRange>> {
        let markets = config.markets.iter().map(|market| market.address).collect();
        let explorer = self.explorers.of(config)?;
        Some(Arc::new(ExplorerLogs::new(explorer, client.clone(), markets)))
    }

    /// The reader of lending histories, and the reader of the index where they begin, which works on a task.
    pub(super) fn lending(&self, config: &ChainConfig, client: &Client, state: &Arc<FollowState>) -> Jobs {
        let reader = Reader {
            chain: config.id,
            client: client.clone(),
            markets: config.markets.iter().cloned().map(Market::new).collect(),
            terms: Arc::new(if self.follows { TermsCache::default() } else { TermsCache::of_the_past() }),
            store: self.store.clone(),
            tasks: self.tasks.clone(),
            logs: self.reading.logs(),
            finality: config.finality,
            index: Some(state.clone()),
            whole: self.whole(config, client),
            recent: Recent::default(),
        };
        let indexer = Indexer {
            chain: config.id,
            client: client.behind(),
            markets: reader.markets.clone(),
            terms: reader.terms.clone(),
            finality: config.finality,
            logs: self.reading.logs(),
            mode: self.reading.index,
            follows: self.follows,
            budget: Budget::new(self.reading.index_per_second),
            is_scoped: Default::default(),
            folder: self.index.clone(),
            state: state.clone(),
        };
        self.tasks.keep("index", self.stop, Arc::new(indexer), |indexer, stop| async move {
            stop.run_until_cancelled(indexer.run()).await;
        });
        Jobs::new(reader, self.tasks.clone(), self.stop.clone())
    }
}
