//! Tests of the store on real files and on a real server.

mod backup;
mod crash;
mod damaged;
mod full;
mod limits;
mod opening;
mod redis;
mod refused;
mod server;
mod writes;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::oneshot;

use crate::config;
use crate::{
    Family, Key, Metered, OpenError, RateLimit, Store, Withdrawal, backend::Backend, clock::StoreClock,
    embedded::Embedded,
};

/// A clock that only a test moves, in milliseconds.
#[derive(Clone, Default)]
struct ManualTime(Arc<AtomicU64>);

impl ManualTime {
    fn forward(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

struct Fixture {
    store: Store,
    time: ManualTime,
    folder: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let (folder, time) = (tempfile::tempdir().unwrap(), ManualTime::default());
        let path = folder.path().join("assay.redb");
        let store = Store {
            backend: Backend::Embedded(Embedded::open(path, StoreClock::manual(time.0.clone())).await.unwrap()),
        };
        Self { store, time, folder }
    }
}

fn at(path: &Path) -> config::Store {
    config::Store::embedded(path.to_owned())
}

/// Repeats `open` while the file is locked. A process that another test starts inherits the lock of a store until it
/// executes its program, also if the store is closed meanwhile.
async fn unlocked<T>(mut open: impl AsyncFnMut() -> Result<T, OpenError>) -> Result<T, OpenError> {
    loop {
        match open().await {
            Err(OpenError::Locked { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            opened => return opened,
        }
    }
}

/// Opens the file of a store that was closed.
async fn reopened(path: &Path) -> Result<Store, OpenError> {
    unlocked(async || Store::open(&at(path)).await).await
}

/// An empty store of each backend, to test their common behaviour.
async fn each() -> [Store; 2] {
    let Fixture { store, folder, .. } = Fixture::new().await;
    // The store keeps the file open; a test that has only the store does not need the folder's name.
    drop(folder);
    [store, Store::open(&server::config()).await.unwrap()]
}

/// Calls `admit_and_take` and waits for its result.
async fn both(store: &Store, rate_limit: RateLimit<'_>, withdrawal: Withdrawal<'_>) -> Option<Metered> {
    let (sender, told) = oneshot::channel();
    store.admit_and_take(rate_limit, withdrawal, move |metered| _ = sender.send(metered));
    told.await.unwrap()
}

fn number(name: &str) -> Key<u64> {
    Family::new("units/").key(name)
}

/// Records of one address each.
const SPREAD: Family<Sample> = Family::spread("lending/");
/// Records that can be listed.
const LISTED: Family<Sample> = Family::listed("shadow/credit/");

/// A rate that hosts share.
fn counted(policy: &str, caller: &str) -> Key<u64> {
    Family::spread("rate/").key(format_args!("{policy}/{caller}"))
}

/// A sample record.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Sample {
    name: String,
    parts: Vec<String>,
    #[serde(default)]
    limit: Option<u64>,
}
