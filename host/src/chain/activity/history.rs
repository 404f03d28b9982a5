//! Reads of an explorer's lists as jobs: one per address and chain at a time, shared by all who ask, going on in the background when
//! the one who asked cannot wait. What is settled is kept after every page, so that the next read goes on from there; an address
//! with very many rows is read over several requests.

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

use super::tally;
use crate::{
    chain::{
        client::Block,
        explorer::{Explorer, List, Pages, Refusal, Row},
        lending::Rest,
    },
    domain::{Address, ChainId, Seen, time_from_unix},
    store::{Store, keys, records::ActivityProgress},
};

/// Pages of one list in one read: some 25,000 rows.
const PAGES: u32 = 25;
/// Reads of one chain at once. Explorers allow so few calls that more would only wait for each other.
const AT_ONCE: usize = 16;

/// Reads of one chain that run or wait at once; further ones say what was known before.
const MOST: usize = 128;

/// What an explorer lists of an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::chain) struct Listed {
    /// Through the head where whole, else as far as it was read.
    pub progress: ActivityProgress,
    pub whole: bool,
}

/// The lists of one chain's explorer.
pub(in crate::chain) struct Histories {
    reader: Arc<Reader>,
    running: Running,
    tasks: TaskTracker,
    stop: CancellationToken,
}

struct Reader {
    chain: ChainId,
    explorer: Explorer,
    store: Store,
    finality: u64,
    slots: Semaphore,
}

type Running = Arc<Mutex<HashMap<Address, Job>>>;

#[derive(Clone)]
struct Job {
    ended: Shared<BoxFuture<'static, ()>>,
    view: watch::Receiver<Listed>,
}

/// Whether the chain still has the block that what is kept was settled by; `None` where it cannot be asked.
pub(in crate::chain) type Stands = BoxFuture<'static, Option<bool>>;

impl Histories {
    pub(in crate::chain) fn new(
        chain: ChainId,
        explorer: Explorer,
        store: Store,
        finality: u64,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let reader = Reader { chain, explorer, store, finality, slots: Semaphore::new(AT_ONCE) };
        Self { reader: Arc::new(reader), running: Running::default(), tasks, stop }
    }

    /// What earlier reads settled.
    pub(in crate::chain) async fn kept(&self, wallet: Address) -> ActivityProgress {
        match self.reader.store.get(&keys::activity(self.reader.chain, wallet)).await {
            Ok(kept) => kept.unwrap_or_default(),
            Err(error) => {
                tracing::error!(chain = self.reader.chain, %error, "what was read of an address before cannot be used");
                ActivityProgress::default()
            }
        }
    }

    /// What the explorer lists of `wallet` by `deadline`; and the rest of the reading where it goes on.
    pub(in crate::chain) async fn read(
        &self,
        wallet: Address,
        kept: ActivityProgress,
        stands: Stands,
        head: Block,
        deadline: Instant,
    ) -> (Listed, Option<Rest>) {
        let Some(job) = self.join(wallet, &kept, stands, head) else {
            metrics::counter!("assay_explorer_reads_refused_total", "chain" => self.reader.chain.to_string()).increment(1);
            return (Listed { progress: kept, whole: false }, None);
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
        let (view, seen) = watch::channel(Listed { progress: kept.clone(), whole: false });
        let (reader, stop) = (self.reader.clone(), self.stop.clone());
        let done = Finished { running: self.running.clone(), wallet };
        let task = self.tasks.spawn(async move {
            let _done = done;
            stop.run_until_cancelled(reader.read(wallet, stands, head, &view)).await;
        });
        let job = Job { ended: task.map(drop).boxed().shared(), view: seen };
        running.insert(wallet, job.clone());
        Some(job)
    }
}

impl Reader {
    async fn read(&self, wallet: Address, stands: Stands, head: Block, view: &watch::Sender<Listed>) {
        let Ok(_slot) = self.slots.acquire().await else { return };
        let settled = match stands.await {
            Some(true) => view.borrow().progress.clone(),
            Some(false) => ActivityProgress::default(),
            None => return,
        };
        let mut reading = Reading { wallet, settled, tail: Vec::new(), final_block: head.number.saturating_sub(self.finality) };
        let mut whole = true;
        for list in List::ALL {
            match self.list(&mut reading, list, head, view).await {
                Ok(all) => whole &= all,
                Err(refusal) => {
                    tracing::debug!(chain = self.chain, ?list, %refusal, "a list of the explorer cannot be read");
                    whole = false;
                    if !matches!(refusal, Refusal::Other(_) | Refusal::TooLarge) {
                        break;
                    }
                }
            }
        }
        view.send_replace(Listed { progress: reading.with_tail(), whole });
    }

    /// Reads one list on; whether that was all of it.
    async fn list(&self, reading: &mut Reading, list: List, head: Block, view: &watch::Sender<Listed>) -> Result<bool, Refusal> {
        let from = *tally::from(&mut reading.settled, list);
        let mut pages = Pages::new(&self.explorer, list, reading.wallet, from, head.number);
        for _ in 0..PAGES {
            let Some(rows) = pages.next().await? else { return Ok(!pages.damaged) };
            // A row that cannot be read may be any: what came with it is not settled.
            if reading.take(list, rows, !pages.damaged) {
                self.keep(reading.wallet, &reading.settled).await;
                view.send_replace(Listed { progress: reading.with_tail(), whole: false });
            }
        }
        Ok(pages.is_done() && !pages.damaged)
    }

    async fn keep(&self, wallet: Address, settled: &ActivityProgress) {
        if let Err(error) = self.store.put(&keys::activity(self.chain, wallet), settled).await {
            tracing::error!(chain = self.chain, %error, "what an explorer lists of an address cannot be kept");
        }
    }
}

/// A read under way.
struct Reading {
    wallet: Address,
    settled: ActivityProgress,
    /// Later rows, which every read takes anew.
    tail: Vec<Row>,
    final_block: u64,
}

impl Reading {
    /// Takes the rows of whole blocks in; whether more is settled now.
    fn take(&mut self, list: List, rows: Vec<Row>, may_settle: bool) -> bool {
        let mut grown = false;
        for row in rows {
            let settles = may_settle && row.block <= self.final_block;
            if !settles {
                self.tail.push(row);
                continue;
            }
            tally::add(&mut self.settled, self.wallet, &row);
            *tally::from(&mut self.settled, list) = row.block.saturating_add(1);
            if self.settled.anchor.is_none_or(|anchor| anchor.block < row.block) {
                self.settled.anchor = Some(Seen { block: row.block, time: time_from_unix(row.time) });
            }
            grown = true;
        }
        grown
    }

    fn with_tail(&self) -> ActivityProgress {
        let mut progress = self.settled.clone();
        self.tail.iter().for_each(|row| tally::add(&mut progress, self.wallet, row));
        progress
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
