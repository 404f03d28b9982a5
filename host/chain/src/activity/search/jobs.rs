//! The searches of one chain: one job per wallet at a time, shared by its callers, which continues in the background
//! after their deadline. Its results are kept however it ends, and the next job continues there.

use std::sync::Arc;

use futures::FutureExt;
use moka::future::Cache;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    known::KnownNonces,
    questions::{self, Scout},
    round::{Goal, SearchPlan},
    state::{Point, Search},
};
use crate::{
    activity::{account::Answers, records},
    config::Spare,
    limits, pauses,
};
use assay_domain::{Address, ChainId};
use assay_evm::{
    client::{Block, Client, Series},
    fault::Fault,
    single_flight::{SingleFlight, Work},
};
use assay_store::Store;
use assay_tasks::Tracker;
use assay_trace::TRACE;

/// Maximum wallets in the cache.
const CACHE_ENTRIES: u64 = 50_000;

/// A running search: its outcome, and what it has learned.
pub(crate) type SearchJob = Work<SearchEnd, watch::Receiver<Search>>;

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchEnd {
    /// Nothing is left to request.
    Over,
    /// The answers of every endpoint contradict each other.
    Contradicted,
    /// The endpoint failed, or the server stops.
    Broken,
}

/// Why the transactions of a wallet cannot be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hopeless {
    /// They are in state that the endpoint does not keep.
    Missing,
    /// Old state has nonces that contradict each other.
    Contradicted,
}

/// How a chain is searched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchMethod {
    /// Depth of a final block.
    pub finality: u64,
    pub spare: Spare,
    /// Accounts of the chain had nonces before its first block.
    pub genesis_accounts: bool,
}

/// The input of a search.
pub(crate) struct SearchStart {
    pub wallet: Address,
    pub head: Block,
    /// The nonce at the head among them.
    pub answers: Answers,
    /// What is known and was checked.
    pub search: Search,
    pub goal: Goal,
    /// The first round, if it was sent.
    pub scout: Option<Scout>,
}

pub(crate) struct Searches {
    searcher: Arc<Searcher>,
    jobs: SingleFlight<Address, SearchEnd, watch::Receiver<Search>>,
    tasks: Tracker,
    stop: CancellationToken,
}

/// What all rounds of a search have in common.
#[derive(Clone, Copy)]
struct Asking {
    wallet: Address,
    head: Block,
    goal: Goal,
}

struct Searcher {
    chain: ChainId,
    client: Client,
    store: Store,
    method: SearchMethod,
    known: Cache<Address, KnownNonces>,
    /// Wallets that are not searched, with their nonce.
    hopeless: Cache<Address, (u64, Hopeless)>,
}

impl Searches {
    pub(crate) fn new(
        chain: ChainId,
        client: Client,
        store: Store,
        method: SearchMethod,
        tasks: Tracker,
        stop: CancellationToken,
    ) -> Self {
        let known = Cache::builder().max_capacity(CACHE_ENTRIES).build();
        let hopeless = Cache::builder().max_capacity(CACHE_ENTRIES).time_to_live(pauses::SEARCH_WITHOUT_STATE).build();
        let searcher = Searcher { chain, client, store, method, known, hopeless };
        Self { searcher: Arc::new(searcher), jobs: SingleFlight::default(), tasks, stop }
    }

    pub(crate) fn chain(&self) -> ChainId {
        self.searcher.chain
    }

    /// What earlier searches learned of `wallet`; `None` before the first one.
    pub(crate) async fn known(&self, wallet: Address) -> Option<KnownNonces> {
        self.searcher.known(wallet).await
    }

    /// Why the transactions of `wallet`, which has this nonce, cannot be found.
    pub(crate) async fn hopeless(&self, wallet: Address, nonce: u64) -> Option<Hopeless> {
        self.searcher.hopeless.get(&wallet).await.filter(|(known, _)| *known == nonce).map(|(_, why)| why)
    }

    /// Sends the first round for `wallet` over the blocks up to `top`; a search that spares calls waits for the nonce.
    pub(crate) fn scout(&self, wallet: Address, top: u64) -> Option<Scout> {
        let (client, stop, spare) = (self.searcher.client.clone(), self.stop.clone(), self.searcher.method.spare);
        let scout = async move {
            stop.run_until_cancelled(questions::scout(&client, wallet, top, spare)).await.and_then(Result::ok)
        };
        (spare != Spare::Calls).then(|| self.tasks.spawn("search", scout))
    }

    /// The running search for a wallet, or a new one; `None` if too many run.
    pub(crate) fn join(&self, start: SearchStart) -> Option<SearchJob> {
        let job = self.jobs.join_within(limits::SEARCHES, start.wallet, || {
            let (view, receiver) = watch::channel(Search::default());
            let (searcher, stop) = (self.searcher.clone(), self.stop.clone());
            let span = assay_trace::adopt(
                tracing::info_span!(target: TRACE, parent: None, "search transactions", assay.chain = searcher.chain),
            );
            let task =
                self.tasks.spawn("search", async move { searcher.run(start, &view, &stop).await }.instrument(span));
            (task.map(|end| end.unwrap_or(SearchEnd::Broken)), receiver)
        })?;
        if !job.joined {
            // Keeps the job listed while it runs, even without callers.
            self.tasks.spawn("search", job.outcome.clone());
        }
        Some(job)
    }
}

impl Searcher {
    async fn known(&self, wallet: Address) -> Option<KnownNonces> {
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

    async fn run(&self, start: SearchStart, view: &watch::Sender<Search>, stop: &CancellationToken) -> SearchEnd {
        let (wallet, head) = (start.wallet, start.head);
        // Until this job ends, later reads need no first round.
        self.known.entry(wallet).or_default().await;
        let mut nonce = 0;
        let end = match stop.run_until_cancelled(self.search(start, view, &mut nonce)).await {
            Some(Ok(end)) => end,
            Some(Err(fault)) => {
                tracing::warn!(chain = self.chain, %fault, "first and last transaction cannot be searched");
                SearchEnd::Broken
            }
            None => SearchEnd::Broken,
        };
        let search = view.borrow().clone();
        self.keep(wallet, &search, head, nonce, end).await;
        end
    }

    /// Searches until nothing is left to request, or a round finds nothing new. `nonce` gets that at the head, unless
    /// it is that of no account with transactions.
    async fn search(
        &self,
        start: SearchStart,
        view: &watch::Sender<Search>,
        nonce: &mut u64,
    ) -> Result<SearchEnd, Fault> {
        let SearchStart { wallet, head, answers, search: checked, goal, scout } = start;
        let asking = Asking { wallet, head, goal };
        let mut series = self.client.series();
        let scouted = match scout {
            Some(scout) => scout.await.ok().flatten(),
            None => None,
        };
        let ahead = async {
            let scouted = scouted?;
            let mut search = scouted.search;
            search.learn_block(head);
            let top = Point { block: head.number, nonce: scouted.latest };
            // If it fails, the next round asks again.
            let _ = self.ask(asking, &mut series, &mut search, top).await;
            Some(search)
        };
        // The round goes out with the question for the nonce: it is the newest one in almost all cases.
        let (answered, ahead) = tokio::join!(answers, ahead);
        // If the account cannot be read, the read itself reports it.
        let account = answered.and_then(|answered| answered.account.clone());
        let Some(sent) = account.ok().and_then(|account| account.sent()) else { return Ok(SearchEnd::Over) };
        *nonce = sent;
        let top = Point { block: head.number, nonce: sent };
        let mut search = ahead.unwrap_or(checked);
        let mut is_second = false;
        loop {
            search.learn_block(head);
            if search.is_contradictory(top, self.method.genesis_accounts) {
                tracing::warn!(
                    chain = self.chain,
                    endpoint = self.client.endpoint(),
                    is_second,
                    "nonces after old blocks contradict each other: the endpoint ignores the block of a question"
                );
                search = Search::default();
                view.send_replace(search.clone());
                match self.client.other_endpoints().filter(|_| !is_second) {
                    Some(other) => series = other.series(),
                    None => return Ok(SearchEnd::Contradicted),
                }
                is_second = true;
                continue;
            }
            view.send_replace(search.clone());
            if search.is_over(top, goal) {
                return Ok(SearchEnd::Over);
            }
            let before = search.clone();
            let asked = self.ask(asking, &mut series, &mut search, top).await;
            if search == before {
                asked?;
                return Err(Fault::Malformed("a block that exists is unknown".into()));
            }
        }
    }

    /// One round, and the final block by which it is kept.
    async fn ask(&self, asking: Asking, series: &mut Series, search: &mut Search, top: Point) -> Result<(), Fault> {
        let Asking { wallet, head, goal } = asking;
        let SearchMethod { spare, genesis_accounts, .. } = self.method;
        let width = questions::width(&self.client, spare);
        let mut round = search.round(top, SearchPlan { goal, width, genesis_accounts });
        if round.is_empty() {
            return Ok(());
        }
        round.blocks.extend(self.final_block(head).filter(|block| !search.blocks.contains_key(block)));
        questions::ask(series, wallet, &round, search).await
    }

    fn final_block(&self, head: Block) -> Option<u64> {
        head.number.checked_sub(self.method.finality)
    }

    /// Remembers what holds of `search`, and stores what is final.
    async fn keep(&self, wallet: Address, search: &Search, head: Block, nonce: u64, end: SearchEnd) {
        let top = Point { block: head.number, nonce };
        if end == SearchEnd::Contradicted {
            return self.hopeless.insert(wallet, (nonce, Hopeless::Contradicted)).await;
        }
        if search.is_hopeless(top) {
            self.hopeless.insert(wallet, (nonce, Hopeless::Missing)).await;
        }
        let final_block = self.final_block(head);
        let anchor = final_block.and_then(|block| search.blocks.get(&block)).copied();
        if nonce == 0 || anchor.is_none() != final_block.is_none() {
            return;
        }
        let known = KnownNonces::of(search, top, anchor);
        let record = known.record();
        self.known.insert(wallet, known).await;
        let Some(record) = record else { return };
        if let Err(error) = self.store.put(&records::sent(self.chain, wallet), &record).await {
            tracing::error!(chain = self.chain, %error, "the search of an address cannot be stored");
        }
    }
}
