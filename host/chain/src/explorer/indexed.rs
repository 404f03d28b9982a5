//! An explorer as a source of first lending histories. It is trusted through the last block in which it lists the same
//! logs of a market as the node, there and in some earlier blocks. Its own claim of progress may refer to another part
//! of the explorer.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{
    FutureExt,
    future::{BoxFuture, try_join_all},
};

use super::{Explorer, ExplorerRefusal, logs::Which};
use assay_domain::{Address, B256, ChainId};
use assay_evm::{client::Client, logs::LogQuery, single_flight::SingleFlight, span::Span};
use assay_lending::{Named, WholeRange};

/// Lifetime of the comparison. Later blocks are read from the node.
const LIFETIME: Duration = Duration::from_secs(300);
/// Blocks in the first search for logs to compare; more if there are none.
const LOOK: u64 = 256;
const LOOKS: usize = 32;
/// Maximum logs per comparison.
const COMPARED: usize = 500;
/// The comparisons divide the history into this many parts.
const PARTS: u64 = 4;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct ExplorerLogs(Arc<ExplorerLogsInner>);

struct ExplorerLogsInner {
    chain: ChainId,
    explorer: Explorer,
    client: Client,
    markets: Vec<Address>,
    latest: Mutex<Option<(Instant, Option<u64>)>>,
    /// The comparison in progress. It may take longer than its callers wait, and then continues without them.
    comparing: SingleFlight<(), Option<u64>>,
}

impl ExplorerLogsInner {
    /// The result of the last comparison, if it still counts.
    fn known(&self) -> Option<Option<u64>> {
        let latest = self.latest();
        latest.filter(|(at, _)| at.elapsed() < LIFETIME).map(|(_, through)| through)
    }

    fn latest(&self) -> MutexGuard<'_, Option<(Instant, Option<u64>)>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WholeRange for ExplorerLogs {
    fn transactions<'a>(
        &'a self,
        wallet: Address,
        queries: &'a [LogQuery],
        span: Span,
    ) -> BoxFuture<'a, Option<Named>> {
        async move {
            let through = self.indexed_through(span).await?.min(span.to);
            let span = Some(Span { to: through, ..span }).filter(|span| span.from <= span.to)?;
            match self.named(wallet.into_word(), queries, span).await {
                Ok(transactions) => Some(Named { transactions, through }),
                Err(refusal) => {
                    tracing::debug!(chain = self.0.chain, %refusal, "logs cannot be listed by the explorer");
                    None
                }
            }
        }
        .boxed()
    }
}

impl ExplorerLogs {
    pub(crate) fn new(explorer: Explorer, client: Client, markets: Vec<Address>) -> Self {
        let (latest, comparing) = (Mutex::default(), SingleFlight::default());
        Self(Arc::new(ExplorerLogsInner { chain: client.chain(), explorer, client, markets, latest, comparing }))
    }

    async fn named(&self, wallet: B256, queries: &[LogQuery], span: Span) -> Result<BTreeSet<B256>, ExplorerRefusal> {
        let names = |topic: &usize| queries.iter().any(|q| q.topics.get(*topic).is_some_and(|t| t.contains(&wallet)));
        let lists = (1..=3).filter(names).map(|topic| self.0.explorer.logs(Which::Topic(topic, wallet), span));
        let rows = try_join_all(lists).await?.into_iter().flatten();
        let wanted = rows.filter(|row| queries.iter().any(|query| query.fits(row.contract, &row.topics)));
        Ok(wanted.map(|row| row.transaction).collect())
    }

    /// The last block of `span` through which the explorer has the logs of the markets; `None` if that is not known,
    /// or if it lacks some before.
    async fn indexed_through(&self, span: Span) -> Option<u64> {
        if let Some(through) = self.0.known() {
            return through;
        }
        let this = self.clone();
        let work = self.0.comparing.join((), || (async move { this.compare(span).await }, ()));
        if !work.joined {
            assay_tasks::spawn("explorer comparison", work.outcome.clone());
        }
        work.outcome.await
    }

    /// Compares the explorer with the node, and keeps the result.
    async fn compare(&self, span: Span) -> Option<u64> {
        // Another comparison may have ended just before this one began.
        if let Some(through) = self.0.known() {
            return through;
        }
        let (through, chain) = (self.compared(span).await, self.0.chain);
        match through {
            Some(block) => tracing::debug!(chain, block, "the explorer lists the logs of lending markets"),
            None => tracing::info!(
                chain,
                "the explorer does not list the logs of lending markets as the node does; first histories are read \
                 from the node"
            ),
        }
        *self.0.latest() = Some((Instant::now(), through));
        through
    }

    async fn compared(&self, span: Span) -> Option<u64> {
        for part in 1..PARTS {
            let to = span.from + span.width() / PARTS * part;
            if self.listed_through(to, span.from).await.is_some_and(|through| through < to) {
                return None;
            }
        }
        self.listed_through(span.to, span.from).await
    }

    /// `to` if the explorer lists the last logs of a market up to there, else the block before the first one that it
    /// lacks after one that it lists; `None` if there is nothing to compare.
    async fn listed_through(&self, to: u64, least: u64) -> Option<u64> {
        let (mut width, mut end, mut through) = (LOOK.min(self.0.client.log_ceiling()), to, to);
        for _ in 0..LOOKS {
            let look = Span { from: end.saturating_sub(width - 1).max(least), to: end };
            let query = LogQuery { addresses: self.0.markets.clone(), ..LogQuery::default() };
            let logs = self.0.client.believed_logs(&query, look).await.ok()?;
            if let Some(newest) = logs.last() {
                let own = logs.iter().filter(|log| log.address() == newest.address()).rev().take(COMPARED);
                let own: Vec<_> = own.filter_map(|log| log.block_number.zip(log.transaction_hash)).collect();
                let from = own.last().map_or(look.from, |(block, _)| *block);
                let listed =
                    self.0.explorer.logs(Which::Contract(newest.address()), Span { from, to: end }).await.ok()?;
                let listed: BTreeSet<B256> = listed.into_iter().map(|row| row.transaction).collect();
                let lacks = |(_, transaction): &&(u64, B256)| !listed.contains(transaction);
                let first_lacking = own.iter().rev().find(lacks).map(|(block, _)| *block);
                through = first_lacking.map_or(through, |block| block.saturating_sub(1));
                if first_lacking != Some(from) {
                    return Some(through);
                }
            }
            if look.from == least {
                return None;
            }
            end = look.from - 1;
            width = width.saturating_mul(4).min(self.0.client.log_ceiling());
        }
        None
    }
}
