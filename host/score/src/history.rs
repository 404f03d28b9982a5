//! The data of wallets at moments in the past. Each is read once, in the background, from endpoints that keep old
//! state, and kept: a final block does not change.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use assay_domain::{
    Address, Coverage, Origins, ReadBlock, Snapshot, Source, Standing,
    features::{Features, features},
};
use assay_store::{Batch, Family, Key, Revision, Store, StoreError};
use moka::future::Cache;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::reading;
use assay_chain::{Settings, config::ChainConfig};
use assay_tasks::Spawner;

const DAY: Duration = Duration::from_secs(86_400);
/// How long a reading is kept after it was made.
const KEPT: Duration = Duration::from_secs(90 * 86_400);
/// Maximum wait for one reading.
const WAIT: Duration = Duration::from_secs(120);
/// Time until a reading that failed is tried again.
const REST: Duration = Duration::from_secs(60);
/// Failures that are remembered.
const FAILURES: u64 = 10_000;
/// Wallets that wait for their turn, for one owner of a key and for all.
const WAITING_OF_ONE: usize = 20;
const WAITING: usize = 1_000;

/// Cheap to clone.
#[derive(Clone)]
pub struct ScoreHistory {
    inner: Arc<HistoryState>,
}

struct HistoryState {
    settings: Settings,
    /// Of the chains, markets, tokens and feeds that are read: with others, a wallet has another past.
    configured: String,
    store: Store,
    /// One reading at a time: each has its own connections.
    turn: Semaphore,
    /// The wallets that are read or wait for it, each with the first caller.
    running: Mutex<HashMap<Address, String>>,
    failures: Cache<(Address, u64), String>,
    tasks: Spawner,
}

/// Why the past of a wallet is not answered.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("The history of {0} wallets is being read; request another one when one of them is complete")]
    Busy(usize),
}

/// The state of a wallet's data at one moment.
#[derive(Debug, Clone)]
pub enum Past {
    Read(Arc<PastRecord>),
    /// It is being read.
    Pending,
    /// It could not be read, for this reason; it is tried again after a minute.
    Unread(String),
}

/// The data of a wallet at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastRecord {
    pub has_activity: bool,
    pub features: Features,
    pub blocks: Vec<ReadBlock>,
    pub sources: Vec<Source>,
}

impl PastRecord {
    /// The lowest health factor of the markets that feed the score.
    pub fn health_factor(&self) -> Option<f64> {
        Standing::of(&self.features).health_factor
    }

    pub fn origins(&self) -> Origins {
        Origins { blocks: self.blocks.clone(), sources: self.sources.clone() }
    }
}

impl ScoreHistory {
    pub fn new(settings: Settings, store: &Store, tasks: &Spawner) -> Self {
        let failures = Cache::builder().max_capacity(FAILURES).time_to_live(REST).build();
        let inner = HistoryState {
            configured: fingerprint(&settings),
            settings,
            store: store.clone(),
            turn: Semaphore::new(1),
            running: Mutex::default(),
            failures,
            tasks: tasks.clone(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The data of `wallet` at each of `moments`, in Unix seconds. Starts to read missing moments for `owner`.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing is read.
    pub async fn at(&self, owner: &str, wallet: Address, moments: &[u64]) -> Result<Vec<Past>, HistoryError> {
        let (mut found, mut missing) = (Vec::with_capacity(moments.len()), Vec::new());
        for moment in moments {
            found.push(match self.inner.store.get(&self.inner.key(wallet, *moment)).await? {
                Some(record) => Past::Read(Arc::new(record)),
                None => match self.inner.failures.get(&(wallet, *moment)).await {
                    Some(reason) => Past::Unread(reason),
                    None => {
                        missing.push(*moment);
                        Past::Pending
                    }
                },
            });
        }
        if !missing.is_empty() {
            self.read(owner, wallet, missing)?;
        }
        Ok(found)
    }

    /// The data of `wallet` at `moment`, if it was read.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn known(&self, wallet: Address, moment: u64) -> Result<Option<PastRecord>, StoreError> {
        self.inner.store.get(&self.inner.key(wallet, moment)).await
    }

    /// Those of `moments` that `owner` has not paid for within a day.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn due(&self, owner: &str, wallet: Address, moments: &[u64]) -> Result<Due, StoreError> {
        let key = payments(owner, wallet);
        let before = self.inner.store.read(&key).await?;
        let mut paid = before.value.unwrap_or_default();
        let now = now();
        paid.retain(|_, at| now.saturating_sub(*at) < DAY.as_secs());
        let moments = moments.iter().filter(|moment| !paid.contains_key(moment)).copied().collect();
        Ok(Due { moments, key, paid, revision: before.revision })
    }

    /// Records that these moments are paid for. `false` if another request has paid for moments of the wallet
    /// meanwhile.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn pay(&self, due: Due) -> Result<bool, StoreError> {
        let Due { moments, key, mut paid, revision } = due;
        let now = now();
        paid.extend(moments.into_iter().map(|moment| (moment, now)));
        let batch = Batch::new().put_expiring(&key, &paid, DAY)?.if_unchanged(&key, revision);
        self.inner.store.commit(batch).await
    }

    /// Reads `moments` in the background, unless a reading of the wallet is in progress.
    fn read(&self, owner: &str, wallet: Address, moments: Vec<u64>) -> Result<(), HistoryError> {
        {
            let mut running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
            if running.contains_key(&wallet) {
                return Ok(());
            }
            let own = running.values().filter(|asked| *asked == owner).count();
            if own >= WAITING_OF_ONE || running.len() >= WAITING {
                return Err(HistoryError::Busy(if own >= WAITING_OF_ONE { own } else { running.len() }));
            }
            running.insert(wallet, owner.to_owned());
        }
        let (inner, stop) = (self.inner.clone(), self.inner.tasks.stopping());
        self.inner.tasks.spawn("history", async move {
            let under_way = UnderWay { inner: &inner, wallet };
            for moment in moments {
                let Ok(_turn) = inner.turn.acquire().await else { break };
                let read = stop.run_until_cancelled(reading::past(&inner.settings, wallet, moment, WAIT));
                let Some(read) = read.await else { break };
                if let Err(reason) = inner.keep(wallet, moment, read).await {
                    tracing::warn!(%wallet, moment, reason, "a moment in the past cannot be read");
                    inner.failures.insert((wallet, moment), reason).await;
                }
            }
            drop(under_way);
        });
        Ok(())
    }
}

impl HistoryState {
    /// The wallet at a moment.
    fn key(&self, wallet: Address, moment: u64) -> Key<PastRecord> {
        Family::spread("past/").key(format_args!("{wallet:#x}/{moment}/{}", self.configured))
    }

    async fn keep(&self, wallet: Address, moment: u64, read: Result<Snapshot, String>) -> Result<(), String> {
        let snapshot = read?;
        if snapshot.score_coverage() != Coverage::Complete {
            let unread: Vec<String> = snapshot
                .unread()
                .filter(|(_, unread)| unread.part.is_scored())
                .map(|(chain, unread)| unread.on(chain))
                .collect();
            return Err(format!("not everything could be read at that moment: {}", unread.join("; ")));
        }
        let Origins { blocks, sources } = snapshot.origins();
        let record =
            PastRecord { has_activity: snapshot.has_activity(), features: features(&snapshot), blocks, sources };
        let batch = Batch::new().put_expiring(&self.key(wallet, moment), &record, KEPT);
        let batch = batch.map_err(|error| error.to_string())?;
        self.store.commit(batch).await.map(drop).map_err(|error| error.to_string())
    }
}

/// Marks a wallet whose past is being read. Dropping it ends the mark, also after a panic.
struct UnderWay<'a> {
    inner: &'a HistoryState,
    wallet: Address,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.inner.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.wallet);
    }
}

/// Of what is read on which chains, without the endpoints.
fn fingerprint(settings: &Settings) -> String {
    let chains = settings.chains.iter().map(|chain| ChainConfig { rpc: Vec::new(), explorer: None, ..chain.clone() });
    let chains: Vec<_> = chains.collect();
    let mut text = hex::encode(Sha256::digest(format!("{chains:?} {:?} {:?}", settings.names, settings.identity)));
    text.truncate(16);
    text
}

/// The moments of a wallet that an owner has paid for, each with the time of the payment, in Unix seconds.
type Payments = BTreeMap<u64, u64>;

/// Moments of a wallet to pay for.
#[derive(Debug)]
pub struct Due {
    moments: Vec<u64>,
    key: Key<Payments>,
    paid: Payments,
    revision: Revision,
}

impl Due {
    pub fn count(&self) -> usize {
        self.moments.len()
    }
}

fn payments(owner: &str, wallet: Address) -> Key<Payments> {
    let owner = hex::encode(Sha256::digest(owner));
    Family::spread("past-paid-points/").key(format_args!("{wallet:#x}/{owner}"))
}

fn now() -> u64 {
    chrono::Utc::now().timestamp().unsigned_abs()
}
