//! Reads of lending history: one per address and chain at a time, shared by concurrent callers. A read continues in the
//! background after its callers' deadline.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
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
    figures::{hints::Hinted, indexed::Indexed, sums::Sums},
    history::{
        doubts::Doubts,
        ledger::{Ledger, MarketHistory, ReadProgress},
        read::{Blocks, HistoryStart, read},
        reader::Reader,
        settled::SettledHistory,
    },
    lending_read::{KnownHistory, LendingRead, MarketResult, SecondSource},
    limits,
    market::Market,
    pauses,
    position::terms_cache::{SharedTerms, wallet_hints},
};
use assay_domain::{Address, B256, ChainId};
use assay_evm::{
    Block, Fault,
    client::Anchors,
    single_flight::{Outcome, SingleFlight},
};
use assay_tasks::Tracker;
use assay_trace::TRACE;

/// Completes when a background read has ended.
pub type Rest = BoxFuture<'static, ()>;

/// The history of one wallet in all markets.
pub struct History {
    pub markets: Vec<MarketHistory>,
    /// The rest of the read, if it continues.
    pub rest: Option<Rest>,
}

/// The records of one wallet in the store, and its history in the index.
pub struct StoredHistory {
    records: Vec<Option<SettledHistory>>,
    indexed: Option<Indexed>,
    /// For each market, the parts of the position that the wallet is known to have had, including those in contradicted
    /// histories.
    parts: Vec<BTreeSet<B256>>,
}

impl StoredHistory {
    /// The last block of the index.
    fn indexed(&self) -> Option<(u64, B256)> {
        self.indexed.as_ref().map(|indexed| (indexed.through, indexed.hash))
    }

    /// What is known of each of the markets of `reader`.
    fn known(&self, reader: &Reader) -> impl Iterator<Item = KnownHistory> {
        let others = reader.client.other_endpoints();
        // Known to refuse wide ranges, it is not asked for a whole history.
        let answers_all = others.as_ref().is_some_and(|others| others.log_ceiling() == u64::MAX);
        let has_index = reader.index.as_ref().is_some_and(|index| index.is_ready());
        reader.markets.iter().zip(&self.records).map(move |(market, record)| {
            let parts = self.indexed.iter().flat_map(|indexed| &indexed.markets);
            let mut parts = parts.filter(|part| part.address == market.config.address).peekable();
            // A first read of the index from one endpoint is as sure as that endpoint.
            let is_compared = self.indexed.as_ref().is_some_and(|indexed| indexed.is_checked);
            let by_index = has_index && is_compared && parts.peek().is_some();
            let confirmed = record.as_ref().map(|record| record.confirmed.is_some_and(|to| to >= record.through));
            let check = match (others.is_some(), by_index) {
                (true, _) => SecondSource::Endpoint { is_expected: confirmed.unwrap_or(answers_all) || by_index },
                (false, true) => SecondSource::Index,
                (false, false) => SecondSource::None,
            };
            let is_indexed = parts.any(|part| !part.entries.is_empty());
            let is_blank = record.as_ref().is_none_or(SettledHistory::is_blank) && !is_indexed;
            KnownHistory { is_blank, is_indexed, check }
        })
    }
}

/// All reads of one chain.
pub struct Jobs {
    reader: Arc<Reader>,
    running: SingleFlight<Address, ReadProgress, Arc<ReadJob>>,
    background: Arc<Semaphore>,
    doubts: Doubts,
    /// Parts of positions that wallets once had, one entry per market.
    parts: Cache<Address, Arc<[BTreeSet<B256>]>>,
    tasks: Tracker,
    stop: CancellationToken,
}

/// State that the callers of a running read share.
struct ReadJob {
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
        let background = Arc::new(Semaphore::new(limits::BACKGROUND_READS));
        let (reader, doubts) = (Arc::new(reader), Doubts::default());
        let parts = Cache::builder().max_capacity(limits::CACHED_PARTS).build();
        Self { reader, running: SingleFlight::default(), background, doubts, parts, tasks, stop }
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The terms of all markets, looked up once and shared.
    pub fn terms(&self, head: Block) -> SharedTerms {
        let reader = self.reader.clone();
        async move { reader.terms.current(&reader.client, &reader.markets, head).await }.boxed().shared()
    }

    /// Looks up the terms of all markets if that is due, so that reads need not.
    ///
    /// # Errors
    /// [`Fault`] if that fails; earlier terms remain in use.
    pub async fn refresh_terms(&self, head: Block) -> Result<(), Fault> {
        self.reader.terms.refresh(&self.reader.client, &self.reader.markets, head).await
    }

    /// What earlier reads know of `wallet`, for [`history`](Self::history). It can be loaded while the head is
    /// requested.
    pub async fn stored(&self, wallet: Address) -> StoredHistory {
        let records = self.reader.records(wallet).await;
        let indexed = self.reader.indexed(wallet, &records).await;
        let seen = self.parts.get(&wallet).await;
        let of = |(index, record): (usize, &Option<SettledHistory>)| {
            let settled = record.iter().filter_map(|record| record.sums.as_ref()).flat_map(Sums::markets);
            let of_index = self.reader.markets.get(index).zip(indexed.as_ref()).into_iter();
            let of_index = of_index.flat_map(|(market, indexed)| indexed.parts(market.config.address));
            let seen = seen.iter().flat_map(|seen| seen.get(index)).flatten().copied();
            settled.chain(of_index).chain(seen).collect()
        };
        StoredHistory { parts: records.iter().enumerate().map(of).collect(), records, indexed }
    }

    /// A read of `wallet` in all markets, by what is `stored`.
    pub fn begin(&self, wallet: Address, stored: &StoredHistory) -> LendingRead {
        LendingRead::new(self.reader.chain, wallet, &self.reader.markets, stored.known(&self.reader))
    }

    /// Remembers the parts of positions in `histories`, if a market's hints depend on them.
    async fn remember(&self, wallet: Address, histories: &[MarketHistory]) {
        let of = |(market, history): (&Market, &MarketHistory)| {
            let sums = history.sums.as_ref().filter(|_| market.protocol.aliases().is_some());
            sums.map(Sums::markets).unwrap_or_default()
        };
        let parts: Vec<_> = self.reader.markets.iter().zip(histories).map(of).collect();
        if parts.iter().any(|parts| !parts.is_empty()) {
            self.parts.insert(wallet, parts.into()).await;
        }
    }

    /// Makes the next read start over in the markets where the history of `wallet` is doubted, and compare old state if
    /// a position can change without a log: another endpoint, or the same one later, may return the missing logs.
    /// Histories that were blank before and after the read cost no more than a first read. They are read again each
    /// time, if only missing logs can be the cause.
    pub async fn doubt(&self, wallet: Address, results: &[MarketResult]) {
        if !results.iter().any(MarketResult::is_doubted) {
            return;
        }
        let (mut again, stored) = (Vec::new(), self.stored(wallet).await);
        for (index, (result, KnownHistory { is_blank, .. })) in
            results.iter().zip(stored.known(&self.reader)).enumerate()
        {
            if !result.is_doubted() {
                continue;
            }
            let lacks_logs = result.market.protocol.profile().logs_its_traces && result.was_blank() && is_blank;
            if self.doubts.is_due(wallet, index, lacks_logs).await {
                again.push(index);
            }
        }
        if !again.is_empty() {
            self.reader.doubt(wallet, &again).await;
        }
    }

    /// The blocks by which `stored` is checked at `head`, for [`history`](Self::history). They can be requested in a
    /// batch with others.
    pub fn anchors(&self, stored: &StoredHistory, head: Block) -> Anchors {
        self.reader.anchors(&stored.records, stored.indexed(), head)
    }

    /// The history of `wallet` in every market of the chain, as far as it is read by `deadline`.
    pub async fn history(
        &self,
        wallet: Address,
        stored: StoredHistory,
        terms: SharedTerms,
        blocks: Blocks,
        head: Block,
        deadline: Instant,
    ) -> History {
        let doubted = self.doubts.of(wallet, self.reader.markets.len());
        let StoredHistory { records, indexed, parts } = stored;
        let (reader, parts) = (self.reader.clone(), Arc::<[BTreeSet<B256>]>::from(parts));
        let known = parts.clone();
        let hints = async move {
            wallet_hints(&reader.client, &reader.markets, terms.await.ok().as_ref(), wallet, &known, head).await
        };
        let hints: Hinted = hints.boxed().shared();
        let start = HistoryStart { wallet, records, indexed, hints: hints.clone(), doubted, blocks, head };
        let work = self.running.join(wallet, || self.start(start, parts));
        if !work.joined {
            // The read continues without its callers.
            self.tasks.spawn("lending history", work.outcome.clone());
        }
        let (progress, rest) = match timeout_at(deadline, work.outcome.clone()).await {
            Ok(progress) => (progress, None),
            Err(_) => (ReadProgress::Running, self.leave_running(work.outcome, &work.state)),
        };
        let ledger = work.state.view.borrow().clone();
        let mut markets = ledger.histories(self.reader.chain, &self.reader.markets, &progress);
        for (history, hints) in markets.iter_mut().zip(hints.now_or_never().iter().flat_map(|hints| hints.iter())) {
            history.hints = hints.clone().unwrap_or_default();
        }
        for (market, history) in self.reader.markets.iter().zip(&mut markets) {
            history.numbered = self.reader.numbered(wallet, market, history).await;
        }
        self.remember(wallet, &markets).await;
        History { markets, rest }
    }

    /// A new read on a task. `parts` are those that the wallet is known to have had, one entry per market.
    fn start(
        &self,
        start: HistoryStart,
        parts: Arc<[BTreeSet<B256>]>,
    ) -> (impl Future<Output = ReadProgress> + Send + use<>, Arc<ReadJob>) {
        let (view, receiver) = watch::channel(Ledger::new(&self.reader.markets, &start.records));
        let (reader, stop) = (self.reader.clone(), self.stop.clone());
        let span = assay_trace::adopt(
            tracing::info_span!(target: TRACE, parent: None, "read lending history", assay.chain = reader.chain),
        );
        let read = async move { stop.run_until_cancelled(read_to_the_head(&reader, start, &parts, &view)).await };
        let task = self.tasks.spawn("lending history", read.instrument(span));
        let job = ReadJob { view: receiver, abort: task.abort_handle(), permit: OnceLock::new() };
        // After a cancellation or a panic, the parts read so far count, and the read is not finished.
        let outcome = async move { task.await.ok().flatten().unwrap_or(ReadProgress::Running) };
        (outcome, Arc::new(job))
    }

    /// Lets a read run without a caller, or aborts it if too many do.
    fn leave_running(&self, outcome: Outcome<ReadProgress>, job: &ReadJob) -> Option<Rest> {
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

/// Reads to the head; after a long read once more, to the new head if there is one. If the wallet has other names in
/// the logs by then, such as a new account, the next read goes on with them.
async fn read_to_the_head(
    reader: &Reader,
    mut start: HistoryStart,
    parts: &[BTreeSet<B256>],
    view: &watch::Sender<Ledger>,
) -> ReadProgress {
    let (wallet, hints, doubted) = (start.wallet, start.hints.clone(), start.doubted.clone());
    loop {
        let (started, read_at) = (Instant::now(), start.head.hash);
        let progress = read(reader, start, view).await;
        if progress != ReadProgress::Done || started.elapsed() < pauses::LONG_READ {
            return progress;
        }
        let Some(head) = reader.client.head().await.ok().filter(|head| head.hash != read_at) else { return progress };
        let terms = reader.terms.current(&reader.client, &reader.markets, head).await.ok();
        let now = wallet_hints(&reader.client, &reader.markets, terms.as_ref(), wallet, parts, head).await;
        if now != hints.clone().await {
            return progress;
        }
        let records = reader.records(wallet).await;
        let (client, anchors) = (reader.client.clone(), reader.anchors(&records, None, head));
        let blocks = async move { client.stand(head, anchors).await }.boxed();
        let (hints, doubted) = (hints.clone(), doubted.clone());
        start = HistoryStart { wallet, records, indexed: None, hints, doubted, blocks, head };
    }
}
