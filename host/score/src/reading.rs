//! The configured chains, and wallets read on them outside of requests: each until nothing of it is pending, now or at
//! a moment in the past.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_chain::{
    Chains, MomentError, Settings,
    config::{IndexMode, Snapshots},
};
use assay_domain::{Address, ChainId, Coverage, Snapshot, Subject};
use assay_store::Store;
use assay_tasks::Tracker;
use chrono::{DateTime, NaiveDate};
use tokio_util::sync::CancellationToken;

/// Time between two checks of a history that is being read.
const POLL: Duration = Duration::from_millis(250);

/// The chains that are read, and the tasks that read them.
pub struct ChainReader {
    chains: Chains,
    tasks: Tracker,
    stop: CancellationToken,
}

impl ChainReader {
    /// Of now, or of a moment in the past.
    pub fn start(settings: &Settings, store: &Store, past: Option<u64>) -> Self {
        let (tasks, stop) = (Tracker::new(), CancellationToken::new());
        let snapshots = Snapshots { past, ..settings.snapshots };
        let chains = Chains::connect(&Settings { snapshots, ..settings.clone() }, store, &tasks, &stop);
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

    /// The snapshot of `wallet` as soon as nothing is pending, at the latest after `wait`. The first read is one of
    /// `together`; a later one is of a newer block.
    ///
    /// # Errors
    /// A message, if no chain can be read.
    pub async fn settled(&self, together: &Chains, wallet: Address, wait: Duration) -> Result<Snapshot, String> {
        let started = Instant::now();
        let mut snapshot = together.exactly(together.snapshot(wallet).await).await.snapshot;
        loop {
            if snapshot.all_failed() {
                return Err("no chain could be read".into());
            }
            if !is_pending(&snapshot) || started.elapsed() >= wait {
                return Ok(Arc::unwrap_or_clone(snapshot));
            }
            tokio::time::sleep(POLL).await;
            snapshot = self.chains.exactly(self.chains.snapshot(wallet).await).await.snapshot;
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
pub fn is_pending(snapshot: &Snapshot) -> bool {
    let pools = snapshot.pools().map(|pool| pool.coverage);
    pools.chain(snapshot.chains.iter().map(|chain| chain.coverage)).any(|coverage| coverage == Coverage::Pending)
}

/// `settings` without sources that only know the present, and without the chains in `younger`.
#[must_use]
pub fn of_the_past(settings: &Settings, younger: &[ChainId]) -> Settings {
    let mut settings = settings.clone();
    settings.chains.retain(|chain| !younger.contains(&chain.id));
    settings.chains.iter_mut().for_each(|chain| chain.explorer = None);
    (settings.prices.api, settings.prices.fallback) = (None, None);
    settings
}

/// A date, a time or Unix seconds, as Unix seconds.
///
/// # Errors
/// Words that say how to write one.
pub fn moment(text: &str) -> Result<u64, String> {
    let date = || Some(text.parse::<NaiveDate>().ok()?.and_hms_opt(0, 0, 0)?.and_utc().timestamp());
    let time = || Some(DateTime::parse_from_rfc3339(text).ok()?.timestamp());
    let seconds = text.parse().ok().or_else(date).or_else(time);
    let found = seconds.and_then(|seconds: i64| u64::try_from(seconds).ok());
    found.ok_or_else(|| {
        "write a date such as 2025-03-01, a time such as 2025-03-01T12:00:00Z, or Unix seconds".to_owned()
    })
}

/// The data of `wallet` at `moment`, in Unix seconds, read with a separate store. Chains that did not exist then are
/// omitted.
///
/// # Errors
/// A message, if a chain cannot be read at that moment.
pub async fn past(settings: &Settings, wallet: Address, moment: u64, wait: Duration) -> Result<Snapshot, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let store = assay_store::config::Store::embedded(folder.path().join("past.redb"));
    let store = Store::open(&store).await.map_err(|error| error.to_string())?;
    let mut younger = Vec::new();
    loop {
        let mut settings = of_the_past(settings, &younger);
        // One process can hold the index, and its end would be that of this reading.
        settings.reading.index = IndexMode::Off;
        if settings.chains.is_empty() {
            return Err("no configured chain existed at that moment".to_owned());
        }
        let reading = ChainReader::start(&settings, &store, Some(moment));
        let read = match reading.chains().go_back().await {
            Err(MomentError::Before { chain, .. }) => {
                younger.push(chain);
                None
            }
            Err(error) => Some(Err(error.to_string())),
            Ok(_) => Some(reading.settled(reading.chains(), wallet, wait).await),
        };
        reading.end().await;
        if let Some(read) = read {
            return read;
        }
    }
}
