//! Reads of lending history as jobs: one per address and chain at a time, shared by all who ask, and going on in the
//! background when the one who asked cannot wait.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use metrics::Gauge;
use moka::future::Cache;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::AbortHandle,
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

use crate::{
    AllSums,
    hints::Hinted,
    ledger::{Ledger, Progress},
    reader::{Blocks, Reader},
    records::Settled,
};
use assay_domain::{Address, ChainId, PoolHistory};
use assay_evm::client::Block;
use assay_trace::TRACE;

/// Reads of one chain that may go on when nobody waits for them. What is read is kept, so that one refused here
/// continues with the next request.
const BACKGROUND: usize = 32;
/// A read that took longer than this reads on to where the head is then.
const CURRENT: Duration = Duration::from_secs(20);

/// A history that its position contradicts is read once more, and this long not again: where what contradicts it is no
/// lie but something that no log tells, it would be read in full with every request.
const DOUBT: Duration = Duration::from_secs(600);
/// Wallets whose doubts are remembered.
const DOUBTED: u64 = 10_000;

/// Completes when a read that was left to the background has ended.
pub type Rest = BoxFuture<'static, ()>;

/// Settled history as it was found in the store.
pub struct Kept(Vec<Option<Settled>>);

type Outcome = Shared<BoxFuture<'static, Progress>>;

/// All reads of one chain.
pub struct Jobs {
    reader: Arc<Reader>,
    running: Running,
    background: Arc<Semaphore>,
    doubted: Cache<Address, ()>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

type Running = Arc<Mutex<HashMap<Address, Arc<Job>>>>;

struct Job {
    outcome: Outcome,
    view: watch::Receiver<Ledger>,
    abort: AbortHandle,
    /// Held while the job runs without anybody waiting.
    permit: OnceLock<Place>,
}

/// A place among the reads that nobody waits for, counted while it is taken.
struct Place {
    _permit: OwnedSemaphorePermit,
    taken: Gauge,
}

impl Place {
    fn taken(permit: OwnedSemaphorePermit, chain: ChainId) -> Self {
        let taken = metrics::gauge!("assay_background_reads_running", "chain" => chain.to_string());
        taken.increment(1.0);
        Self { _permit: permit, taken }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.decrement(1.0);
    }
}

impl Jobs {
    pub fn new(reader: Reader, tasks: TaskTracker, stop: CancellationToken) -> Self {
        let background = Arc::new(Semaphore::new(BACKGROUND));
        let doubted = Cache::builder().max_capacity(DOUBTED).time_to_live(DOUBT).build();
        Self { reader: Arc::new(reader), running: Running::default(), background, doubted, tasks, stop }
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// What was kept of `wallet`'s history, for [`history`](Self::history): it can be fetched while the head is.
    pub async fn kept(&self, wallet: Address) -> Kept {
        Kept(self.reader.records(wallet).await)
    }

    /// Which markets `kept` shows nothing of, one entry per market.
    pub fn blank(&self, kept: &Kept) -> Vec<bool> {
        kept.0.iter().map(|record| record.as_ref().is_none_or(Settled::is_blank)).collect()
    }

    /// Has the next read begin anew with the markets of which the history of `wallet` was `doubted`: what one endpoint
    /// left out another, or the same on another day, may tell. Those that were `blank` cost no more than a first read,
    /// and are read at once where only a lie can have doubted them.
    pub async fn doubt(&self, wallet: Address, doubted: &[usize], blank: &[bool]) {
        if doubted.is_empty() {
            return;
        }
        let lied_to = |index: &usize| {
            let logged = self.reader.markets.get(*index).is_some_and(|market| market.lender.logs_its_traces());
            logged && blank.get(*index).is_some_and(|blank| *blank)
        };
        if !doubted.iter().all(lied_to) && !self.doubted.entry(wallet).or_insert(()).await.is_fresh() {
            return;
        }
        self.reader.doubt(wallet, doubted).await;
    }

    /// The highest block that `kept` is settled through. Only its number and hash are known.
    pub fn settled(&self, kept: &Kept) -> Option<Block> {
        let highest = kept.0.iter().flatten().max_by_key(|record| record.through)?;
        Some(Block { number: highest.through, hash: highest.hash, time: 0 })
    }

    /// The blocks by which `kept` is checked at `head`, for [`history`](Self::history): they can be asked for with
    /// other things.
    pub fn anchors(&self, kept: &Kept, head: Block) -> Vec<u64> {
        self.reader.anchors(&kept.0, head)
    }

    /// The history of `wallet` in every market of the chain, as far as it is read by `deadline`, and what its amounts
    /// add up to; and the rest of the reading where it goes on.
    pub async fn history(
        &self,
        wallet: Address,
        kept: Kept,
        hints: Hinted,
        blocks: Blocks,
        head: Block,
        deadline: Instant,
    ) -> (Vec<PoolHistory>, AllSums, Option<Rest>) {
        let job = self.join(wallet, kept, hints, blocks, head);
        let (progress, rest) = match timeout_at(deadline, job.outcome.clone()).await {
            Ok(progress) => (progress, None),
            Err(_) => (Progress::Running, self.leave(&job)),
        };
        let ledger = job.view.borrow();
        (ledger.pools(self.reader.chain, &self.reader.markets, progress), ledger.sums(), rest)
    }

    /// The job for `wallet` that runs, or a new one.
    fn join(&self, wallet: Address, kept: Kept, hints: Hinted, blocks: Blocks, head: Block) -> Arc<Job> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = running.get(&wallet) {
            return job.clone();
        }
        let (view, seen) = watch::channel(Ledger::new(&self.reader.markets, &kept.0));
        let (reader, stop) = (self.reader.clone(), self.stop.clone());
        let span = assay_trace::adopt(
            tracing::info_span!(target: TRACE, parent: None, "read lending history", assay.chain = reader.chain),
        );
        let read = async move {
            stop.run_until_cancelled(read_to_the_end(&reader, wallet, kept.0, hints, blocks, head, &view)).await
        };
        let task = self.tasks.spawn(read.instrument(span));
        let abort = task.abort_handle();
        let done = Finished { running: self.running.clone(), wallet };
        let outcome = async move {
            // Cancelled or failed in itself: what was read so far stands, and more was to come.
            let progress = task.await.ok().flatten().unwrap_or(Progress::Running);
            drop(done);
            progress
        };
        let outcome = outcome.boxed().shared();
        // Somebody has to drive it to its end, also when all who asked have left.
        self.tasks.spawn(outcome.clone());
        let job = Arc::new(Job { outcome, view: seen, abort, permit: OnceLock::new() });
        running.insert(wallet, job.clone());
        job
    }

    /// Leaves a job to the background, or ends it where too many are there already.
    fn leave(&self, job: &Job) -> Option<Rest> {
        if job.permit.get().is_none() {
            match self.background.clone().try_acquire_owned() {
                Ok(permit) => _ = job.permit.set(Place::taken(permit, self.reader.chain)),
                Err(_) => {
                    metrics::counter!("assay_background_reads_refused_total", "chain" => self.reader.chain.to_string())
                        .increment(1);
                    job.abort.abort();
                    return None;
                }
            }
            metrics::counter!("assay_background_reads_total", "chain" => self.reader.chain.to_string()).increment(1);
        }
        Some(job.outcome.clone().map(drop).boxed())
    }
}

async fn read_to_the_end(
    reader: &Reader,
    wallet: Address,
    mut kept: Vec<Option<Settled>>,
    hints: Hinted,
    mut blocks: Blocks,
    mut head: Block,
    view: &watch::Sender<Ledger>,
) -> Progress {
    let hints = hints.shared();
    loop {
        let started = Instant::now();
        let progress = reader.read(wallet, kept, hints.clone().boxed(), blocks, head, view).await;
        if progress != Progress::Done || started.elapsed() < CURRENT {
            return progress;
        }
        match reader.client.head().await {
            Ok(now) => head = now,
            Err(_) => return progress,
        }
        kept = reader.records(wallet).await;
        let (client, anchors) = (reader.client.clone(), reader.anchors(&kept, head));
        blocks = async move { client.blocks(&anchors).await }.boxed();
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
