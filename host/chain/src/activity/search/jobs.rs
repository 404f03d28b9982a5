//! The searches of one chain: one job per wallet at a time, which callers share, and which goes on in the background
//! after their deadline. What it learned is kept when it ends, however it ends, so that the next one continues there.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use moka::future::Cache;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

use super::{
    known::Known,
    questions::{self, Scout},
    state::{Point, Search},
};
use crate::activity::{facts::Facts, records};
use assay_domain::{Address, ChainId};
use assay_evm::{
    client::{Answers, Block, Client, Series},
    fault::Fault,
    single_flight::{SingleFlight, Work},
};
use assay_store::Store;
use assay_trace::TRACE;

/// Jobs of one chain at one time: several batches of a hundred wallets, which share their rounds of questions. Each job
/// has one round in flight.
const MAX_JOBS: usize = 512;
/// Wallets of which something is remembered.
const CACHE_ENTRIES: u64 = 50_000;
/// Time for which a wallet is not searched again after its search ended in missing state.
const HOPELESS: Duration = Duration::from_secs(3_600);

/// A running search: its outcome, and what it has learned.
pub(crate) type Job = Work<End, watch::Receiver<Search>>;

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything was asked that can be.
    Over,
    /// The endpoint failed, or the server stops.
    Broken,
}

/// The input of a search.
pub(crate) struct Start {
    pub wallet: Address,
    pub head: Block,
    /// The nonce at the head among them.
    pub answers: Answers,
    /// What is known and was checked.
    pub search: Search,
    /// The first round, if it was sent.
    pub scout: Option<Scout>,
}

pub(crate) struct Searches {
    searcher: Arc<Searcher>,
    jobs: SingleFlight<Address, End, watch::Receiver<Search>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

struct Searcher {
    chain: ChainId,
    client: Client,
    store: Store,
    finality: u64,
    /// Searches take as few calls as possible, and not as few round trips.
    sparing: bool,
    known: Cache<Address, Known>,
    /// Nonces of wallets whose search ended in missing state.
    hopeless: Cache<Address, u64>,
}

impl Searches {
    pub(crate) fn new(
        chain: ChainId,
        client: Client,
        store: Store,
        finality: u64,
        tasks: TaskTracker,
        stop: CancellationToken,
        sparing: bool,
    ) -> Self {
        let known = Cache::builder().max_capacity(CACHE_ENTRIES).build();
        let hopeless = Cache::builder().max_capacity(CACHE_ENTRIES).time_to_live(HOPELESS).build();
        let searcher = Searcher { chain, client, store, finality, sparing, known, hopeless };
        Self { searcher: Arc::new(searcher), jobs: SingleFlight::default(), tasks, stop }
    }

    pub(crate) fn chain(&self) -> ChainId {
        self.searcher.chain
    }

    /// What earlier searches learned of `wallet`; `None` before the first one.
    pub(crate) async fn known(&self, wallet: Address) -> Option<Known> {
        self.searcher.known(wallet).await
    }

    /// Whether the transactions of `wallet`, which has this nonce, are not to be found in the state that is kept.
    pub(crate) async fn is_hopeless(&self, wallet: Address, nonce: u64) -> bool {
        self.searcher.hopeless.get(&wallet).await == Some(nonce)
    }

    /// Sends the first round for `wallet` over the blocks up to `top`; a sparing search waits for the nonce.
    pub(crate) fn scout(&self, wallet: Address, top: u64) -> Option<Scout> {
        let (client, stop) = (self.searcher.client.clone(), self.stop.clone());
        let scout =
            async move { stop.run_until_cancelled(questions::scout(&client, wallet, top)).await.and_then(Result::ok) };
        (!self.searcher.sparing).then(|| self.tasks.spawn(scout))
    }

    /// The running search for a wallet, or a new one; `None` if too many run.
    pub(crate) fn join(&self, start: Start) -> Option<Job> {
        let job = self.jobs.join_within(MAX_JOBS, start.wallet, || {
            let (view, receiver) = watch::channel(Search::default());
            let (searcher, stop) = (self.searcher.clone(), self.stop.clone());
            let span = assay_trace::adopt(
                tracing::info_span!(target: TRACE, parent: None, "search transactions", assay.chain = searcher.chain),
            );
            let task = self.tasks.spawn(async move { searcher.run(start, &view, &stop).await }.instrument(span));
            (task.map(|end| end.unwrap_or(End::Broken)), receiver)
        })?;
        if !job.joined {
            // Keeps the job listed while it runs, also after all callers have left.
            self.tasks.spawn(job.outcome.clone());
        }
        Some(job)
    }
}

impl Searcher {
    async fn known(&self, wallet: Address) -> Option<Known> {
        if let Some(known) = self.known.get(&wallet).await {
            return Some(known);
        }
        match self.store.get(&records::sent(self.chain, wallet)).await {
            Ok(record) => Some(self.known.entry(wallet).or_insert(record?.into()).await.into_value()),
            Err(error) => {
                tracing::error!(chain = self.chain, %error, "the stored search of an address cannot be read");
                None
            }
        }
    }

    async fn run(&self, start: Start, view: &watch::Sender<Search>, stop: &CancellationToken) -> End {
        let (wallet, head) = (start.wallet, start.head);
        // Until this job ends, later reads need no first round.
        self.known.entry(wallet).or_default().await;
        let mut nonce = 0;
        let end = match stop.run_until_cancelled(self.search(start, view, &mut nonce)).await {
            Some(Ok(())) => End::Over,
            Some(Err(fault)) => {
                tracing::warn!(chain = self.chain, %fault, "first and last transaction cannot be searched");
                End::Broken
            }
            None => End::Broken,
        };
        let search = view.borrow().clone();
        self.keep(wallet, &search, head, nonce).await;
        end
    }

    /// Searches until nothing is left to ask, or a round teaches nothing. `nonce` gets that at the head, unless it is
    /// that of no account with transactions.
    async fn search(&self, start: Start, view: &watch::Sender<Search>, nonce: &mut u64) -> Result<(), Fault> {
        let Start { wallet, head, answers, search: checked, scout } = start;
        let mut series = self.client.series();
        let scouted = match scout {
            Some(scout) => scout.await.ok().flatten(),
            None => None,
        };
        let ahead = async {
            let scouted = scouted?;
            let mut search = scouted.search;
            let top = Point { block: head.number, nonce: scouted.latest };
            // If it fails, the next round asks again.
            let _ = self.ask(wallet, &mut series, &mut search, top, head).await;
            Some(search)
        };
        // The second round goes out with the question for the nonce: it is the newest one in almost all cases.
        let (facts, ahead) = tokio::join!(Facts::from(answers), ahead);
        // If the account cannot be read, the read that asks says so.
        let Some(sent) = facts.ok().and_then(|facts| facts.sent()) else { return Ok(()) };
        *nonce = sent;
        let top = Point { block: head.number, nonce: sent };
        let mut search = ahead.unwrap_or(checked);
        search.learn_block(head);
        view.send_replace(search.clone());
        while !search.is_over(top) {
            let before = search.clone();
            let asked = self.ask(wallet, &mut series, &mut search, top, head).await;
            view.send_replace(search.clone());
            if search == before {
                asked?;
                return Err(Fault::Malformed("a block that exists is unknown".into()));
            }
        }
        Ok(())
    }

    /// One round, and the final block by which it is kept.
    async fn ask(
        &self,
        wallet: Address,
        series: &mut Series,
        search: &mut Search,
        top: Point,
        head: Block,
    ) -> Result<(), Fault> {
        let mut round = search.round(top, questions::probes(&self.client, self.sparing));
        if round.is_empty() {
            return Ok(());
        }
        round.blocks.extend(self.final_block(head).filter(|block| !search.blocks.contains_key(block)));
        questions::ask(series, wallet, &round, search).await
    }

    fn final_block(&self, head: Block) -> Option<u64> {
        head.number.checked_sub(self.finality)
    }

    /// Remembers what holds of `search`, and stores what is final.
    async fn keep(&self, wallet: Address, search: &Search, head: Block, nonce: u64) {
        let top = Point { block: head.number, nonce };
        if search.is_hopeless(top) {
            self.hopeless.insert(wallet, nonce).await;
        }
        let final_block = self.final_block(head);
        let anchor = final_block.and_then(|block| search.blocks.get(&block)).copied();
        if nonce == 0 || anchor.is_none() != final_block.is_none() {
            return;
        }
        let known = Known::of(search, top, anchor);
        let record = known.record();
        self.known.insert(wallet, known).await;
        let Some(record) = record else { return };
        if let Err(error) = self.store.put(&records::sent(self.chain, wallet), &record).await {
            tracing::error!(chain = self.chain, %error, "the search of an address cannot be stored");
        }
    }
}
