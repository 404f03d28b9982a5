//! Snapshots of addresses over all chains: kept for a while, read once however many ask, and given when the time is up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, join_all},
};
use moka::{Expiry, future::Cache};
use tokio::sync::oneshot;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

use crate::config::{self, ChainConfig, Prices, Reading};
use crate::{
    agents::AgentRegistries,
    explorer::Explorers,
    identity::Identity,
    names::{NameError, Names},
    prices::External,
    read::Chain,
};
use assay_domain::{Address, ChainId, Name, Snapshot};
use assay_evm::{client::Client, config::Outbound, endpoint, guarded::Guarded};
use assay_store::Store;
use assay_trace::TRACE;

/// Time between two looks at a chain's head that nobody asked for.
const WATCH: Duration = Duration::from_secs(30);
/// The first such look may keep nobody waiting at the start.
const WARM: Duration = Duration::from_secs(15);

/// All configured chains. Cheap to clone.
#[derive(Clone)]
pub struct Chains {
    inner: Arc<Inner>,
}

struct Inner {
    chains: Vec<Arc<Chain>>,
    people: OnceLock<People>,
    budget: Duration,
    cache: Cache<Address, Arc<Snapshot>>,
    flights: Mutex<HashMap<Address, Flight>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

type Flight = Shared<BoxFuture<'static, Arc<Snapshot>>>;

/// A snapshot, and whether it was read for an earlier request.
#[derive(Debug, Clone)]
pub struct Read {
    pub snapshot: Arc<Snapshot>,
    pub cached: bool,
}

/// What is known of a chain's endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainStatus {
    pub chain_id: ChainId,
    pub chain_name: String,
    /// Host of the endpoint that answered last.
    pub endpoint: Option<String>,
    /// Newest block seen; `None` where the chain could not be read last time.
    pub head: Option<u64>,
    pub error: Option<String>,
}

/// Who knows names, and to whom addresses belong.
struct People {
    names: Names,
    identity: Identity,
}

/// How long snapshots live.
struct Lives {
    complete: Duration,
    incomplete: Duration,
}

impl Expiry<Address, Arc<Snapshot>> for Lives {
    fn expire_after_create(&self, _: &Address, snapshot: &Arc<Snapshot>, _: Instant) -> Option<Duration> {
        Some(if snapshot.is_whole() { self.complete } else { self.incomplete })
    }

    fn expire_after_update(
        &self,
        wallet: &Address,
        snapshot: &Arc<Snapshot>,
        now: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        self.expire_after_create(wallet, snapshot, now)
    }
}

impl Chains {
    /// Sets the chains up. It asks them for nothing and so cannot fail; tasks on `tasks` look at them until `stop`.
    pub fn connect(
        chains: &[ChainConfig],
        reading: &Reading,
        prices: &Prices,
        keeping: &config::Snapshots,
        store: &Store,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Self {
        let mut chains: Vec<_> = chains.iter().collect();
        chains.sort_by_key(|chain| chain.id);
        let http = endpoint::http();
        let external = Arc::new(External::new(&http, prices, &chains));
        let explorers = Explorers::new(&http, &reading.explorer);
        let chain = |chain| Arc::new(Chain::new(&http, chain, &explorers, reading, &external, store, (tasks, stop)));
        let chains = chains.into_iter().map(chain).collect();
        let lives = Lives { complete: keeping.complete, incomplete: keeping.incomplete };
        let cache = Cache::builder().max_capacity(keeping.entries).expire_after(lives).build();
        let inner = Inner {
            chains,
            people: OnceLock::new(),
            budget: keeping.budget,
            cache,
            flights: Mutex::default(),
            tasks: tasks.clone(),
            stop: stop.clone(),
        };
        for chain in &inner.chains {
            tasks.spawn(watch(chain.clone(), stop.clone()));
        }
        Self { inner: Arc::new(inner) }
    }

    /// These chains with their naming services and attesters. Without it no name resolves and nobody attests.
    #[must_use]
    pub fn with_people(self, names: &config::Names, identity: &config::Identity, outbound: &Outbound) -> Self {
        let chains = &self.inner.chains;
        let client = |id| Some(chains.iter().find(|chain| chain.id() == id)?.client().clone());
        let names = Names::new(names, &Guarded::new(outbound), client);
        let identity = Identity::new(identity, &names, chains.iter().map(|chain| (chain.id(), chain.client().clone())));
        // Set once, by whoever wires the chains up.
        let _ = self.inner.people.set(People { names, identity });
        self
    }

    /// The ERC-8004 registries; `None` where their chain is not configured.
    pub fn agents(&self, config: &config::Agents, log_range: u64) -> Option<AgentRegistries> {
        let chain = self.inner.chains.iter().find(|chain| chain.id() == config.chain)?;
        Some(AgentRegistries::new(chain.client().clone(), config, chain.finality(), log_range))
    }

    /// What all chains say of `wallet`: from the cache, or read within the budget for all who ask at once. Always an
    /// answer; a snapshot whose [`all_failed`](Snapshot::all_failed) says nothing of the address.
    pub async fn snapshot(&self, wallet: Address) -> Read {
        if let Some(snapshot) = self.inner.cache.get(&wallet).await {
            metrics::counter!("assay_snapshots_total", "source" => "cache").increment(1);
            return Read { snapshot, cached: true };
        }
        let (flight, joined) = self.fly(wallet);
        metrics::counter!("assay_snapshots_total", "source" => if joined { "shared" } else { "read" }).increment(1);
        Read { snapshot: flight.await, cached: false }
    }

    /// The address that a name stands for.
    ///
    /// # Errors
    /// [`NameError`] where it stands for none, or that cannot be told.
    pub async fn resolve(&self, name: &Name) -> Result<Address, NameError> {
        match self.inner.people.get() {
            Some(people) => people.names.resolve(name).await,
            None => Err(NameError::NotConfigured),
        }
    }

    /// The client of a chain; `None` where it is not configured.
    pub fn client(&self, id: ChainId) -> Option<Client> {
        Some(self.inner.chains.iter().find(|chain| chain.id() == id)?.client().clone())
    }

    /// How each chain stood when it was last asked, by ascending id.
    pub fn status(&self) -> Vec<ChainStatus> {
        self.inner.chains.iter().map(|chain| chain.status()).collect()
    }

    /// The read of `wallet` that is under way, or a new one; and whether it was under way.
    fn fly(&self, wallet: Address) -> (Flight, bool) {
        let mut flights = self.inner.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(&wallet) {
            return (flight.clone(), true);
        }
        let (this, landed) = (self.clone(), Landed { inner: self.inner.clone(), wallet });
        // On a task of its own: a caller that goes away must not end it for the others.
        let span = assay_trace::adopt(tracing::info_span!(target: TRACE, parent: None, "read address"));
        let task = self.inner.tasks.spawn(async move { this.read(wallet, landed).await }.instrument(span));
        let inner = self.inner.clone();
        let flight = async move { task.await.unwrap_or_else(|_| Arc::new(inner.nothing(wallet))) }.boxed().shared();
        flights.insert(wallet, flight.clone());
        (flight, false)
    }

    async fn read(&self, wallet: Address, landed: Landed) -> Arc<Snapshot> {
        let inner = &self.inner;
        // It may have landed between a caller's look into the cache and its look at the flights.
        if let Some(snapshot) = inner.cache.get(&wallet).await {
            return snapshot;
        }
        let started = Instant::now();
        let deadline = tokio::time::Instant::from_std(started) + inner.budget;
        let mut heads = Vec::with_capacity(inner.chains.len());
        let reads: Vec<_> = inner
            .chains
            .iter()
            .map(|chain| {
                let (told, head) = oneshot::channel();
                heads.push((chain.id(), head));
                let span = tracing::info_span!(target: TRACE, "read chain", assay.chain = chain.id());
                chain.read(wallet, deadline, told).instrument(span)
            })
            .collect();
        let people = async {
            match inner.people.get() {
                Some(people) => people.identity.read(wallet, heads, deadline).await,
                None => Default::default(),
            }
        };
        let (parts, (attestations, identity)) = tokio::join!(join_all(reads), people);
        let (chains, rests): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let snapshot =
            Arc::new(Snapshot { address: wallet, as_of: chrono::Utc::now(), chains, attestations, identity });
        inner.cache.insert(wallet, snapshot.clone()).await;
        drop(landed);
        let coverage = snapshot.coverage().as_str();
        metrics::histogram!("assay_snapshot_duration_seconds", "coverage" => coverage).record(started.elapsed());
        let rests: Vec<_> = rests.into_iter().flatten().collect();
        if !rests.is_empty() {
            let (cache, stop) = (inner.cache.clone(), inner.stop.clone());
            inner.tasks.spawn(async move {
                stop.run_until_cancelled(join_all(rests)).await;
                cache.invalidate(&wallet).await;
            });
        }
        snapshot
    }
}

impl Inner {
    fn nothing(&self, wallet: Address) -> Snapshot {
        let chains = self.chains.iter().map(|chain| chain.failed()).collect();
        Snapshot { address: wallet, as_of: chrono::Utc::now(), chains, attestations: Vec::new(), identity: Vec::new() }
    }
}

/// Takes a read off the list when it has ended, however it ended.
struct Landed {
    inner: Arc<Inner>,
    wallet: Address,
}

impl Drop for Landed {
    fn drop(&mut self) {
        self.inner.flights.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.wallet);
    }
}

/// Keeps the status of a chain current while nobody asks for it.
async fn watch(chain: Arc<Chain>, stop: CancellationToken) {
    let look = async {
        // A chain that is down is told in the status; it is asked again with the next look.
        let _ = tokio::time::timeout(WARM, chain.warm()).await;
        loop {
            tokio::time::sleep(WATCH).await;
            let _ = chain.head().await;
        }
    };
    stop.run_until_cancelled(look).await;
}
