//! Permits for concurrent requests to one endpoint, with some reserved for the most important ones.

use alloy::rpc::json_rpc::RequestPacket;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Rank;
use crate::fault::Fault;

/// The requests of long histories.
const HISTORY: [&str; 2] = ["eth_getLogs", "eth_getTransactionReceipt"];

pub(super) struct Permits {
    all: Semaphore,
    /// One of the permits, if there are several, for the requests on which every other one depends.
    first: Option<Semaphore>,
    /// Log queries and receipts also need one of these: long histories in the background leave half of the permits to
    /// other requests.
    history: Semaphore,
    /// Requests without a waiting caller also need one of these, and none of `history`.
    last: Semaphore,
    /// Requests whose cost strangers choose also need one of these, and none of `history`.
    strangers: Semaphore,
}

/// Held while a request is in flight.
pub(super) type HeldPermits<'a> = (Option<SemaphorePermit<'a>>, SemaphorePermit<'a>);

impl Permits {
    /// Allows this many concurrent requests: `reading.rpc.concurrency`, 16 by default.
    pub(crate) fn new(concurrency: usize) -> Self {
        Self {
            all: Semaphore::new(concurrency.saturating_sub(1).max(1)),
            first: (concurrency > 1).then(|| Semaphore::new(1)),
            history: Semaphore::new((concurrency / 2).max(1)),
            last: Semaphore::new((concurrency / 4).max(1)),
            strangers: Semaphore::new((concurrency / 4).max(1)),
        }
    }

    /// Waits for the permits of `packet`.
    pub(crate) async fn of(&self, packet: &RequestPacket, rank: Rank) -> Result<HeldPermits<'_>, Fault> {
        let closed = |_| Fault::Unreachable("stopped".into());
        let is_history = packet.requests().iter().any(|request| HISTORY.contains(&request.method()));
        let bounded = match rank {
            Rank::Last => Some(&self.last),
            Rank::Stranger => Some(&self.strangers),
            Rank::First | Rank::Usual => Some(&self.history).filter(|_| is_history),
        };
        let bounded = match bounded {
            Some(permits) => Some(permits.acquire().await.map_err(closed)?),
            None => None,
        };
        let permits = self.first.as_ref().filter(|_| rank == Rank::First).unwrap_or(&self.all);
        Ok((bounded, permits.acquire().await.map_err(closed)?))
    }
}
