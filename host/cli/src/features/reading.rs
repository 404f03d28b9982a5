//! Reads wallets on the configured chains, each until nothing of it is pending.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_chain::{
    Chains,
    config::{IndexMode, Snapshots},
};
use assay_domain::{Address, Coverage, Snapshot, Subject};
use assay_store::Store;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::Failure;
use assay::{app, config::Config};

/// Time between two checks of a history that is being read.
const POLL: Duration = Duration::from_millis(250);

/// The chains that are read, and the tasks that read them.
pub(crate) struct Reading {
    chains: Chains,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Reading {
    /// Of now, or of a moment in the past.
    pub fn start(config: &Config, store: &Store, past: Option<u64>) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let snapshots = Snapshots { past, ..config.scoring.snapshots() };
        let chains = app::connect(config, &snapshots, store, &tasks, &stop);
        Self { chains, tasks, stop }
    }

    pub fn chains(&self) -> &Chains {
        &self.chains
    }

    /// The address that `given` is, or that it names.
    pub async fn wallet(&self, given: &str) -> Result<Address, String> {
        match Subject::parse(given).map_err(|error| error.to_string())? {
            Subject::Address(address) => Ok(address),
            Subject::Name(name) => self.chains.resolve(&name).await.map_err(|error| error.to_string()),
        }
    }

    /// What the chains say of `wallet` as soon as nothing is pending, at the latest after `wait`. The first read is one of
    /// `together`; a later one is of a newer block.
    ///
    /// # Errors
    /// Words, where no chain can be read.
    pub async fn settled(&self, together: &Chains, wallet: Address, wait: Duration) -> Result<Snapshot, String> {
        let started = Instant::now();
        let mut snapshot = together.snapshot(wallet).await.snapshot;
        loop {
            if snapshot.all_failed() {
                return Err("no chain could be read".into());
            }
            if !is_pending(&snapshot) || started.elapsed() >= wait {
                return Ok(Arc::unwrap_or_clone(snapshot));
            }
            tokio::time::sleep(POLL).await;
            snapshot = self.chains.snapshot(wallet).await.snapshot;
        }
    }

    /// Lets the tasks end, without waiting for them.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    pub async fn end(self) {
        self.stop();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Whether a part of the snapshot is being read for the first time.
pub(super) fn is_pending(snapshot: &Snapshot) -> bool {
    let pools = snapshot.pools().map(|pool| pool.coverage);
    pools.chain(snapshot.chains.iter().map(|chain| chain.coverage)).any(|coverage| coverage == Coverage::Pending)
}

/// One wallet as the chains show it now, read with a store of its own, so that a server may be running. Nothing is kept.
///
/// # Errors
/// [`Failure`] where no chain is configured or can be read, and where a name has no address.
pub(crate) fn one(config: &Config, given: &str, wait: Duration) -> Result<Snapshot, Failure> {
    if config.chains.is_empty() {
        return Err(Failure::cannot(
            "no chains are configured, so --address cannot be read: name a configuration that has [[chains]] with --config",
        ));
    }
    let folder = tempfile::tempdir().map_err(Failure::cannot)?;
    let store = assay_store::config::Store::embedded(folder.path().join("wallet.redb"));
    let mut config = config.clone();
    // One process can hold the index.
    config.reading.index = IndexMode::Off;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot)?;
    runtime.block_on(async {
        let store = Store::open(&store).await.map_err(Failure::cannot)?;
        let reading = Reading::start(&config, &store, None);
        let read = async {
            let wallet = reading.wallet(given).await?;
            reading.settled(reading.chains(), wallet, wait).await
        };
        let snapshot = read.await.map_err(|why| Failure::no(format!("{given}: {why}")));
        reading.end().await;
        snapshot
    })
}
