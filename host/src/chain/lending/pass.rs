//! One read of a wallet's lending history on one chain: from where the last one stopped to the head, over all markets at once.

use std::time::{Duration, Instant};

use alloy::rpc::types::Log;
use futures::{StreamExt, future::try_join_all, stream};
use tokio::sync::watch;

use super::{
    Market,
    events::{Event, answers, events, queries},
    ledger::{Ledger, Progress},
    range::{Reaction, reaction},
    records::{self, Settled},
    tally::untimed,
};
use crate::{
    chain::{
        client::{Block, Client, LogQuery},
        fault::Fault,
        span::Span,
    },
    config::Reading,
    domain::{Address, ChainId},
    store::Store,
};

/// Settled history is written down after so many ranges or so much time while a long read goes on: what a crash can lose.
const CHECKPOINT_RANGES: u32 = 16;
const CHECKPOINT: Duration = Duration::from_secs(1);

/// What a read needs besides the wallet. Shared by all reads of a chain.
pub(in crate::chain) struct Reader {
    pub chain: ChainId,
    pub client: Client,
    pub markets: Vec<Market>,
    pub store: Store,
    pub reading: Reading,
    pub finality: u64,
}

/// Logs of a span, read as far as it went.
struct Chunk {
    logs: Vec<Log>,
    /// Complete through this block; `None` where nothing was read.
    through: Option<u64>,
    stop: Option<Stop>,
}

enum Stop {
    /// What follows is to be asked for in pieces of this width.
    Narrow(u64),
    Gap(Fault),
}

/// A read that has begun.
struct Pass<'a> {
    reader: &'a Reader,
    wallet: Address,
    queries: Vec<LogQuery>,
    head: Block,
    /// Last block that is settled; `None` while the chain is shorter than its finality.
    settled_to: Option<Block>,
    ledger: Ledger,
    /// First block not yet read.
    at: u64,
    saved: Saved,
}

/// When settled history was written down last.
struct Saved {
    when: Instant,
    ranges_since: u32,
    /// All of it is.
    all: bool,
}

impl Reader {
    /// What was kept of `wallet`'s history, one entry per market.
    pub(super) async fn records(&self, wallet: Address) -> Vec<Option<Settled>> {
        records::load(&self.store, self.chain, &self.markets, wallet).await.unwrap_or_else(|error| {
            tracing::error!(chain = self.chain, %error, "lending progress cannot be read; the history is read from its start");
            vec![None; self.markets.len()]
        })
    }

    /// Reads from `records` to `head` as far as possible, showing progress in `view`.
    pub(super) async fn read(&self, wallet: Address, records: Vec<Option<Settled>>, head: Block, view: &watch::Sender<Ledger>) -> Progress {
        let mut ledger = Ledger::new(&self.markets, &records);
        view.send_replace(ledger.clone());
        let from = ledger.entries.iter().map(|entry| entry.next).min().unwrap_or(0);
        let queries = queries(&self.markets, wallet);
        if queries.is_empty() {
            return Progress::Done;
        }
        // The first span is asked for while the records are checked against the chain. Seldom is it asked for in vain.
        let first = Span { from, to: head.number }.pieces(self.client.log_ceiling()).next().filter(|_| from <= head.number);
        let ask_first = async {
            match first {
                Some(span) => Some(self.chunk(&queries, span).await),
                None => None,
            }
        };
        let (checked, mut first) = tokio::join!(self.check(&records, head), ask_first);
        let (records, settled_to) = match checked {
            Ok((stale, settled_to)) if stale.is_empty() => (records, settled_to),
            Ok((stale, settled_to)) => {
                first = None;
                (self.forget(wallet, records, &stale).await, settled_to)
            }
            Err(fault) => {
                tracing::warn!(chain = self.chain, %fault, "lending history cannot be continued");
                return Progress::Stopped;
            }
        };
        ledger = Ledger::new(&self.markets, &records);
        let at = ledger.entries.iter().map(|entry| entry.next).min().unwrap_or(0);
        let saved = Saved { when: Instant::now(), ranges_since: 0, all: false };
        let mut pass = Pass { reader: self, wallet, queries, head, settled_to, ledger, at, saved };
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

    /// Which records stand on blocks that are no longer there, and the block through which history is settled now.
    async fn check(&self, records: &[Option<Settled>], head: Block) -> Result<(Vec<usize>, Option<Block>), Fault> {
        let settled_to = head.number.checked_sub(self.finality);
        let known = records.iter().flatten().map(|record| record.through).filter(|block| *block <= head.number);
        let mut numbers: Vec<u64> = known.chain(settled_to).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let blocks = if numbers.is_empty() { Vec::new() } else { self.client.blocks(&numbers).await? };
        let block = |number: u64| {
            let index = numbers.binary_search(&number).ok()?;
            blocks.get(index).copied().flatten()
        };
        let mut stale = Vec::new();
        for (index, record) in records.iter().enumerate() {
            let Some(record) = record else { continue };
            if record.through > head.number {
                stale.push(index);
                continue;
            }
            // A block below the head that the endpoint does not have says nothing about the chain.
            let there = block(record.through).ok_or_else(|| Fault::Malformed(format!("no block {}", record.through)))?;
            if there.hash != record.hash {
                stale.push(index);
            }
        }
        let settled_to = settled_to.map(|number| block(number).ok_or_else(|| Fault::Malformed(format!("no block {number}"))));
        Ok((stale, settled_to.transpose()?))
    }

    async fn forget(&self, wallet: Address, mut records: Vec<Option<Settled>>, stale: &[usize]) -> Vec<Option<Settled>> {
        tracing::warn!(chain = self.chain, %wallet, "the chain was replaced below settled blocks; lending history is read again");
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

    /// The logs of `span`, split in place where it is dense.
    async fn chunk(&self, queries: &[LogQuery], span: Span) -> Chunk {
        let mut chunk = Chunk { logs: Vec::new(), through: None, stop: None };
        // Spans still to be read, the next one last, each with the timeouts it has suffered.
        let mut todo = vec![(span, 0)];
        while let Some((span, timeouts)) = todo.pop() {
            let fault = match self.fetch(queries, span).await {
                Ok(logs) => {
                    chunk.logs.extend(logs);
                    chunk.through = Some(span.to);
                    continue;
                }
                Err(fault) => fault,
            };
            match reaction(&fault, span, self.reading.log_range, timeouts) {
                Reaction::Ceiling(width) => {
                    self.client.lower_log_ceiling(width);
                    chunk.stop = Some(Stop::Narrow(width));
                    return chunk;
                }
                // What is dense over a long stretch is better read in several pieces at once.
                Reaction::Split(width) if span.width() > self.reading.log_range && matches!(fault, Fault::TooDense { .. }) => {
                    chunk.stop = Some(Stop::Narrow(width));
                    return chunk;
                }
                Reaction::Split(width) => {
                    let timeouts = timeouts + u32::from(matches!(fault, Fault::TimedOut(_)));
                    let mut pieces: Vec<_> = span.pieces(width).map(|piece| (piece, timeouts)).collect();
                    pieces.reverse();
                    todo.append(&mut pieces);
                }
                Reaction::GiveUp => {
                    chunk.stop = Some(Stop::Gap(fault));
                    return chunk;
                }
            }
        }
        chunk
    }

    async fn fetch(&self, queries: &[LogQuery], span: Span) -> Result<Vec<Log>, Fault> {
        metrics::counter!("assay_log_ranges_total", "chain" => self.chain.to_string()).increment(1);
        let asked = queries.iter().map(async |query| {
            let mut logs = self.client.logs(query, span).await?;
            let given = logs.len();
            logs.retain(|log| answers(log, query, span));
            let refused = given - logs.len();
            if refused > 0 {
                metrics::counter!("assay_logs_refused_total", "chain" => self.chain.to_string()).increment(refused as u64);
                tracing::warn!(chain = self.chain, refused, "endpoint gave logs that were not asked for; they are not counted");
            }
            Ok::<_, Fault>(logs)
        });
        Ok(try_join_all(asked).await?.concat())
    }
}

impl Pass<'_> {
    async fn run(&mut self, first: Option<Chunk>, view: &watch::Sender<Ledger>) -> Result<(), Fault> {
        let mut width = u64::MAX;
        if let Some(chunk) = first {
            match self.take(chunk).await? {
                Some(narrow) => width = narrow,
                None => _ = view.send_replace(self.ledger.clone()),
            }
        }
        while self.at <= self.head.number {
            let rest = Span { from: self.at, to: self.head.number };
            let spans = rest.pieces(width.min(self.reader.client.log_ceiling()));
            let (reader, queries) = (self.reader, self.queries.clone());
            let mut chunks = stream::iter(spans).map(|span| reader.chunk(&queries, span)).buffered(reader.reading.log_concurrency);
            while let Some(chunk) = chunks.next().await {
                let narrow = self.take(chunk).await?;
                view.send_replace(self.ledger.clone());
                if let Some(narrow) = narrow {
                    width = narrow;
                    break;
                }
            }
        }
        // Also where no block was left to read: a market may begin above the head.
        for entry in &mut self.ledger.entries {
            entry.through = Some(self.head.number);
        }
        Ok(())
    }

    /// Counts a chunk that begins where this read stands. `Some` width where what follows is to be narrower.
    async fn take(&mut self, chunk: Chunk) -> Result<Option<u64>, Fault> {
        if let Some(through) = chunk.through {
            self.count(events(&self.reader.markets, self.wallet, chunk.logs)).await?;
            self.at = through.saturating_add(1);
            for entry in &mut self.ledger.entries {
                if through >= entry.next {
                    entry.through = entry.through.max(Some(through));
                }
            }
            self.saved.ranges_since += 1;
            let all = self.settled_to.is_some_and(|settled_to| through >= settled_to.number);
            if all || self.saved.ranges_since >= CHECKPOINT_RANGES || self.saved.when.elapsed() >= CHECKPOINT {
                self.save().await;
            }
        }
        match chunk.stop {
            None => Ok(None),
            Some(Stop::Narrow(width)) => Ok(Some(width)),
            Some(Stop::Gap(fault)) => Err(fault),
        }
    }

    async fn count(&mut self, mut events: Vec<Event>) -> Result<(), Fault> {
        let settled_to = self.settled_to.map(|block| block.number);
        let is_settled = |event: &Event| settled_to.is_some_and(|to| event.block <= to);
        let entries = &self.ledger.entries;
        events.retain(|event| entries.get(event.market).is_some_and(|entry| event.block >= entry.next));
        let mut blocks = untimed(events.iter().filter(|event| is_settled(event)));
        blocks.extend(untimed(events.iter().filter(|event| !is_settled(event))));
        let blocks: Vec<u64> = blocks.into_iter().collect();
        if !blocks.is_empty() {
            let found = self.reader.client.blocks(&blocks).await?;
            for (number, block) in blocks.iter().zip(found) {
                let block = block.ok_or_else(|| Fault::Malformed(format!("no block {number}, which has logs")))?;
                for event in events.iter_mut().filter(|event| event.block == *number) {
                    event.time = Some(block.time);
                }
            }
        }
        for event in &events {
            if let Some(entry) = self.ledger.entries.get_mut(event.market) {
                let tally = if is_settled(event) { &mut entry.settled } else { &mut entry.tail };
                tally.add(event.kind, event.time);
            }
        }
        Ok(())
    }

    /// Writes down what is settled and read.
    async fn save(&mut self) {
        let (Some(settled_to), Some(through)) = (self.settled_to, self.at.checked_sub(1)) else { return };
        let through = through.min(settled_to.number);
        let advanced: Vec<_> = self.reader.markets.iter().zip(&self.ledger.entries).filter(|(_, entry)| entry.next <= through).collect();
        if advanced.is_empty() || self.saved.all {
            return;
        }
        let block = if through == settled_to.number { Ok(Some(settled_to)) } else { self.reader.client.block(through).await };
        let Ok(Some(block)) = block else {
            // The next checkpoint, or the next read, makes up for it.
            tracing::warn!(chain = self.reader.chain, block = through, "block cannot be read; lending progress is not kept now");
            return;
        };
        let tallies = advanced.into_iter().map(|(market, entry)| (market, entry.settled));
        match records::save(&self.reader.store, self.reader.chain, self.wallet, block, tallies).await {
            Ok(()) => self.saved = Saved { when: Instant::now(), ranges_since: 0, all: through == settled_to.number },
            Err(error) => {
                tracing::error!(chain = self.reader.chain, %error, "lending progress cannot be kept; the next read starts further back");
            }
        }
    }
}
