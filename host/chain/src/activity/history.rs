//! Reads of what an address did as jobs, from an explorer's lists or the logs of a node: one per address and chain at a
//! time, shared by all who ask, going on in the background when the one who asked cannot wait. What is settled is kept
//! after every page, so that the next read goes on from there; an address with very many rows is read over several
//! requests.

use crate::activity::records::{self, ActivityProgress};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

use super::{logs::NodeLogs, reading::Reading};
use crate::explorer::Explorer;
use assay_domain::{Address, ChainId};
use assay_evm::client::Block;
use assay_lending::Rest;
use assay_store::Store;
use assay_trace::TRACE;

/// Reads of one chain at once. Explorers allow so few calls that more would only wait for each other.
const AT_ONCE: usize = 16;

/// Reads of one chain that run or wait at once; further ones say what was known before.
const MOST: usize = 128;

/// Who tells what addresses did on a chain.
pub(crate) enum Source {
    Explorer(Explorer),
    Logs(NodeLogs),
}

/// How much of what an address did is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// All that [`ActivityProgress`] has.
    Lists,
    /// Which tokens moved; of transactions nothing.
    Transfers,
    Nothing,
}

/// What is listed of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Through the head where whole, else as far as it was read.
    pub progress: ActivityProgress,
    /// Nothing is missing of what can be told here.
    pub whole: bool,
    pub told: Told,
}

/// What one chain's source tells.
pub(crate) struct Histories {
    reader: Arc<Reader>,
    running: Running,
    tasks: TaskTracker,
    stop: CancellationToken,
}

pub(super) struct Reader {
    pub(super) chain: ChainId,
    source: Source,
    store: Store,
    pub(super) finality: u64,
    slots: Semaphore,
}

type Running = Arc<Mutex<HashMap<Address, Job>>>;

#[derive(Clone)]
struct Job {
    ended: Shared<BoxFuture<'static, ()>>,
    view: watch::Receiver<Listed>,
}

/// Whether the chain still has the block that what is kept was settled by; `None` where it cannot be asked.
pub(crate) type Stands = BoxFuture<'static, Option<bool>>;

impl Histories {
    pub(crate) fn new(
        chain: ChainId,
        source: Source,
        store: Store,
        finality: u64,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let reader = Reader { chain, source, store, finality, slots: Semaphore::new(AT_ONCE) };
        Self { reader: Arc::new(reader), running: Running::default(), tasks, stop }
    }

    /// What earlier reads settled.
    pub(crate) async fn kept(&self, wallet: Address) -> ActivityProgress {
        match self.reader.store.get(&records::activity(self.reader.chain, wallet)).await {
            Ok(kept) => kept.unwrap_or_default(),
            Err(error) => {
                tracing::error!(chain = self.reader.chain, %error, "what was read of an address before cannot be used");
                ActivityProgress::default()
            }
        }
    }

    /// What is told of `wallet` by `deadline`; and the rest of the reading where it goes on.
    pub(crate) async fn read(
        &self,
        wallet: Address,
        kept: ActivityProgress,
        stands: Stands,
        head: Block,
        deadline: Instant,
    ) -> (Listed, Option<Rest>) {
        let Some(job) = self.join(wallet, &kept, stands, head) else {
            metrics::counter!("assay_explorer_reads_refused_total", "chain" => self.reader.chain.to_string())
                .increment(1);
            return (self.reader.before(kept), None);
        };
        let ended = timeout_at(deadline, job.ended.clone()).await.is_ok();
        let listed = job.view.borrow().clone();
        let rest = if ended { None } else { Some(job.ended.boxed()) };
        (listed, rest)
    }

    /// The job for `wallet` that runs, or a new one; `None` where too many run.
    fn join(&self, wallet: Address, kept: &ActivityProgress, stands: Stands, head: Block) -> Option<Job> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = running.get(&wallet) {
            return Some(job.clone());
        }
        if running.len() >= MOST {
            return None;
        }
        let (view, seen) = watch::channel(self.reader.before(kept.clone()));
        let (reader, stop) = (self.reader.clone(), self.stop.clone());
        let done = Finished { running: self.running.clone(), wallet };
        let span = assay_trace::adopt(
            tracing::info_span!(target: TRACE, parent: None, "list transactions", assay.chain = reader.chain),
        );
        let read = async move {
            let _done = done;
            stop.run_until_cancelled(reader.read(wallet, stands, head, &view)).await;
        };
        let task = self.tasks.spawn(read.instrument(span));
        let job = Job { ended: task.map(drop).boxed().shared(), view: seen };
        running.insert(wallet, job.clone());
        Some(job)
    }
}

impl Reader {
    /// What is told before anything is read.
    fn before(&self, kept: ActivityProgress) -> Listed {
        let told = match &self.source {
            Source::Explorer(_) => Told::Lists,
            Source::Logs(_) if kept.transfers_from > 0 => Told::Transfers,
            Source::Logs(_) => Told::Nothing,
        };
        Listed { progress: kept, whole: false, told }
    }

    async fn read(&self, wallet: Address, stands: Stands, head: Block, view: &watch::Sender<Listed>) {
        let Ok(_slot) = self.slots.acquire().await else { return };
        let settled = match stands.await {
            Some(true) => view.borrow().progress.clone(),
            Some(false) => ActivityProgress::default(),
            None => return,
        };
        let mut reading = Reading::new(wallet, settled, head.number.saturating_sub(self.finality));
        let (told, whole) = match &self.source {
            Source::Explorer(explorer) => (Told::Lists, self.lists(explorer, &mut reading, head, view).await),
            Source::Logs(node) => self.logs(node, &mut reading, head, view).await,
        };
        view.send_replace(Listed { progress: reading.with_tail(), whole, told });
    }

    pub(super) async fn keep(&self, wallet: Address, settled: &ActivityProgress) {
        if let Err(error) = self.store.put(&records::activity(self.chain, wallet), settled).await {
            tracing::error!(chain = self.chain, %error, "what is listed of an address cannot be kept");
        }
    }
}

/// Takes a job off the list when it has ended.
struct Finished {
    running: Running,
    wallet: Address,
}

impl Drop for Finished {
    fn drop(&mut self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.wallet);
    }
}
