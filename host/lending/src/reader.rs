//! Reading a wallet's lending history on one chain: from where the last read stopped to the head, over all markets at
//! once, after a look whether the chain is still the one that was read then.

use std::sync::Arc;

use futures::future::BoxFuture;
use moka::future::Cache;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::{
    Market,
    hints::{AllHints, Hint, Hinted},
    ledger::{Ledger, Progress},
    pass::Pass,
    plan::Plan,
    records::{self, Settled},
};
use assay_domain::{Address, ChainId};
use assay_evm::config::LogLimits;
use assay_evm::{
    client::{Block, Client},
    fault::Fault,
    span::Span,
};
use assay_store::{Batch, Store, StoreError};

/// What a read needs besides the wallet. Shared by all reads of a chain.
pub struct Reader {
    pub chain: ChainId,
    pub client: Client,
    pub markets: Arc<[Market]>,
    pub store: Store,
    /// Writes that nobody waits for; whoever closes the store does.
    pub tasks: TaskTracker,
    pub logs: LogLimits,
    pub finality: u64,
    /// Records as they were kept last, also before they are on disk.
    pub recent: Recent,
}

/// Blocks asked for by number, perhaps together with something else.
pub type Blocks = BoxFuture<'static, Result<Vec<Option<Block>>, Fault>>;

/// Records by wallet, one entry per market.
pub struct Recent(Cache<Address, Arc<[Option<Settled>]>>);

/// Blocks in which a wallet has so few logs that it is not worth asking for less: days to hours.
const TAIL: u64 = 20_000;

/// Wallets whose records are remembered.
const REMEMBERED: u64 = 50_000;

impl Default for Recent {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(REMEMBERED).build())
    }
}

impl Reader {
    /// What was kept of `wallet`'s history, one entry per market.
    pub(super) async fn records(&self, wallet: Address) -> Vec<Option<Settled>> {
        if let Some(recent) = self.recent.0.get(&wallet).await {
            return recent.to_vec();
        }
        records::load(&self.store, self.chain, &self.markets, wallet).await.unwrap_or_else(|error| {
            tracing::error!(chain = self.chain, %error, "lending progress cannot be read; the history is read from its start");
            vec![None; self.markets.len()]
        })
    }

    /// Reads from `records` to `head` as far as possible, showing progress in `view`. `blocks` are those of
    /// [`anchors`](Self::anchors).
    pub(super) async fn read(
        &self,
        wallet: Address,
        records: Vec<Option<Settled>>,
        hints: Hinted,
        blocks: Blocks,
        head: Block,
        view: &watch::Sender<Ledger>,
    ) -> Progress {
        let hints = hints.await;
        let ledger = Ledger::new(&self.markets, &records).planned(&self.markets, &hints);
        let from = ledger.start();
        let unsummed = self.unsummed(&records, &hints);
        let is_tail =
            unsummed.is_empty() && records.iter().all(Option::is_some) && head.number.saturating_sub(from) < TAIL;
        let whole = Plan::new(&self.markets, hints.clone(), wallet);
        let plan = if is_tail { Plan::tail(&self.markets, hints, wallet) } else { whole.clone() };
        view.send_replace(ledger);
        if plan.queries.is_empty() {
            return Progress::Done;
        }
        // The first span is asked for while the records are checked against the chain. Seldom is it asked for in vain.
        let from_there = unsummed.is_empty() && from <= head.number;
        let first = Span { from, to: head.number }.pieces(self.client.log_ceiling()).next().filter(|_| from_there);
        let ask_first = async {
            match first {
                Some(span) => Some(self.chunk(&plan, span).await),
                None => None,
            }
        };
        let (checked, first) = tokio::join!(self.check(&records, unsummed, blocks, head), ask_first);
        let (records, settled_to, plan, first) = match checked {
            Ok((stale, settled_to)) if stale.is_empty() => (records, settled_to, plan, first),
            // What was asked for is not where the read begins now.
            Ok((stale, settled_to)) => (self.forget(wallet, records, &stale).await, settled_to, whole, None),
            Err(fault) => {
                tracing::warn!(chain = self.chain, %fault, "lending history cannot be continued");
                return Progress::Stopped;
            }
        };
        let mut pass = Pass::new(self, plan, records, head, settled_to);
        let outcome = pass.run(first, view).await;
        if outcome.is_err() {
            pass.save().await;
        }
        view.send_replace(pass.ledger);
        match outcome {
            Ok(()) => Progress::Done,
            Err(fault) => {
                tracing::warn!(chain = self.chain, %fault, "lending history has a gap");
                Progress::Stopped
            }
        }
    }

    /// Keeps `records`, of which `batch` writes what is new. An answer does not wait for the disk: what a crash loses
    /// of it is read again.
    pub(super) async fn keep(&self, wallet: Address, records: &[Option<Settled>], batch: Result<Batch, StoreError>) {
        self.recent.0.insert(wallet, records.into()).await;
        let (store, chain) = (self.store.clone(), self.chain);
        self.tasks.spawn(async move {
            let written = async { store.commit(batch?).await };
            match written.await {
                Ok(_) => metrics::counter!("assay_lending_checkpoints_total", "chain" => chain.to_string()).increment(1),
                Err(error) => {
                    tracing::error!(chain, %error, "lending progress cannot be kept; after a restart it is read from further back");
                }
            }
        });
    }

    /// The blocks, in ascending order, by which `records` are checked at `head`, and the one through which history is
    /// settled then.
    pub(super) fn anchors(&self, records: &[Option<Settled>], head: Block) -> Vec<u64> {
        let known = records.iter().flatten().map(|record| record.through).filter(|block| *block <= head.number);
        let mut numbers: Vec<u64> = known.chain(self.settles(records, head)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The block through which this read settles history. `None` while the chain is shorter than its finality, and
    /// where what is settled ends less than another finality before it: reading a tail of twice the length costs
    /// nothing, moving its beginning costs a block and a write.
    fn settles(&self, records: &[Option<Settled>], head: Block) -> Option<u64> {
        let deepest = head.number.checked_sub(self.finality)?;
        let due = |record: &Option<Settled>| {
            record.as_ref().is_none_or(|record| record.through.saturating_add(self.finality) <= deepest)
        };
        records.iter().any(due).then_some(deepest)
    }

    /// Which records cannot be gone on with, because they are `unsummed` or stand on blocks that are no longer there,
    /// and the block through which this read settles history. `blocks` are those of [`anchors`](Self::anchors).
    async fn check(
        &self,
        records: &[Option<Settled>],
        unsummed: Vec<usize>,
        blocks: Blocks,
        head: Block,
    ) -> Result<(Vec<usize>, Option<Block>), Fault> {
        let (numbers, blocks) = (self.anchors(records, head), blocks.await?);
        let block = |number: u64| {
            let index = numbers.binary_search(&number).ok()?;
            blocks.get(index).copied().flatten()
        };
        let mut stale = unsummed;
        for (index, record) in records.iter().enumerate() {
            let Some(record) = record.as_ref().filter(|_| !stale.contains(&index)) else { continue };
            if record.through > head.number {
                stale.push(index);
                continue;
            }
            // A block below the head that the endpoint does not have says nothing about the chain.
            let there =
                block(record.through).ok_or_else(|| Fault::Malformed(format!("no block {}", record.through)))?;
            if there.hash != record.hash {
                stale.push(index);
            }
        }
        // What is read anew is settled on the way, wherever the stale records ended.
        let settles = match head.number.checked_sub(self.finality).filter(|_| !stale.is_empty()) {
            Some(deepest) => return Ok((stale, self.client.block(deepest).await?)),
            None => self.settles(records, head),
        };
        let settles = settles.map(|number| block(number).ok_or_else(|| Fault::Malformed(format!("no block {number}"))));
        Ok((stale, settles.transpose()?))
    }

    /// The records that say nothing of amounts although these are known now: of an older host, or read while a market
    /// did not tell its tokens. Such a history is read once more, for without amounts nothing vouches for it.
    fn unsummed(&self, records: &[Option<Settled>], hints: &AllHints) -> Vec<usize> {
        let markets = self.markets.iter().zip(hints.iter());
        let known = |(market, hints): (&Market, &Option<Vec<Hint>>)| {
            hints.as_ref().is_some_and(|hints| market.lender.adds_up(hints))
        };
        let silent = |record: &Option<Settled>| record.as_ref().is_some_and(|record| record.sums.is_none());
        records
            .iter()
            .zip(markets)
            .enumerate()
            .filter(|(_, (record, market))| silent(record) && known(*market))
            .map(|(i, _)| i)
            .collect()
    }

    /// Forgets what was kept of these markets. Also what is on its way to the store, which this cannot overtake: what
    /// is remembered counts until a restart, and after that it is doubted again.
    pub(super) async fn doubt(&self, wallet: Address, doubted: &[usize]) {
        let records = self.records(wallet).await;
        let records = self.forget(wallet, records, doubted).await;
        self.recent.0.insert(wallet, records.into()).await;
    }

    async fn forget(
        &self,
        wallet: Address,
        mut records: Vec<Option<Settled>>,
        stale: &[usize],
    ) -> Vec<Option<Settled>> {
        tracing::warn!(chain = self.chain, %wallet, markets = stale.len(),
            "settled lending history is read again: the chain was replaced below it, its amounts were not known, or the position contradicts it");
        self.recent.0.invalidate(&wallet).await;
        for index in stale {
            if let (Some(market), Some(record)) = (self.markets.get(*index), records.get_mut(*index)) {
                *record = None;
                if let Err(error) = records::forget(&self.store, self.chain, wallet, market).await {
                    tracing::error!(chain = self.chain, %error, "stale lending progress cannot be removed");
                }
            }
        }
        records
    }
}
