//! Reads of lending history: one per address and chain at a time, shared by concurrent callers. A read continues in the
//! background after its callers' deadline.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use metrics::Gauge;
use moka::future::Cache;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::AbortHandle,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    history::{
        doubts::Doubts,
        hints::Hinted,
        indexed::Indexed,
        ledger::{Ledger, Progress},
        past::AllPasts,
        read::{Blocks, Start, read},
        reader::Reader,
        settled::Settled,
        sums::Sums,
    },
    market::Market,
    position::cross_check::AllSums,
};
use assay_domain::{Address, B256, ChainId, PoolHistory};
use assay_evm::{
    Block,
    single_flight::{Outcome, SingleFlight},
};
use assay_tasks::Tracker;
use assay_trace::TRACE;

/// Maximum number of reads per chain that run without a caller. Settled history is saved, so a read that is refused
/// here continues with the next request.
const BACKGROUND: usize = 32;
/// A read that took longer than this continues to the new head.
const CURRENT: Duration = Duration::from_secs(20);

/// Number of wallets whose parts are cached.
const CACHED: u64 = 10_000;

/// Completes when a background read has ended.
pub type Rest = BoxFuture<'static, ()>;

/// The history of one wallet, one entry per market.
pub struct History {
    pub pools: Vec<PoolHistory>,
    /// The sums of the amounts.
    pub sums: AllSums,
    /// Single events.
    pub pasts: AllPasts,
    /// The rest of the read, if it continues.
    pub rest: Option<Rest>,
}

/// The records of one wallet in the store, and its history in the index.
pub struct Stored {
    records: Vec<Option<Settled>>,
    indexed: Option<Indexed>,
}

impl Stored {
    /// The last block of the index.
    fn indexed(&self) -> Option<u64> {
        self.indexed.as_ref().map(|indexed| indexed.through)
    }

    /// Whether the index has an event in this market.
    fn is_indexed(&self, market: &Market) -> bool {
        let parts = self.indexed.iter().flat_map(|indexed| &indexed.markets);
        parts.filter(|part| part.address == market.config.address).any(|part| !part.entries.is_empty())
    }
}

/// All reads of one chain.
pub struct Jobs {
    reader: Arc<Reader>,
    running: SingleFlight<Address, Progress, Arc<Job>>,
    background: Arc<Semaphore>,
    doubts: Doubts,
    /// Parts of positions that wallets once had, one entry per market.
    parts: Cache<Address, Arc<[BTreeSet<B256>]>>,
    tasks: Tracker,
    stop: CancellationToken,
}

/// State that the callers of a running read share.
struct Job {
    view: watch::Receiver<Ledger>,
    abort: AbortHandle,
    /// Held while the read runs without a caller.
    permit: OnceLock<BackgroundPermit>,
}

/// A permit to run without a caller, counted while it is held.
struct BackgroundPermit {
    _permit: OwnedSemaphorePermit,
    held: Gauge,
}

impl BackgroundPermit {
    fn new(permit: OwnedSemaphorePermit, chain: ChainId) -> Self {
        let held = metrics::gauge!("assay_background_reads_running", "chain" => chain.to_string());
        held.increment(1.0);
        Self { _permit: permit, held }
    }
}

impl Drop for BackgroundPermit {
    fn drop(&mut self) {
        self.held.decrement(1.0);
    }
}

impl Jobs {
    pub fn new(reader: Reader, tasks: Tracker, stop: CancellationToken) -> Self {
        let background = Arc::new(Semaphore::new(BACKGROUND));
        let (reader, doubts) = (Arc::new(reader), Doubts::default());
        let parts = Cache::builder().max_capacity(CACHED).build();
        Self { reader, running: SingleFlight::default(), background, doubts, parts, tasks, stop }
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The records of `wallet`, for [`history`](Self::history). They can be loaded while the head is requested.
    pub async fn stored(&self, wallet: Address) -> Stored {
        let records = self.reader.records(wallet).await;
        Stored { indexed: self.reader.indexed(wallet, &records).await, records }
    }

    /// Whether `stored` has no event, one entry per market.
    pub fn blank(&self, stored: &Stored) -> Vec<bool> {
        let records = stored.records.iter().map(|record| record.as_ref().is_none_or(Settled::is_blank));
        records.zip(self.indexed(stored)).map(|(blank, indexed)| blank && !indexed).collect()
    }

    /// Whether the index has an event of the wallet of `stored`, one entry per market.
    pub fn indexed(&self, stored: &Stored) -> Vec<bool> {
        self.reader.markets.iter().map(|market| stored.is_indexed(market)).collect()
    }

    /// The parts of positions that the wallet of `stored` is known to have had, one entry per market, including those
    /// in contradicted histories.
    pub async fn parts(&self, wallet: Address, stored: &Stored) -> Vec<BTreeSet<B256>> {
        let seen = self.parts.get(&wallet).await;
        let of = |(index, record): (usize, &Option<Settled>)| {
            let settled = record.iter().filter_map(|record| record.sums.as_ref()).flat_map(Sums::markets);
            settled.chain(seen.iter().flat_map(|seen| seen.get(index)).flatten().copied()).collect()
        };
        stored.records.iter().enumerate().map(of).collect()
    }

    /// Remembers the parts of positions in `sums`, if a market's hints depend on them.
    async fn remember(&self, wallet: Address, sums: &[Option<Sums>]) {
        let of = |(market, sums): (&Market, &Option<Sums>)| {
            let sums = sums.as_ref().filter(|_| market.protocol.has_aliases());
            sums.map(Sums::markets).unwrap_or_default()
        };
        let parts: Vec<_> = self.reader.markets.iter().zip(sums).map(of).collect();
        if parts.iter().any(|parts| !parts.is_empty()) {
            self.parts.insert(wallet, parts.into()).await;
        }
    }

    /// Makes the next read start over in the markets where the history of `wallet` is `doubted`, and compare old state
    /// if a position can change without a log: another endpoint, or the same one later, may return the missing logs.
    /// Histories that were `blank` before and after the read cost no more than a first read. They are read again each
    /// time, if only missing logs can be the cause.
    pub async fn doubt(&self, wallet: Address, doubted: &[usize], blank: &[bool]) {
        if doubted.is_empty() {
            return;
        }
        let (mut again, blank_now) = (Vec::new(), self.blank(&self.stored(wallet).await));
        for index in doubted {
            let logged = self.reader.markets.get(*index).is_some_and(|market| market.protocol.logs_its_traces());
            let is_blank = |list: &[bool]| list.get(*index).is_some_and(|blank| *blank);
            let lacks_logs = logged && is_blank(blank) && is_blank(&blank_now);
            if self.doubts.is_due(wallet, *index, lacks_logs).await {
                again.push(*index);
            }
        }
        if !again.is_empty() {
            self.reader.doubt(wallet, &again).await;
        }
    }

    /// The blocks by which `stored` is checked at `head`, for [`history`](Self::history). They can be requested in a
    /// batch with others.
    pub fn anchors(&self, stored: &Stored, head: Block) -> Vec<u64> {
        self.reader.anchors(&stored.records, stored.indexed(), head)
    }

    /// The history of `wallet` in every market of the chain, as far as it is read by `deadline`.
    pub async fn history(
        &self,
        wallet: Address,
        stored: Stored,
        hints: Hinted,
        blocks: Blocks,
        head: Block,
        deadline: Instant,
    ) -> History {
        let doubted = self.doubts.of(wallet, self.reader.markets.len());
        let Stored { records, indexed } = stored;
        let start = Start { wallet, records, indexed, hints, doubted, blocks, head };
        let work = self.running.join(wallet, || self.start(start));
        if !work.joined {
            // The read continues without its callers.
            self.tasks.spawn("lending history", work.outcome.clone());
        }
        let (progress, rest) = match timeout_at(deadline, work.outcome.clone()).await {
            Ok(progress) => (progress, None),
            Err(_) => (Progress::Running, self.leave_running(work.outcome, &work.state)),
        };
        let ledger = work.state.view.borrow().clone();
        let (pools, sums) = (ledger.pools(self.reader.chain, &self.reader.markets, &progress), ledger.sums());
        self.remember(wallet, &sums).await;
        History { pools, sums, pasts: ledger.pasts(), rest }
    }

    /// A new read on a task.
    fn start(&self, start: Start) -> (impl Future<Output = Progress> + Send + use<>, Arc<Job>) {
        let (view, receiver) = watch::channel(Ledger::new(&self.reader.markets, &start.records));
        let (reader, stop) = (self.reader.clone(), self.stop.clone());
        let span = assay_trace::adopt(
            tracing::info_span!(target: TRACE, parent: None, "read lending history", assay.chain = reader.chain),
        );
        let read = async move { stop.run_until_cancelled(read_to_the_head(&reader, start, &view)).await };
        let task = self.tasks.spawn("lending history", read.instrument(span));
        let job = Job { view: receiver, abort: task.abort_handle(), permit: OnceLock::new() };
        // After a cancellation or a panic, the parts read so far count, and the read is not finished.
        let outcome = async move { task.await.ok().flatten().unwrap_or(Progress::Running) };
        (outcome, Arc::new(job))
    }

    /// Lets a read run without a caller, or aborts it if too many do.
    fn leave_running(&self, outcome: Outcome<Progress>, job: &Job) -> Option<Rest> {
        let chain = self.reader.chain;
        if job.permit.get().is_none() {
            match self.background.clone().try_acquire_owned() {
                Ok(permit) => _ = job.permit.set(BackgroundPermit::new(permit, chain)),
                Err(_) => {
                    metrics::counter!("assay_background_reads_refused_total", "chain" => chain.to_string())
                        .increment(1);
                    job.abort.abort();
                    return None;
                }
            }
            metrics::counter!("assay_background_reads_total", "chain" => chain.to_string()).increment(1);
        }
        Some(outcome.map(drop).boxed())
    }
}

/// Reads to the head; after a long read once more, to the new head.
async fn read_to_the_head(reader: &Reader, mut start: Start, view: &watch::Sender<Ledger>) -> Progress {
    let (wallet, hints, doubted) = (start.wallet, start.hints.shared(), start.doubted.clone());
    start.hints = hints.clone().boxed();
    loop {
        let started = Instant::now();
        let progress = read(reader, start, view).await;
        if progress != Progress::Done || started.elapsed() < CURRENT {
            return progress;
        }
        let Ok(head) = reader.client.head().await else { return progress };
        let records = reader.records(wallet).await;
        let (client, anchors) = (reader.client.clone(), reader.anchors(&records, None, head));
        let blocks = async move { client.blocks(&anchors).await }.boxed();
        let (hints, doubted) = (hints.clone().boxed(), doubted.clone());
        start = Start { wallet, records, indexed: None, hints, doubted, blocks, head };
    }
}
