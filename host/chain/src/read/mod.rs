//! One chain's part of a snapshot. A read loads what earlier reads stored while it asks for the head, and begins the
//! search for the first transaction of a new wallet; [`plan`] lists the questions that the histories share; [`rounds`] asks everything in the state after the head; [`assemble`] makes
//! the snapshot from the answers.

mod ahead;
mod assemble;
mod batch;
mod discover;
mod health;
mod plan;
mod rounds;
mod unread;

use std::sync::Arc;

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    activity::{self, ActivityReader, Histories, NodeLogs, Sent, Source, records::ActivityProgress},
    config::{self, ChainConfig, Reading},
    explorer::{ExplorerLogs, Explorers},
    holdings::Finder,
    prices::{External, PriceReader},
};
use ahead::Ahead;
use assay_domain::{Address, ChainId, ChainSnapshot};
use assay_evm::{
    client::{Block, Client},
    endpoint::Http,
    fault::Fault,
};
use assay_lending::{Jobs, Market, Reader, Recent, Rest, TermsCache, WholeRange};
use assay_store::Store;
use assemble::Parts;
pub(crate) use batch::Batch;
use batch::Part;
use discover::Discovery;
use health::Health;
pub use health::{ChainStatus, NO_OLD_STATE, old_state};

/// Reads of a chain's state at one time. Reads that run together share the endpoints' capacity, so that with a thousand
/// of them none would end before all do; further ones wait.
const MAX_READS: usize = 32;

/// One configured chain.
pub(super) struct Chain {
    config: ChainConfig,
    client: Client,
    terms: Arc<TermsCache>,
    prices: PriceReader,
    activity: ActivityReader,
    discovery: Option<Discovery>,
    lending: Jobs,
    health: Health,
    ahead: Ahead,
    permits: Arc<Semaphore>,
}

/// What every chain is set up with.
pub(super) struct Setup<'a> {
    pub http: &'a Http,
    pub explorers: &'a Explorers,
    pub reading: &'a Reading,
    pub external: &'a Arc<External>,
    pub store: &'a Store,
    pub tasks: &'a TaskTracker,
    pub stop: &'a CancellationToken,
}

type Start = (Option<OwnedSemaphorePermit>, Result<Block, Fault>, Stored);

/// What earlier reads of a wallet stored.
struct Stored {
    lending: assay_lending::Stored,
    /// The search for the first and the last transaction.
    sent: Sent,
    /// What the source has listed and settled.
    listed: ActivityProgress,
}

impl Setup<'_> {
    /// The explorer of a chain that has one, else the logs of its node where they are configured as a source.
    fn discovery(&self, config: &ChainConfig, client: &Client) -> Option<Discovery> {
        let source = match (self.explorers.of(config), self.reading.discovery) {
            (Some(explorer), _) => Source::Explorer(explorer),
            (None, config::Discovery::Logs) => Source::Logs(NodeLogs::new(client.clone(), self.reading)),
            (None, config::Discovery::Explorer) => return None,
        };
        let (store, tasks, stop) = (self.store.clone(), self.tasks.clone(), self.stop.clone());
        let histories = Histories::new(config.id, source, store.clone(), config.finality, tasks, stop);
        Some(Discovery { histories, finder: Finder::new(client.clone(), store, config) })
    }

    fn activity(&self, config: &ChainConfig, client: &Client) -> ActivityReader {
        let (store, tasks, stop) = (self.store.clone(), self.tasks.clone(), self.stop.clone());
        ActivityReader::new(config.id, client.clone(), store, config.finality, tasks, stop)
    }

    /// The explorer of a chain that has one, as a source of first histories.
    fn whole(&self, config: &ChainConfig, client: &Client) -> Option<Arc<dyn WholeRange>> {
        let markets = config.markets.iter().map(|market| market.address).collect();
        let explorer = self.explorers.of(config)?;
        Some(Arc::new(ExplorerLogs::new(explorer, client.clone(), markets)))
    }

    fn lending(&self, config: &ChainConfig, client: &Client) -> Jobs {
        let markets = config.markets.iter().cloned().map(Market::new);
        let reader = Reader {
            chain: config.id,
            client: client.clone(),
            markets: markets.collect(),
            store: self.store.clone(),
            tasks: self.tasks.clone(),
            logs: self.reading.logs(),
            finality: config.finality,
            whole: self.whole(config, client),
            recent: Recent::default(),
        };
        Jobs::new(reader, self.tasks.clone(), self.stop.clone())
    }
}

impl Chain {
    pub(super) fn new(config: &ChainConfig, setup: &Setup<'_>) -> Self {
        let client = Client::new(setup.http, &config.endpoints(), &setup.reading.rpc);
        Self {
            discovery: setup.discovery(config, &client),
            terms: Arc::default(),
            prices: PriceReader::new(config, setup.external),
            activity: setup.activity(config, &client),
            lending: setup.lending(config, &client),
            health: Health::default(),
            ahead: Ahead::default(),
            permits: Arc::new(Semaphore::new(MAX_READS)),
            config: config.clone(),
            client,
        }
    }

    pub(super) fn id(&self) -> ChainId {
        self.config.id
    }

    /// Blocks after which one is final.
    pub(super) fn finality(&self) -> u64 {
        self.config.finality
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// A place among the reads of state at one time; `None` where the server stops.
    pub(super) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        self.permits.clone().acquire_owned().await.ok()
    }

    /// Reads `wallet`, alone or with the others of `batch`. What is not read by `deadline` is marked in the coverage;
    /// the rest is reading that goes on after it. `head_sender` gets the block that the snapshot is of.
    pub(super) async fn read(
        &self,
        wallet: Address,
        deadline: Instant,
        head_sender: oneshot::Sender<Block>,
        batch: Option<&Part>,
    ) -> (ChainSnapshot, Option<Rest>) {
        let (permit, head, stored) = match timeout_at(deadline, self.start(wallet, batch)).await {
            Ok((permit, Ok(head), stored)) => (permit, head, stored),
            Ok((_, Err(_), _)) => return (self.failed(), None),
            Err(_) if self.health.is_up() => return (assemble::pending(&self.config), None),
            Err(_) => return (self.failed(), None),
        };
        // The receiver may be gone.
        let _ = head_sender.send(head);
        let blank = self.lending.blank(&stored.lending);
        let (answered, rest) = self.ask(wallet, stored, &blank, head, deadline, permit).await;
        let (account, quotes) = match answered.state {
            Ok(Ok(state)) => state,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.config.id, %fault, "balances and positions cannot be read");
                return (assemble::without_state(&self.config, answered.pools, true), rest);
            }
            Err(_) => return (assemble::without_state(&self.config, answered.pools, false), rest),
        };
        let (pools, sums, discovered) = (answered.pools, answered.sums, answered.discovered);
        let listed = discovered.as_ref().map(|discovered| &discovered.listed);
        let (activity, activity_unread) = activity::combined(answered.activity, listed);
        let parts = Parts { account, quotes, activity, activity_unread, pools, sums, discovered };
        let (snapshot, doubted) = assemble::snapshot(&self.config, self.markets(), head, parts);
        self.lending.doubt(wallet, &doubted, &blank).await;
        (snapshot, rest)
    }

    /// The place of a read that is alone, the block to read at, and what is stored.
    async fn start(&self, wallet: Address, batch: Option<&Part>) -> Start {
        let Some(batch) = batch else {
            let permit = self.permit().await;
            let head = async {
                match self.ahead.take() {
                    Some(head) => Ok(head),
                    None => self.head().await,
                }
            };
            let (head, stored) = tokio::join!(head, self.stored(wallet));
            return (permit, head, stored);
        };
        let (head, stored) = tokio::join!(batch.head(self), self.stored(wallet));
        (None, head, stored)
    }

    async fn stored(&self, wallet: Address) -> Stored {
        let listed = async {
            match &self.discovery {
                Some(discovery) => discovery.histories.stored(wallet).await,
                None => ActivityProgress::default(),
            }
        };
        // An explorer's list may make the search needless.
        let top = self.health.head().filter(|_| !self.has_list());
        let (lending, sent, listed) =
            tokio::join!(self.lending.stored(wallet), self.activity.stored(wallet, top), listed);
        Stored { lending, sent, listed }
    }

    /// Asks for the head, and looks up the markets' terms where that is due, so that reads need not.
    pub(super) async fn refresh(&self) {
        if let Ok(head) = self.watch().await
            && let Err(fault) = self.terms.refresh(&self.client, self.markets(), head.hash).await
        {
            tracing::warn!(chain = self.config.id, %fault, "lending markets cannot be looked up");
        }
    }

    /// Asks for the head and, until that is known, whether the endpoint keeps old state.
    pub(super) async fn watch(&self) -> Result<Block, Fault> {
        let head = self.head().await?;
        if !self.has_list() {
            self.health.look_for_old_state(&self.config, &self.client).await;
        }
        Ok(head)
    }

    /// Asks for the head for a read that begins within a moment.
    pub(super) async fn ask_ahead(&self) {
        if let Ok(head) = self.head().await {
            self.ahead.put(head);
        }
    }

    /// The newest block. The answer is recorded in the status.
    pub(super) async fn head(&self) -> Result<Block, Fault> {
        let head = self.client.head().await;
        self.health.record(self.config.id, &self.client, &head);
        head
    }

    pub(super) fn status(&self) -> ChainStatus {
        self.health.status(self.config.id, self.config.name.clone(), self.client.endpoint())
    }

    /// The snapshot of a chain that could not be read.
    pub(super) fn failed(&self) -> ChainSnapshot {
        assemble::failed(&self.config)
    }

    fn markets(&self) -> &[Market] {
        &self.lending.reader().markets
    }
}
