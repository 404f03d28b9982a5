//! Wallets that were not read in time because an endpoint takes few requests: they are read to the end without their
//! callers, one after the other.

use std::{sync::Arc, time::Duration};

use moka::future::Cache;
use tokio::sync::Semaphore;

use super::Inner;
use assay_domain::{Address, Snapshot};

/// Time for a read that nobody waits for.
const COMPLETION: Duration = Duration::from_secs(600);
/// Wallets whose last snapshots are kept meanwhile.
const KEPT: u64 = 1_000;

/// How long callers wait for a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// To its end, which is the deadline.
    ToTheEnd,
    /// For the budget. The read goes on after that.
    Budget,
}

pub(super) struct Late {
    /// Whose turn it is.
    turn: Arc<Semaphore>,
    /// The snapshots that ended late.
    snapshots: Cache<Address, Arc<Snapshot>>,
}

impl Default for Late {
    fn default() -> Self {
        let snapshots = Cache::builder().max_capacity(KEPT).time_to_live(2 * COMPLETION).build();
        Self { turn: Arc::new(Semaphore::new(1)), snapshots }
    }
}

impl Late {
    /// The snapshot of `wallet` that ended late.
    pub(super) async fn snapshot(&self, wallet: Address) -> Option<Arc<Snapshot>> {
        self.snapshots.get(&wallet).await
    }
}

impl Inner {
    /// Whether a chain was not read in time because its endpoint takes few requests.
    pub(super) fn is_late(&self, snapshot: &Snapshot) -> bool {
        self.past.is_none() && snapshot.chains.iter().any(|read| self.chains.iter().any(|chain| chain.is_late(read)))
    }

    /// Reads the wallet of `snapshot`, which ended late, to the end once it is its turn. Later callers join that read:
    /// reads that all begin anew at a slow endpoint would never end.
    pub(super) async fn complete(self: Arc<Self>, snapshot: Arc<Snapshot>) {
        let wallet = snapshot.address;
        self.late.snapshots.insert(wallet, snapshot).await;
        let (this, stop) = (self.clone(), self.stop.clone());
        let work = self.reads.join(wallet, || {
            let failed = Arc::new(this.failed(wallet));
            let read = async move {
                let _turn = this.late.turn.clone().acquire_owned().await;
                this.read_within(COMPLETION, wallet, None).await
            };
            (async move { stop.run_until_cancelled(read).await.unwrap_or(failed) }, Patience::Budget)
        });
        if !work.joined {
            metrics::counter!("assay_reads_completed_total").increment(1);
            work.outcome.await;
        }
    }
}
