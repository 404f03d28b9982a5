//! The clock of a sandbox, which the watches of a key follow.

use std::{collections::HashMap, num::NonZeroUsize, time::Duration};

use uuid::Uuid;

use crate::{
    records::{self, OWN, RequestRecord},
    script::ScriptReading,
    watches::{Watch, WatchError, Watches, WatchesInner},
};
use assay_store::{Batch, StoreError};

/// Maximum wait until the watches have seen what the clock shows.
const LONGEST: Duration = Duration::from_secs(30);
/// Time between two looks.
const PACE: Duration = Duration::from_millis(20);
/// Attempts of a write that another one contradicts.
const TRIES: usize = 8;
/// Watches of one write.
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(500).expect("is not zero");

impl Watches {
    /// Sets the clock of `owner` to `seconds`, and returns the number of its watches once each was evaluated then. It
    /// goes back only while `owner` has no watches.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn set_clock(&self, owner: &str, seconds: u64) -> Result<usize, WatchError> {
        let (store, key) = (&self.0.store, records::clock(owner));
        let mut is_set = false;
        for _ in 0..TRIES {
            let known = store.read(&key).await?;
            let shown = known.value.unwrap_or_default();
            if seconds < shown && !self.0.ids(&OWN, &records::own_prefix(owner)).await?.is_empty() {
                return Err(WatchError::ClockBehind(shown));
            }
            let batch = Batch::new().if_unchanged(&key, known.revision).put(&key, &seconds)?;
            is_set = store.commit(batch).await?;
            if is_set {
                break;
            }
        }
        if !is_set {
            return Err(WatchError::Contended);
        }
        let ids = self.0.ids(&OWN, &records::own_prefix(owner)).await?;
        for ids in ids.chunks(AT_ONCE.get()) {
            self.evaluated(ids).await?;
        }
        Ok(ids.len())
    }

    /// Returns `watch`, which its owner has just created or changed. If it follows a script, waits for its first
    /// evaluation and returns the watch as it is then.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn begun(&self, watch: Watch) -> Result<Watch, WatchError> {
        if self.0.script.is_none() {
            return Ok(watch);
        }
        let id = watch.record.id;
        self.evaluated(&[id]).await?;
        // It may be removed meanwhile.
        Ok(self.0.load(&[id]).await?.pop().unwrap_or(watch))
    }

    /// Waits until these watches were evaluated.
    async fn evaluated(&self, ids: &[Uuid]) -> Result<(), WatchError> {
        let requests: Vec<_> = ids.iter().map(|id| records::request(*id, Uuid::new_v4())).collect();
        let batch = requests.iter().try_fold(Batch::new(), |batch, key| batch.put(key, &RequestRecord::Evaluate))?;
        self.0.store.commit(batch).await?;
        self.0.requested.notify_one();
        let taken = async {
            while self.0.store.get_many(&requests).await?.iter().any(Option::is_some) {
                tokio::time::sleep(PACE).await;
            }
            Ok(())
        };
        tokio::time::timeout(LONGEST, taken).await.unwrap_or(Err(WatchError::ClockBusy))
    }
}

impl WatchesInner {
    /// The script that the watches of a sweep follow; `None` if they are of wallets on chains.
    pub(crate) async fn script(&self, due: &[&Watch]) -> Result<Option<ScriptReading>, StoreError> {
        let Some(script) = self.script.clone() else { return Ok(None) };
        let mut clocks = HashMap::new();
        for watch in due {
            let owner = &watch.record.owner;
            if !clocks.contains_key(owner) {
                clocks.insert(owner.clone(), self.clock(owner).await?);
            }
        }
        Ok(Some(ScriptReading::new(script, clocks)))
    }

    /// What the clock of `owner` shows.
    async fn clock(&self, owner: &str) -> Result<Duration, StoreError> {
        Ok(Duration::from_secs(self.store.get(&records::clock(owner)).await?.unwrap_or_default()))
    }
}
