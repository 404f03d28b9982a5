//! Reads the blocks between the end of the index and the newest final block, several ranges at a time, and appends them
//! in order. While one segment is appended, the next is read.

use std::sync::Arc;

use futures::{StreamExt, stream};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::task::AbortOnDropHandle;

use super::{
    agree::Agreed,
    fetch::FetchedRange,
    indexer::{Indexer, Trouble},
    metrics::FollowReport,
};
use crate::{Check, Checkpoint, Index, IndexError, IndexProgress, Segment, WalletEntries, limits};
use assay_evm::{
    Fault, Span,
    logs::{Stop, chunk},
};

/// One reading of some blocks.
pub(super) struct Ranges<'a> {
    by: &'a Arc<Indexer>,
    index: &'a Index,
    agreed: &'a mut Agreed,
    report: &'a mut FollowReport,
    /// The first block that is not yet read, and the last one to read.
    at: u64,
    to: u64,
    /// Width of the next ranges.
    width: u64,
    /// It reads few new blocks.
    follows: bool,
    pending: Pending,
    /// The segment that is being appended.
    appending: Option<JoinHandle<Result<IndexProgress, Trouble>>>,
}

/// Ranges that were read and are not yet appended.
#[derive(Default)]
struct Pending {
    wallets: Vec<assay_lending::WalletEntries>,
    logs: usize,
    ranges: usize,
    /// The blocks of these logs. After a failed append, they do not continue where the index ends.
    blocks: Option<Span>,
    check: Option<Check>,
}

impl Pending {
    fn add(&mut self, pieces: Vec<FetchedRange>, range: Span) {
        for FetchedRange { wallets, logs, check } in pieces {
            self.wallets.extend(wallets);
            self.logs += logs;
            self.check = Some(self.check.map_or(check, |before| weaker(before, check)));
        }
        let from = self.blocks.map_or(range.from, |blocks| blocks.from);
        self.blocks = Some(Span { from, to: range.to });
        self.ranges += 1;
    }

    fn is_full(&self) -> bool {
        self.logs >= limits::LOGS_PER_APPEND || self.ranges >= limits::RANGES_PER_APPEND
    }
}

fn weaker(one: Check, other: Check) -> Check {
    match (one, other) {
        (Check::None, _) | (_, Check::None) => Check::None,
        (Check::Bloom, _) | (_, Check::Bloom) => Check::Bloom,
        (Check::Endpoint, Check::Endpoint) => Check::Endpoint,
    }
}

impl<'a> Ranges<'a> {
    pub(crate) fn new(
        by: &'a Arc<Indexer>,
        index: &'a Index,
        agreed: &'a mut Agreed,
        to: u64,
        report: &'a mut FollowReport,
    ) -> Self {
        let at = agreed.progress.next();
        let follows = to.saturating_sub(at) < by.finality.max(64);
        let (width, pending) = (by.logs.range, Pending::default());
        Self { by, index, agreed, report, at, to, width, follows, pending, appending: None }
    }

    /// Reads to the last block. What was read before a failure is appended too.
    pub(crate) async fn run(mut self) -> Result<(), Trouble> {
        self.report.begin(&self.agreed.progress, self.to, self.agreed.scan.queries().len());
        let mut read = Ok(());
        while self.at <= self.to && read.is_ok() {
            read = self.some_ranges().await;
        }
        let appended = match self.append().await {
            Ok(()) => self.appended().await,
            failed => failed,
        };
        read.and(appended)
    }

    /// Some ranges of one width.
    async fn some_ranges(&mut self) -> Result<(), Trouble> {
        let (by, follows) = (self.by, self.follows);
        let most = self.width.min(by.client.log_ceiling());
        let spans = Span { from: self.at, to: self.to }.pieces(most).take(limits::RANGES_AT_ONE_WIDTH);
        let scan = self.agreed.scan.clone();
        // A task of its own for each range: they use all cores.
        let read = |span| {
            let (by, scan) = (by.clone(), scan.clone());
            AbortOnDropHandle::new(assay_tasks::spawn("index range", async move {
                chunk(span, by.logs.range, |span| by.fetch(&scan, span, follows)).await
            }))
        };
        let mut chunks = stream::iter(spans).map(read).buffered(by.logs.concurrency);
        let (mut ranges, mut logs) = (0, 0);
        while let Some(chunk) = chunks.next().await.transpose()? {
            ranges += 1;
            logs += chunk.found.iter().map(|piece| piece.logs).sum::<usize>();
            if let Some(through) = chunk.through {
                self.pending.add(chunk.found, Span { from: self.at, to: through });
                self.at = through.saturating_add(1);
            }
            if self.pending.is_full() {
                self.append().await?;
            }
            match chunk.stop {
                None => {}
                Some(Stop::Gap(fault)) => return Err(fault.into()),
                Some(Stop::Ceiling(ceiling)) => {
                    by.client.lower_log_ceiling(ceiling);
                    self.width = ceiling.width;
                    return Ok(());
                }
                Some(Stop::Narrow(width)) => {
                    self.width = width;
                    return Ok(());
                }
            }
        }
        self.width = next_width(most, logs, ranges);
        Ok(())
    }

    /// Begins to append what is pending, after what is being appended.
    async fn append(&mut self) -> Result<(), Trouble> {
        self.appended().await?;
        let Pending { wallets, blocks, check, .. } = std::mem::take(&mut self.pending);
        let Some(Span { from, to }) = blocks else { return Ok(()) };
        let through = self.by.checkpoint(self.agreed.progress.through(), to).await?;
        let markets = self.by.markets.iter().map(|market| self.agreed.progress.market(market.config.address));
        let markets: Vec<Option<usize>> = markets.collect();
        let (index, chain) = (self.index.clone(), self.by.chain);
        let check = check.unwrap_or(Check::None);
        self.appending = Some(spawn_blocking(move || {
            let of_market = |found: assay_lending::WalletEntries| {
                let market = markets.get(found.market).copied().flatten()?;
                Some(WalletEntries { wallet: found.wallet, market, entries: found.entries })
            };
            let wallets = wallets.into_iter().filter_map(of_market).collect();
            index.append(chain, Segment { from, through, wallets, check })?;
            Ok(index.progress(chain)?.ok_or(IndexError::Unknown(chain))?)
        }));
        Ok(())
    }

    /// Waits for what is being appended.
    async fn appended(&mut self) -> Result<(), Trouble> {
        let Some(appending) = self.appending.take() else { return Ok(()) };
        self.agreed.progress = appending.await??;
        if let Some(through) = self.agreed.progress.through() {
            self.by.state.set(|state| (state.through, state.hash) = (Some(through.number), Some(through.hash)));
        }
        self.report.reached(&self.agreed.progress, self.to);
        Ok(())
    }
}

impl Indexer {
    /// Block `through`, if the chain still has the end of the index before it.
    async fn checkpoint(&self, before: Option<Checkpoint>, through: u64) -> Result<Checkpoint, Fault> {
        let numbers: Vec<u64> = before.iter().map(|before| before.number).chain([through]).collect();
        self.budget.spend(1).await;
        let mut blocks = self.client.blocks(&numbers).await?;
        let block = blocks.pop().flatten().ok_or_else(|| Fault::Malformed(format!("no block {through}")))?;
        let there = blocks.pop().flatten();
        if before.is_some_and(|before| there.map(|block| block.hash) != Some(before.hash)) {
            return Err(Fault::Malformed("the chain was replaced while it was read".into()));
        }
        Ok(Checkpoint { number: block.number, hash: block.hash })
    }
}

/// The width of the next ranges after `ranges` of `width` blocks had so many logs.
fn next_width(width: u64, logs: usize, ranges: usize) -> u64 {
    match logs / ranges.max(1) {
        logs if logs > 2 * limits::LOGS_PER_RANGE => width / 2,
        logs if logs < limits::LOGS_PER_RANGE / 2 => width.saturating_mul(2),
        _ => width,
    }
    .clamp(1, limits::WIDEST_RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_as_wide_as_their_logs_allow() {
        assert_eq!(next_width(10_000, 0, 16), 20_000);
        assert_eq!(next_width(limits::WIDEST_RANGE, 0, 16), limits::WIDEST_RANGE);
        assert_eq!(next_width(10_000, 16 * limits::LOGS_PER_RANGE, 16), 10_000);
        assert_eq!(next_width(10_000, 80 * limits::LOGS_PER_RANGE, 16), 5_000);
        assert_eq!(next_width(1, 80 * limits::LOGS_PER_RANGE, 16), 1);
    }

    #[test]
    fn a_segment_is_checked_as_well_as_its_least_checked_range() {
        assert_eq!(weaker(Check::Endpoint, Check::Endpoint), Check::Endpoint);
        assert_eq!(weaker(Check::Endpoint, Check::Bloom), Check::Bloom);
        assert_eq!(weaker(Check::None, Check::Endpoint), Check::None);
        assert_eq!(weaker(Check::Bloom, Check::None), Check::None);
    }
}
