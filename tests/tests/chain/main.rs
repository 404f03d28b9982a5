//! Reads real chains: the host's figures of the devnet's wallets, and its behaviour when nodes fail.

mod activity;
mod batches;
mod bystanders;
mod cost;
mod explorer;
mod faults;
mod heads;
mod hidden;
mod history;
mod index;
mod known;
mod lenders;
mod lies;
mod mainnet;
mod names;
mod one_log;
mod pace;
mod positions;
mod prices;
mod providers;
mod sharing;
mod table;
mod wallets;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use assay::config::{self, Config, IndexMode};
use assay_chain::Chains;
use assay_domain::Secret;
use assay_domain::{Address, ChainSnapshot, PoolHistory, Snapshot};
use assay_store::{OpenError, Store};
use assay_tasks::Tracker;
use assay_tests::devnet::{Chain, Devnet};
use assay_tests::proxy::{Memory, Proxy};
use assay_tests::until::PATIENCE;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;

/// The tests share their devnets and so one runtime: connections belong to the runtime that made them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// Runs a test that does not change the devnet, in parallel with others.
fn with<T>(test: impl AsyncFnOnce(&Devnet) -> T) -> T {
    static UNCHANGED: OnceCell<Devnet> = OnceCell::const_new();
    RUNTIME.block_on(async { test(UNCHANGED.get_or_init(started).await).await })
}

/// Runs a test that changes its devnet, which no other test uses meanwhile.
fn alone<T>(test: impl AsyncFnOnce(&Devnet) -> T) -> T {
    static FREE: Mutex<Vec<Devnet>> = Mutex::const_new(Vec::new());
    static PERMITS: Semaphore = Semaphore::const_new(DEVNETS);
    RUNTIME.block_on(async {
        let _permit = PERMITS.acquire().await.unwrap();
        let free = FREE.lock().await.pop();
        let devnet = if let Some(devnet) = free { devnet } else { started().await };
        let result = test(&devnet).await;
        FREE.lock().await.push(devnet);
        result
    })
}

/// A proxy in front of a chain that no test changes. These proxies share what the node answered.
async fn remembering(chain: &Chain) -> Proxy {
    static KNOWN: LazyLock<Mutex<HashMap<String, Memory>>> = LazyLock::new(Default::default);
    let memory = KNOWN.lock().await.entry(chain.url().to_owned()).or_default().clone();
    Proxy::remembering(chain.url(), &memory).await
}

/// Devnets that tests change.
const DEVNETS: usize = 3;

async fn started() -> Devnet {
    Devnet::start(|_| {}).await.unwrap()
}

/// A reader with its own store.
struct Reader {
    config: Config,
    folder: TempDir,
    running: Option<Running>,
}

struct Running {
    chains: Chains,
    stop: CancellationToken,
}

impl Reader {
    fn of(devnet: &Devnet) -> Self {
        Self::configured(|store| devnet.config_toml("127.0.0.1:0", Path::new("plugins"), store, "a-key-for-tests"))
    }

    /// A reader with the configuration that `toml` makes from the path of the store.
    fn configured(toml: impl FnOnce(&Path) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assay.toml");
        std::fs::write(&file, toml(&folder.path().join("assay.redb"))).unwrap();
        // Most tests count requests. Those of the index begin it.
        Self { config: config::load(Some(&file)).unwrap(), folder, running: None }
            .with(|config| config.reading.index = IndexMode::Off)
            // A test of one of these limits sets its own.
            .with(|config| config.scoring.read_budget = PATIENCE)
            .with(|config| config.reading.rpc.timeout = Duration::from_secs(40))
    }

    fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Reads chain 1 through `proxies`, in this order.
    fn through(self, proxies: &[&Proxy]) -> Self {
        let rpc = proxies.iter().map(|proxy| Secret::new(&proxy.url)).collect();
        self.with(|config| config.chains[0].rpc = rpc)
    }

    /// Reads only chain 1.
    fn ethereum(self) -> Self {
        self.with(|config| config.chains.truncate(1))
    }

    async fn started(mut self) -> Self {
        self.start().await;
        self
    }

    /// The store, once its file is free: the last task that uses it has ended, and no process that another test starts
    /// holds the inherited lock until it executes its program.
    async fn store(&self) -> Store {
        loop {
            match Store::open(&self.config.store).await {
                Err(OpenError::Locked { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
                opened => break opened.unwrap(),
            }
        }
    }

    async fn start(&mut self) {
        let store = self.store().await;
        let (tasks, stop) = (Tracker::new(), CancellationToken::new());
        let chains = Chains::connect(&self.config.reads(), &store, &tasks, &stop);
        self.running = Some(Running { chains, stop });
    }

    /// Stops everything at once and drops the memory. The store stays.
    async fn restart(&mut self) {
        self.restart_after(async |_| ()).await;
    }

    /// As [`restart`](Self::restart), with a change of the store before the new start.
    async fn restart_after(&mut self, change: impl AsyncFnOnce(&Store)) {
        let Some(running) = self.running.take() else { return };
        running.stop.cancel();
        drop(running);
        change(&self.store().await).await;
        self.start().await;
    }

    fn chains(&self) -> &Chains {
        &self.running.as_ref().unwrap().chains
    }

    /// A snapshot with the blocks of the first and the last transaction.
    async fn read(&self, wallet: Address) -> Arc<Snapshot> {
        self.chains().exactly(self.chains().snapshot(wallet).await).await.snapshot
    }

    /// A snapshot as a score uses it.
    async fn read_for_a_score(&self, wallet: Address) -> Arc<Snapshot> {
        self.chains().snapshot(wallet).await.snapshot
    }

    /// Chain 1's part of a new snapshot.
    async fn pool(&self, wallet: Address) -> PoolHistory {
        self.read(wallet).await.chains[0].pools[0].clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.stop.cancel();
        }
        // Keeps the folder until here.
        let _ = self.folder.path();
    }
}

fn chain(snapshot: &Snapshot, id: u64) -> &ChainSnapshot {
    snapshot.chains.iter().find(|chain| chain.chain_id == id).unwrap()
}
