//! Snapshots of addresses over all chains. A snapshot is cached for a while, concurrent requests for an address share
//! one read, and a read ends at its deadline.

mod late;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::{join_all, try_join_all};
use moka::future::Cache;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    config::{self, ChainConfig, Prices, Reading},
    explorer::Explorers,
    identity::{IdentityReader, KnownHeads},
    lifetime::ByCompleteness,
    limits,
    names::{NameError, NameResolvers},
    pauses,
    prices::ExternalPrices,
    read::{Chain, ChainClock, ChainOverview, ChainSetup, ChainStatus, MomentError, WalletBatch},
};
use assay_domain::{
    Address, ChainId, ExposureClass, Lifetimes, Name, Origins, Snapshot, Source, SourcedPart, Time, time_from_unix,
};
use assay_evm::{
    Span,
    client::{Block, Client},
    config::Outbound,
    endpoint,
    guarded::Guarded,
    single_flight::{SingleFlight, Work},
};
use assay_index::{
    Index,
    follow::{IndexState, LazyIndex},
};
use assay_lending::{LiquidationLog, Rest};
use assay_store::Store;
use assay_tasks::Tracker;
use assay_trace::TRACE;
use late::{Late, Patience};

/// All configured chains. Cheap to clone.
#[derive(Clone)]
pub struct Chains {
    inner: Arc<ChainsInner>,
    /// The wallets read through this value are one batch.
    batch: Option<WalletBatch>,
}

struct ChainsInner {
    chains: Vec<Arc<Chain>>,
    names: NameResolvers,
    identity: IdentityReader,
    budget: Duration,
    cache: Cache<Address, Arc<Snapshot>>,
    /// Cached snapshots that dated a transaction only to its day, completed with its block.
    exact: Cache<Address, Arc<Snapshot>>,
    reads: SingleFlight<Address, Arc<Snapshot>, Patience>,
    late: Late,
    /// The moment before which the chains are read, in Unix seconds.
    past: Option<u64>,
    index: Arc<LazyIndex>,
    clock: Arc<ChainClock>,
    tasks: Tracker,
    stop: CancellationToken,
}

/// A snapshot, and whether it was read for an earlier request.
#[derive(Debug, Clone)]
pub struct Read {
    pub snapshot: Arc<Snapshot>,
    pub cached: bool,
}

/// The block at which a chain is read as it was in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastBlock {
    pub chain: ChainId,
    pub block: Block,
}

/// The sections of the configuration by which chains are read.
#[derive(Debug, Clone)]
pub struct Settings {
    pub chains: Vec<ChainConfig>,
    pub reading: Reading,
    pub prices: Prices,
    pub snapshots: config::Snapshots,
    pub names: config::Names,
    pub identity: config::Identity,
    /// The limits of requests to gateways that names and documents of third parties give.
    pub outbound: Outbound,
}

impl Chains {
    /// Sets up the chains without a request, so it cannot fail. Tasks on `tasks` ask each chain for its head until
    /// `stop`.
    pub fn connect(settings: &Settings, store: &Store, tasks: &Tracker, stop: &CancellationToken) -> Self {
        let Settings { reading, snapshots, .. } = settings;
        let mut configs: Vec<_> = settings.chains.iter().collect();
        configs.sort_by_key(|chain| chain.id);
        let http = endpoint::http();
        let setup = ChainSetup {
            http: &http,
            explorers: &Explorers::new(&http, &reading.explorer),
            reading,
            external: &Arc::new(ExternalPrices::new(&http, &settings.prices, &configs)),
            clock: &Arc::default(),
            index: Arc::new(LazyIndex::new(reading.index_path.clone())),
            store,
            tasks,
            stop,
            follows: snapshots.past.is_none(),
        };
        let chains: Vec<_> = configs.into_iter().map(|chain| Arc::new(Chain::new(chain, &setup))).collect();
        let follows = setup.follows;
        for chain in &chains {
            tasks.keep("chain", stop, chain.clone(), move |chain, stop| watch(chain, stop, follows));
        }
        let names = NameResolvers::new(&settings.names, &Guarded::new(&settings.outbound), |id| client(&chains, id));
        let clients = chains.iter().map(|chain| (chain.id(), chain.client().clone()));
        let inner = ChainsInner {
            identity: IdentityReader::new(&settings.identity, &names, clients),
            names,
            budget: snapshots.budget,
            cache: cache(snapshots),
            exact: cache(snapshots),
            reads: SingleFlight::default(),
            late: Late::default(),
            past: snapshots.past,
            clock: setup.clock.clone(),
            index: setup.index,
            tasks: tasks.clone(),
            stop: stop.clone(),
            chains,
        };
        Self { inner: Arc::new(inner), batch: None }
    }

    /// Finds the last block of each chain before the moment [`past`](config::Snapshots::past). Every later read is at
    /// that block. The caller reads no wallet before this call.
    ///
    /// # Errors
    /// [`MomentError`] of the first chain that cannot be read at that moment.
    pub async fn go_back(&self) -> Result<Vec<PastBlock>, MomentError> {
        let Some(moment) = self.inner.past else { return Ok(Vec::new()) };
        let found = self.inner.chains.iter().map(|chain| async move {
            let block = chain.go_back(moment).await?;
            Ok(PastBlock { chain: chain.id(), block })
        });
        try_join_all(found).await
    }

    /// Pins each chain to its block in `origins`. Call this before any wallet is read.
    ///
    /// # Errors
    /// [`MomentError`] of the first chain that does not have its block, or cannot be read.
    pub async fn go_to(&self, origins: &Origins) -> Result<(), MomentError> {
        let block = |chain: ChainId, part: SourcedPart| {
            let of_part = |source: &&Source| source.chain_id == chain && source.part == part;
            let number = origins.sources.iter().filter(of_part).find_map(|source| source.block)?;
            origins.blocks.iter().find(|block| (block.chain_id, block.number) == (chain, number)).copied()
        };
        let found = self.inner.chains.iter().map(|chain| async move {
            let id = chain.id();
            let read = block(id, SourcedPart::Activity).ok_or(MomentError::Unnamed { chain: id })?;
            chain.go_to(read, block(id, SourcedPart::Prices).unwrap_or(read)).await
        });
        try_join_all(found).await.map(drop)
    }

    /// The index of markets, if its folder can be opened.
    pub async fn indexed(&self) -> Option<Index> {
        if self.inner.index.exists() { self.inner.index.index().await } else { None }
    }

    /// The same chains for one batch of wallets, which are read at one block of each chain and share requests.
    #[must_use]
    pub fn together(&self) -> Self {
        Self { inner: self.inner.clone(), batch: Some(WalletBatch::new(&self.inner.chains)) }
    }

    /// The snapshot of `wallet` on all chains: from the cache, or read within the budget. Concurrent callers share the
    /// read. It never fails: a chain that cannot be read is a failed part of the snapshot (see
    /// [`all_failed`](Snapshot::all_failed)).
    pub async fn snapshot(&self, wallet: Address) -> Read {
        if let Some(snapshot) = self.inner.cache.get(&wallet).await {
            metrics::counter!("assay_snapshots_total", "source" => "cache").increment(1);
            return Read { snapshot, cached: true };
        }
        let read = self.join(wallet);
        metrics::counter!("assay_snapshots_total", "source" => if read.joined { "shared" } else { "read" })
            .increment(1);
        if let Patience::Budget(late) = read.state {
            let outcome = tokio::time::timeout(self.inner.budget, read.outcome).await;
            return Read { cached: outcome.is_err(), snapshot: outcome.unwrap_or(late) };
        }
        Read { snapshot: read.outcome.await, cached: false }
    }

    /// `read` with the blocks of the first and the last transaction. A snapshot may date them only to their day, which
    /// saves calls and is enough for a score; a report shows the blocks. They are searched here. The cached snapshot
    /// stays unchanged, so a score that was already returned does not change.
    pub async fn exactly(&self, read: Read) -> Read {
        if !read.snapshot.is_by_day() {
            return read;
        }
        let known =
            self.inner.exact.get(&read.snapshot.address).await.filter(|exact| exact.as_of == read.snapshot.as_of);
        let snapshot = match known {
            Some(exact) => exact,
            None => self.inner.exact(&read.snapshot).await,
        };
        Read { snapshot, ..read }
    }

    /// Like [`Chains::snapshot`], but without the cache.
    pub async fn current_snapshot(&self, wallet: Address) -> Read {
        self.inner.cache.invalidate(&wallet).await;
        self.snapshot(wallet).await
    }

    /// Resolves a name to its address. Meanwhile each chain's head is requested, at which the address is read next.
    ///
    /// # Errors
    /// [`NameError`] if the name has none, or that is unknown.
    pub async fn resolve(&self, name: &Name) -> Result<Address, NameError> {
        let names = &self.inner.names;
        if self.batch.is_none() && !names.is_cached(name) {
            for chain in self.inner.chains.clone() {
                let stop = self.inner.stop.clone();
                self.inner.tasks.spawn("head", async move { stop.run_until_cancelled(chain.ask_ahead()).await });
            }
        }
        names.resolve(name).await
    }

    /// The client of a chain; `None` if it is not configured.
    pub fn client(&self, id: ChainId) -> Option<Client> {
        client(&self.inner.chains, id)
    }

    /// The liquidations of `wallet` in blocks `from` to `to` of the market at `market` on the chain `id`, in chain
    /// order; `None` if they could not be read. The requests wait until no other request is waiting.
    pub async fn liquidations(
        &self,
        (id, market): (ChainId, Address),
        wallet: Address,
        (from, to): (u64, u64),
    ) -> Option<Vec<LiquidationLog>> {
        let chain = self.inner.chains.iter().find(|chain| chain.id() == id)?;
        let read = chain.lending().liquidations(market, wallet, Span { from, to }).await;
        read.inspect_err(|fault| tracing::debug!(chain = id, %fault, "liquidations were not found")).ok().flatten()
    }

    /// The dollar price of the native currency of a chain, by its feed; `None` if no feed gives one now.
    pub async fn native_price(&self, id: ChainId) -> Option<f64> {
        self.inner.chains.iter().find(|chain| chain.id() == id)?.native_price().await
    }

    /// Whether no chain is configured.
    pub fn is_empty(&self) -> bool {
        self.inner.chains.is_empty()
    }

    /// The last known health of each chain, by ascending id.
    pub fn status(&self) -> Vec<ChainStatus> {
        self.inner.chains.iter().map(|chain| chain.status()).collect()
    }

    /// What is known of each chain, by ascending id.
    pub fn overview(&self) -> Vec<ChainOverview> {
        self.inner.chains.iter().map(|chain| chain.overview(self.inner.names.source(chain.id()))).collect()
    }

    /// What the value of `token` follows on a chain; the native currency for `None`.
    pub fn exposure(&self, id: ChainId, token: Option<Address>) -> ExposureClass {
        let Some(token) = token else { return ExposureClass::Native };
        let chain = self.inner.chains.iter().find(|chain| chain.id() == id);
        chain.map_or(ExposureClass::Other, |chain| chain.exposure(token))
    }

    /// Whether the clock of this machine seems to be wrong, compared with the chains.
    pub fn is_clock_suspected(&self) -> bool {
        self.inner.clock.is_suspected()
    }

    /// How far the index of a chain is; `None` if the chain is not configured.
    pub fn index(&self, id: ChainId) -> Option<watch::Receiver<IndexState>> {
        Some(self.inner.chains.iter().find(|chain| chain.id() == id)?.index())
    }

    /// The running read of `wallet`, or a new one.
    fn join(&self, wallet: Address) -> Work<Arc<Snapshot>, Patience> {
        let inner = &self.inner;
        let read = inner.reads.join(wallet, || {
            // Runs on a task, so a caller that disconnects does not end the read for the others.
            let span = assay_trace::adopt(tracing::info_span!(target: TRACE, parent: None, "read address"));
            let (reader, batch) = (inner.clone(), self.batch.clone());
            let task = inner.tasks.spawn("read", async move { reader.read(wallet, batch).await }.instrument(span));
            let inner = inner.clone();
            let outcome = async move { task.await.unwrap_or_else(|_| Arc::new(inner.failed(wallet))) };
            (outcome, Patience::ToTheEnd)
        });
        if !read.joined {
            // Keeps the read listed while it runs, even without callers.
            let (inner, outcome) = (inner.clone(), read.outcome.clone());
            inner.tasks.clone().spawn("read", async move {
                let snapshot = outcome.await;
                if inner.is_late(&snapshot) {
                    inner.complete(snapshot).await;
                }
            });
        }
        read
    }
}

impl ChainsInner {
    async fn read(&self, wallet: Address, batch: Option<WalletBatch>) -> Arc<Snapshot> {
        // Another read may have ended after this caller checked the cache and before it checked the running reads.
        if let Some(snapshot) = self.cache.get(&wallet).await {
            return snapshot;
        }
        self.read_within(self.budget, wallet, batch).await
    }

    async fn read_within(&self, time: Duration, wallet: Address, batch: Option<WalletBatch>) -> Arc<Snapshot> {
        let started = Instant::now();
        let deadline = tokio::time::Instant::from_std(started) + time;
        let (reads, heads): (Vec<_>, KnownHeads) = self
            .chains
            .iter()
            .map(|chain| {
                let (sender, head) = oneshot::channel();
                let span = tracing::info_span!(target: TRACE, "read chain", assay.chain = chain.id());
                let part = batch.as_ref().and_then(|batch| batch.on(chain.id()));
                (chain.read(wallet, deadline, sender, part).instrument(span), (chain.id(), head))
            })
            .unzip();
        let (parts, (attestations, identity)) =
            tokio::join!(join_all(reads), self.identity.read(wallet, heads, deadline));
        let (chains, rests): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let snapshot = Arc::new(Snapshot { address: wallet, as_of: self.moment(), chains, attestations, identity });
        self.cache.insert(wallet, snapshot.clone()).await;
        let coverage = snapshot.coverage().as_str();
        metrics::histogram!("assay_snapshot_duration_seconds", "coverage" => coverage).record(started.elapsed());
        self.invalidate_after(wallet, rests.into_iter().flatten().collect(), batch);
        snapshot
    }

    /// `snapshot` with the blocks of transactions that it dates only to their day, as far as they are found in time.
    async fn exact(&self, snapshot: &Snapshot) -> Arc<Snapshot> {
        let (wallet, deadline) = (snapshot.address, tokio::time::Instant::now() + self.budget);
        let chains = snapshot.chains.iter().map(|read| async move {
            let chain = self.chains.iter().find(|chain| chain.id() == read.chain_id && read.activity.by_day);
            match chain {
                Some(chain) => chain.exact(wallet, read, deadline).await,
                None => read.clone(),
            }
        });
        let exact = Arc::new(Snapshot { chains: join_all(chains).await, ..snapshot.clone() });
        if !exact.is_by_day() {
            self.exact.insert(wallet, exact.clone()).await;
        }
        exact
    }

    /// Drops the cached snapshot of `wallet` when the background read ends.
    fn invalidate_after(&self, wallet: Address, rests: Vec<Rest>, batch: Option<WalletBatch>) {
        if rests.is_empty() {
            return;
        }
        let (cache, stop, sharing) = (self.cache.clone(), self.stop.clone(), batch.map(|batch| batch.sharing()));
        self.tasks.spawn("late read", async move {
            let _sharing = sharing;
            stop.run_until_cancelled(join_all(rests)).await;
            cache.invalidate(&wallet).await;
        });
    }

    /// The moment of a snapshot that is read now.
    fn moment(&self) -> Time {
        self.past.map_or_else(chrono::Utc::now, time_from_unix)
    }

    /// The snapshot of a read that failed as a whole.
    fn failed(&self, wallet: Address) -> Snapshot {
        let chains = self.chains.iter().map(|chain| chain.failed()).collect();
        Snapshot { address: wallet, as_of: self.moment(), chains, attestations: Vec::new(), identity: Vec::new() }
    }
}

fn client(chains: &[Arc<Chain>], id: ChainId) -> Option<Client> {
    Some(chains.iter().find(|chain| chain.id() == id)?.client().clone())
}

fn cache(keeping: &config::Snapshots) -> Cache<Address, Arc<Snapshot>> {
    let expiry = ByCompleteness {
        lifetimes: Lifetimes { complete: keeping.complete, incomplete: keeping.incomplete },
        is_complete: |snapshot: &Arc<Snapshot>| snapshot.is_whole(),
    };
    Cache::builder().max_capacity(keeping.entries).expire_after(expiry).build()
}

/// Keeps the endpoints of a chain and, if it `follows` the head, its status and the terms of its markets current
/// without requests.
async fn watch(chain: Arc<Chain>, stop: CancellationToken, follows: bool) {
    let watch = async {
        if !follows {
            // The terms of markets are read with the wallets, at their block.
            return;
        }
        loop {
            // A failure is recorded in the status; the next question follows after the interval.
            let _ = tokio::time::timeout(limits::WATCH, chain.refresh()).await;
            tokio::time::sleep(pauses::WATCH_INTERVAL).await;
        }
    };
    stop.run_until_cancelled(async { tokio::join!(chain.client().watch(), watch) }).await;
}
