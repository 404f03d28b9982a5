//! Listing what an address did, from an explorer or the logs of a node. There is one job per address and chain at a
//! time; concurrent callers share it, and it continues in the background after their deadline. Settled rows are stored
//! page by page: the next read continues there, and an address with very many rows is read over several requests.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    lists,
    logs::NodeLogs,
    progress::{Listed, ListedScope, Output},
    reading::ListingState,
    records::{self, ActivityProgress},
};
use crate::{explorer::Explorer, limits};
use assay_domain::{Address, ChainId};
use assay_evm::{
    client::Block,
    single_flight::{SingleFlight, Work},
};
use assay_lending::Rest;
use assay_store::Store;
use assay_tasks::Tracker;
use assay_trace::TRACE;

/// Where the activity of addresses on a chain is listed.
pub(crate) enum ListingSource {
    Explorer(Explorer),
    Logs(NodeLogs),
}

/// The jobs of one chain.
pub(crate) struct Histories {
    reader: Arc<ListingReader>,
    jobs: SingleFlight<Address, (), watch::Receiver<Listed>>,
    tasks: Tracker,
    stop: CancellationToken,
}

struct ListingReader {
    chain: ChainId,
    source: ListingSource,
    store: Store,
    finality: u64,
    permits: Semaphore,
}

/// Whether the chain still has the block through which the stored progress is settled; `None` if that is unknown.
pub(crate) type AnchorCheck = BoxFuture<'static, Option<bool>>;

impl Histories {
    pub(crate) fn new(
        chain: ChainId,
        source: ListingSource,
        store: Store,
        finality: u64,
        tasks: Tracker,
        stop: CancellationToken,
    ) -> Self {
        let reader =
            ListingReader { chain, source, store, finality, permits: Semaphore::new(limits::RUNNING_LISTINGS) };
        Self { reader: Arc::new(reader), jobs: SingleFlight::default(), tasks, stop }
    }

    /// Whether its source lists the transactions that an address sent, and not only token transfers.
    pub(crate) fn lists_transactions(&self) -> bool {
        matches!(self.reader.source, ListingSource::Explorer(_))
    }

    /// What earlier reads settled.
    pub(crate) async fn stored(&self, wallet: Address) -> ActivityProgress {
        match self.reader.store.get(&records::activity(self.reader.chain, wallet)).await {
            Ok(stored) => stored.unwrap_or_default(),
            Err(error) => {
                tracing::error!(chain = self.reader.chain, %error, "the stored activity of an address cannot be read");
                ActivityProgress::default()
            }
        }
    }

    /// What is listed of `wallet` by `deadline`; and the rest of the job if it goes on.
    pub(crate) async fn read(
        &self,
        wallet: Address,
        stored: ActivityProgress,
        anchor: AnchorCheck,
        head: Block,
        deadline: Instant,
    ) -> (Listed, Option<Rest>) {
        let Some(job) = self.join(wallet, &stored, anchor, head) else {
            metrics::counter!("assay_explorer_reads_refused_total", "chain" => self.reader.chain.to_string())
                .increment(1);
            return (self.reader.before(stored), None);
        };
        let ended = timeout_at(deadline, job.outcome.clone()).await.is_ok();
        let listed = job.state.borrow().clone();
        let rest = if ended { None } else { Some(job.outcome.boxed()) };
        (listed, rest)
    }

    /// The running job for `wallet`, or a new one; `None` if too many run.
    fn join(
        &self,
        wallet: Address,
        stored: &ActivityProgress,
        anchor: AnchorCheck,
        head: Block,
    ) -> Option<Work<(), watch::Receiver<Listed>>> {
        let job = self.jobs.join_within(limits::LISTINGS, wallet, || {
            let (view, receiver) = watch::channel(self.reader.before(stored.clone()));
            let (reader, stop) = (self.reader.clone(), self.stop.clone());
            let span = assay_trace::adopt(
                tracing::info_span!(target: TRACE, parent: None, "list transactions", assay.chain = reader.chain),
            );
            let read = async move {
                stop.run_until_cancelled(reader.read(wallet, anchor, head, &view)).await;
            };
            (self.tasks.spawn("transactions", read.instrument(span)).map(drop), receiver)
        })?;
        if !job.joined {
            // Keeps the job listed while it runs, even without callers.
            self.tasks.spawn("transactions", job.outcome.clone());
        }
        Some(job)
    }
}

impl ListingReader {
    /// What callers see before anything is read.
    fn before(&self, stored: ActivityProgress) -> Listed {
        let scope = match &self.source {
            ListingSource::Explorer(_) => ListedScope::All,
            ListingSource::Logs(_) if stored.transfers_from > 0 => ListedScope::Transfers,
            ListingSource::Logs(_) => ListedScope::Nothing,
        };
        Listed { progress: stored, complete: false, scope }
    }

    async fn read(&self, wallet: Address, anchor: AnchorCheck, head: Block, view: &watch::Sender<Listed>) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        let settled = match anchor.await {
            Some(true) => view.borrow().progress.clone(),
            Some(false) => ActivityProgress::default(),
            None => return,
        };
        let mut reading = ListingState::new(wallet, settled, head.number.saturating_sub(self.finality));
        let output = Output { chain: self.chain, store: &self.store, view };
        let (scope, complete) = match &self.source {
            ListingSource::Explorer(explorer) => {
                (ListedScope::All, lists::read(explorer, &mut reading, head, &output).await)
            }
            ListingSource::Logs(node) => node.read(&mut reading, head, self.finality, &output).await,
        };
        output.publish(&reading, scope, complete);
    }
}
