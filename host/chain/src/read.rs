//! One chain's part of a snapshot: head first, then everything else side by side, pinned to it.

use crate::activity::records::ActivityProgress;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use futures::FutureExt;
use tokio::{
    sync::{Semaphore, oneshot},
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::config::{ChainConfig, Discovery, Reading};
use crate::{
    ChainStatus,
    activity::{self, ActivityReader, Histories, Listed, NodeLogs, Source, Stands},
    explorer::Explorers,
    holdings::{Account, Finder, Found},
    prices::{External, PriceBook},
};
use assay_domain::Prices;
use assay_domain::{Activity, Address, ChainId, ChainSnapshot, Coverage};
use assay_evm::{
    client::{Block, Client, ask_block, block_from},
    endpoint::Http,
    fault::Fault,
};
use assay_lending::{AllTerms, Jobs, Market, Reader, Recent, Rest, State, TermsCache, cross_check, failed_pool, hints};
use assay_store::Store;

/// Reads of a chain's state at one time. Those that go on together share what the endpoints answer, and were there a
/// thousand, none would end before all do; so the next one waits until one has ended.
const AT_ONCE: usize = 32;

/// One configured chain.
pub(super) struct Chain {
    config: ChainConfig,
    client: Client,
    terms: Arc<TermsCache>,
    prices: PriceBook,
    activity: ActivityReader,
    /// Where the chain has an explorer, or its logs are read in its place.
    listed: Option<(Histories, Finder)>,
    lending: Jobs,
    status: Mutex<Standing>,
    turns: Semaphore,
}

/// How the chain answered last; neither before it was asked.
#[derive(Debug, Clone, Default)]
struct Standing {
    head: Option<u64>,
    error: Option<String>,
}

impl Chain {
    pub(super) fn new(
        http: &Http,
        config: &ChainConfig,
        explorers: &Explorers,
        reading: &Reading,
        external: &Arc<External>,
        store: &Store,
        (tasks, stop): (&TaskTracker, &CancellationToken),
    ) -> Self {
        let client = Client::new(http, &config.endpoints(), &reading.rpc);
        let markets = config.markets.iter().cloned().map(Market::new);
        let reader = Reader {
            chain: config.id,
            client: client.clone(),
            markets: markets.collect(),
            store: store.clone(),
            tasks: tasks.clone(),
            logs: reading.logs(),
            finality: config.finality,
            recent: Recent::default(),
        };
        let source = match (explorers.of(config), reading.discovery) {
            (Some(explorer), _) => Some(Source::Explorer(explorer)),
            (None, Discovery::Logs) => Some(Source::Logs(NodeLogs::new(client.clone(), reading))),
            (None, Discovery::Explorer) => None,
        };
        let listed = source.map(|source| {
            let histories =
                Histories::new(config.id, source, store.clone(), config.finality, tasks.clone(), stop.clone());
            (histories, Finder::new(client.clone(), store.clone(), config))
        });
        Self {
            client: client.clone(),
            listed,
            terms: Arc::default(),
            prices: PriceBook::new(config, external),
            activity: ActivityReader::new(config.id, client, store.clone(), config.finality),
            lending: Jobs::new(reader, tasks.clone(), stop.clone()),
            status: Mutex::default(),
            turns: Semaphore::new(AT_ONCE),
            config: config.clone(),
        }
    }

    pub(super) fn id(&self) -> ChainId {
        self.config.id
    }

    /// Blocks after which one is final.
    pub(super) fn finality(&self) -> u64 {
        self.config.finality
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Reads `wallet` by `deadline`. What is not read by then says so; lending history that goes on being read is the
    /// rest. Whoever reads the same chain beside this is `told` the block.
    pub(super) async fn read(
        &self,
        wallet: Address,
        deadline: Instant,
        told: oneshot::Sender<Block>,
    ) -> (ChainSnapshot, Option<Rest>) {
        // What earlier reads left is fetched while the chain is asked for its head.
        let start = async {
            let turn = self.turns.acquire().await;
            let (head, kept, known, settled) = tokio::join!(
                self.head(),
                self.lending.stored(wallet),
                self.activity.known(wallet),
                self.settled(wallet)
            );
            (turn, head, kept, known, settled)
        };
        let (turn, head, kept, known, settled) = match timeout_at(deadline, start).await {
            Ok((turn, Ok(head), kept, known, settled)) => (turn, head, kept, known, settled),
            Ok((_, Err(_), ..)) => return (self.failed(), None),
            // Its turn did not come, or the head not before the time was up.
            Err(_) => return (self.waited_for(), None),
        };
        // Nobody may be listening.
        let _ = told.send(head);
        let (book, client, markets) = (self.terms.clone(), self.client.clone(), self.lending.reader().markets.clone());
        let terms = async move { book.current(&client, &markets, head.hash).await }.boxed().shared();
        let (found, markets) = (terms.clone(), self.lending.reader().markets.clone());
        let hints = async move { hints(&markets, found.await.ok().as_ref()) }.boxed();
        let blank = self.lending.blank(&kept);
        let account = async {
            let terms = terms.await?;
            // Prices need the markets' oracles; both reads of state go out together.
            let (oracles, quotes) =
                (oracles(&terms), terms.iter().flatten().filter_map(|terms| terms.quoted_in()).collect::<Vec<_>>());
            let (account, prices) = tokio::join!(
                Account::read(&self.client, &self.config, &terms, &blank, wallet, head),
                self.prices.current(&self.client, &oracles, &quotes, head)
            );
            account.map(|account| (account, prices))
        };
        // What the two histories ask for besides is one request.
        let vouching =
            known.as_ref().map(|known| activity::anchors(known, self.lending.settled(&kept))).unwrap_or_default();
        let anchors = self.lending.anchors(&kept, head);
        let anchor = settled.anchor.filter(|anchor| anchor.block <= head.number);
        let vouched = vouching.iter().map(|block| block.number).chain(anchor.map(|anchor| anchor.block));
        let numbers: BTreeSet<u64> = vouched.chain(anchors.iter().copied()).collect();
        let asks = std::iter::once(activity::ask_nonce(wallet, head)).chain(numbers.iter().copied().map(ask_block));
        let answers = self.client.together(asks.collect());
        // An explorer's rows name no block by its hash: its time has to do.
        let hash = settled.anchor_hash;
        let place = anchor.and_then(|anchor| numbers.iter().position(|number| *number == anchor.block));
        let behind = settled.anchor.is_some() && anchor.is_none();
        let stands = answers.clone().map(move |answers| {
            let Some((anchor, place)) = anchor.zip(place) else { return (!behind).then_some(true) };
            let block = block_from(answers.ok()?.get(place + 1)?.clone().ok()?).ok()?;
            Some(block.is_some_and(|block| hash.map_or(block.moment() == anchor.time, |hash| block.hash == hash)))
        });
        let blocks = answers.clone().map(move |answers| {
            let answers = answers?;
            let blocks = numbers.iter().zip(answers.iter().skip(1)).filter(|(number, _)| anchors.contains(number));
            blocks.map(|(_, answer)| block_from(answer.clone()?)).collect()
        });
        let own = async {
            let activity = self.activity.read(wallet, known, &vouching, head, answers);
            let own = tokio::join!(timeout_at(deadline, account), timeout_at(deadline, activity));
            // Histories wait for one another by themselves, and some of them long.
            drop(turn);
            own
        };
        let ((account, activity), (pools, sums, rest), (listed, more)) = tokio::join!(
            own,
            self.lending.history(wallet, kept, hints, blocks.boxed(), head, deadline),
            self.listed(wallet, settled, stands.boxed(), head, deadline)
        );
        let rest = both(rest, more);
        let mut snapshot = ChainSnapshot { pools, ..self.failed() };
        let (account, prices) = match account {
            Ok(Ok(read)) => read,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.config.id, %fault, "balances and positions cannot be read");
                return (snapshot, rest);
            }
            Err(_) => {
                snapshot.coverage = Coverage::Pending;
                // What the wallet has could not speak for them yet.
                snapshot
                    .pools
                    .iter_mut()
                    .filter(|pool| pool.coverage == Coverage::Complete)
                    .for_each(|pool| pool.coverage = Coverage::Partial);
                return (snapshot, rest);
            }
        };
        let (activity, searched) = match activity {
            Ok(Ok(activity)) => (activity, true),
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.config.id, %fault, "activity cannot be read");
                (Activity::default(), false)
            }
            Err(_) => (Activity::default(), false),
        };
        let (activity, searched) = match &listed {
            Some(seen) if searched => {
                match timeout_at(
                    deadline,
                    activity::together(&self.client, wallet, head, activity.clone(), &seen.listed),
                )
                .await
                {
                    Ok((activity, whole)) => (activity, whole && seen.whole),
                    Err(_) => (activity, false),
                }
            }
            _ => (activity, searched),
        };
        let (positions, all) = account.positions(&self.config, self.markets(), &prices.prices);
        let state = State {
            positions: &positions,
            balances: &account.balances(),
            ever_held: account.ever_held(),
            at: head.time,
        };
        let doubted = cross_check(&mut snapshot.pools, self.markets(), &sums, &state);
        self.lending.doubt(wallet, &doubted, &blank).await;
        let mut tokens = account.holdings(&self.config, &prices.prices);
        // What is held and has lost its price counts as nothing, and what a market's oracle says may be wrong: neither
        // unsaid.
        let priced = !tokens.iter().any(|held| prices.lacking.contains(&held.contract))
            && (prices.trusted || positions.is_empty());
        let whole = account.whole && all && searched && priced;
        let nfts = listed.map(|seen| {
            // What oracles and feeds say goes before what an API says.
            let prices = seen.prices.into_iter().chain(prices.prices).collect();
            tokens.extend(seen.found.tokens(&self.config, &prices));
            seen.found.nfts
        });
        let snapshot = ChainSnapshot {
            coverage: if whole { Coverage::Complete } else { Coverage::Partial },
            activity,
            tokens,
            nfts: nfts.unwrap_or_default(),
            positions,
            ..snapshot
        };
        (snapshot, rest)
    }

    /// What was listed and settled by earlier reads.
    async fn settled(&self, wallet: Address) -> ActivityProgress {
        match &self.listed {
            Some((histories, _)) => histories.kept(wallet).await,
            None => ActivityProgress::default(),
        }
    }

    /// What is listed of `wallet`, and what it holds of that; and the rest of the reading where it goes on.
    async fn listed(
        &self,
        wallet: Address,
        settled: ActivityProgress,
        stands: Stands,
        head: Block,
        deadline: Instant,
    ) -> (Option<Seen>, Option<Rest>) {
        let Some((histories, finder)) = &self.listed else { return (None, None) };
        // What is listed has to be looked up after that.
        let soon = deadline - deadline.saturating_duration_since(Instant::now()) / 4;
        let (listed, rest) = histories.read(wallet, settled, stands, head, soon).await;
        let found = match timeout_at(deadline, finder.find(wallet, &listed.progress, head)).await {
            Ok(Ok(found)) => found,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.config.id, %fault, "tokens that are listed cannot be looked up");
                Found::default()
            }
            Err(_) => Found::default(),
        };
        let tokens = found.to_price();
        let prices = match tokens.is_empty() {
            true => Ok(Prices::new()),
            false => timeout_at(deadline, self.prices.found(&tokens)).await,
        };
        let priced = prices.as_ref().is_ok_and(|prices| !self.prices.lost(&tokens, prices));
        let seen =
            Seen { whole: listed.whole && found.whole && priced, listed, found, prices: prices.unwrap_or_default() };
        (Some(seen), rest)
    }

    /// Asks the chain for its head, and looks up what its markets have in common, so that the first request need not.
    pub(super) async fn warm(&self) {
        if let Ok(head) = self.head().await
            && let Err(fault) = self.terms.current(&self.client, self.markets(), head.hash).await
        {
            tracing::warn!(chain = self.config.id, %fault, "lending markets cannot be looked up");
        }
    }

    /// The newest block, also told in the status.
    pub(super) async fn head(&self) -> Result<Block, Fault> {
        let head = self.client.head().await;
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        match &head {
            Ok(head) => {
                if status.head.is_none() {
                    tracing::info!(
                        chain = self.config.id,
                        endpoint = self.client.endpoint(),
                        head = head.number,
                        "chain can be read"
                    );
                }
                metrics::gauge!("assay_chain_head_block", "chain" => self.config.id.to_string())
                    .set(head.number as f64);
                *status = Standing { head: Some(head.number), error: None };
            }
            Err(fault) => {
                if status.error.is_none() {
                    tracing::warn!(chain = self.config.id, %fault, "chain cannot be read");
                }
                *status = Standing { head: None, error: Some(fault.to_string()) };
            }
        }
        head
    }

    pub(super) fn status(&self) -> ChainStatus {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ChainStatus {
            chain_id: self.config.id,
            chain_name: self.config.name.clone(),
            endpoint: self.client.endpoint(),
            head: status.head,
            error: status.error,
        }
    }

    /// The snapshot of a chain that could not be read.
    pub(super) fn failed(&self) -> ChainSnapshot {
        ChainSnapshot {
            chain_id: self.config.id,
            chain_name: self.config.name.clone(),
            coverage: Coverage::Failed,
            activity: Activity::default(),
            tokens: Vec::new(),
            nfts: Vec::new(),
            positions: Vec::new(),
            pools: self.config.markets.iter().map(|market| failed_pool(self.config.id, market)).collect(),
        }
    }

    /// The snapshot of a chain that was not read in time: it is going to be where it answered when it was asked last.
    fn waited_for(&self) -> ChainSnapshot {
        let mut snapshot = self.failed();
        if self.status().head.is_some() {
            snapshot.coverage = Coverage::Pending;
            snapshot.pools.iter_mut().for_each(|pool| pool.coverage = Coverage::Pending);
        }
        snapshot
    }

    fn markets(&self) -> &[Market] {
        &self.lending.reader().markets
    }
}

/// What was told of an address besides what its node counts.
struct Seen {
    listed: Listed,
    found: Found,
    prices: Prices,
    /// None of it was left out.
    whole: bool,
}

/// Completes when both have.
fn both(one: Option<Rest>, other: Option<Rest>) -> Option<Rest> {
    match (one, other) {
        (Some(one), Some(other)) => Some(async { _ = tokio::join!(one, other) }.boxed()),
        (one, other) => one.or(other),
    }
}

/// Each oracle once, in the order of the markets.
fn oracles(terms: &AllTerms) -> Vec<(Address, assay_domain::U256)> {
    let mut oracles = Vec::new();
    for oracle in terms.iter().flatten().filter_map(|terms| terms.oracle()) {
        if !oracles.contains(&oracle) {
            oracles.push(oracle);
        }
    }
    oracles
}
