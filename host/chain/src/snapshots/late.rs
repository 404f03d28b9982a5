//! Wallets that were not read in time because an endpoint takes few requests: they are read to the end without their
//! callers, one after the other.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::ChainsInner;
use crate::limits;
use assay_domain::Snapshot;

/// How long callers wait for a read.
#[derive(Debug, Clone)]
pub(super) enum Patience {
    /// To its end, which is the deadline.
    ToTheEnd,
    /// For the budget. Then they get this snapshot, which ended late, and the read goes on.
    Budget(Arc<Snapshot>),
}

/// Whose turn it is.
pub(super) struct Late(Arc<Semaphore>);

impl Default for Late {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl ChainsInner {
    /// Whether a chain was not read in time because its endpoint takes few requests.
    pub(super) fn is_late(&self, snapshot: &Snapshot) -> bool {
        self.past.is_none() && snapshot.chains.iter().any(|read| self.chains.iter().any(|chain| chain.is_late(read)))
    }

    /// Reads the wallet of `snapshot`, which ended late, to the end once it is its turn. Later callers join that read:
    /// reads that all begin anew at a slow endpoint would never end.
    pub(super) async fn complete(self: Arc<Self>, snapshot: Arc<Snapshot>) {
        let (wallet, this, stop) = (snapshot.address, self.clone(), self.stop.clone());
        let work = self.reads.join_within(limits::LATE_READS, wallet, || {
            let failed = Arc::new(this.failed(wallet));
            let read = async move {
                let _turn = this.late.0.clone().acquire_owned().await;
                this.read_within(limits::LATE_READ, wallet, None).await
            };
            (async move { stop.run_until_cancelled(read).await.unwrap_or(failed) }, Patience::Budget(snapshot))
        });
        if let Some(work) = work.filter(|work| !work.joined) {
            metrics::counter!("assay_reads_completed_total").increment(1);
            work.outcome.await;
        }
    }
}
