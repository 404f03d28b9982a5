//! Reading the logs of a node that name an address in a transfer, whatever contract wrote them, on a chain without an
//! explorer.
//!
//! A first read begins with block 0: what an address was sent may be older than all it did itself, and a count that
//! leaves out the beginning is wrong. It is one query of each kind where the endpoint answers as much, and pieces where
//! it does not; they are read in the order of the chain and what is settled is written down on the way, so that a read
//! that breaks off is gone on with. Where the pieces would be more than [`MOST_RANGES`] the endpoint counts as one that
//! refuses.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use alloy::rpc::types::Log;
use futures::{StreamExt, future::try_join_all, stream};
use tokio::sync::watch;

use super::{
    history::{Listed, Reader, Told},
    reading::Reading,
    transfers,
};
use crate::config;
use assay_domain::Address;
use assay_evm::{
    client::{Block, Client},
    fault::Fault,
    logs::{LogQuery, Stop, chunk, in_order},
    span::Span,
};

/// An endpoint that refuses such queries is asked again after this long.
const REST: Duration = Duration::from_secs(3_600);
/// More ranges than this for one address are not asked for: hours, and the allowance of a day with many providers.
const MOST_RANGES: u64 = 10_000;
/// What is settled is written down after so many ranges or so much time while a long read goes on: what a crash can
/// lose.
const CHECKPOINT_RANGES: u32 = 16;
const CHECKPOINT: Duration = Duration::from_secs(1);

/// The logs of one chain's node.
pub(crate) struct NodeLogs {
    client: Client,
    log_range: u64,
    concurrency: usize,
    /// Widest span that is answered where no contract is named. Some allow less than where one is, which is nothing to
    /// others.
    ceiling: AtomicU64,
    /// Until when the endpoint is not asked.
    refused: Mutex<Option<Instant>>,
}

/// When what is settled was written down last.
struct Saved {
    when: Instant,
    ranges_since: u32,
}

impl NodeLogs {
    pub(crate) fn new(client: Client, reading: &config::Reading) -> Self {
        Self {
            client,
            log_range: reading.log_range,
            concurrency: reading.log_concurrency,
            ceiling: AtomicU64::new(u64::MAX),
            refused: Mutex::default(),
        }
    }

    fn is_refused(&self) -> bool {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| until > Instant::now())
    }

    fn refuse(&self) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
        // By then it may be another endpoint.
        self.ceiling.store(u64::MAX, Ordering::Relaxed);
    }

    fn ceiling(&self) -> u64 {
        self.ceiling.load(Ordering::Relaxed).min(self.client.log_ceiling()).max(1)
    }

    async fn fetch(&self, queries: &[LogQuery], span: Span) -> Result<Vec<Log>, Fault> {
        let asked = queries.iter().map(|query| self.client.believed_logs(query, span));
        Ok(try_join_all(asked).await?.into_iter().flatten().collect())
    }
}

impl Reader {
    /// Reads on to `head`; what that tells, and whether it is all there is. An endpoint that does not offer this tells
    /// nothing, and nothing is missing; what was read before it refused stays, and what came since is missing.
    pub(super) async fn logs(
        &self,
        node: &NodeLogs,
        reading: &mut Reading,
        head: Block,
        view: &watch::Sender<Listed>,
    ) -> (Told, bool) {
        // The zero address stands for nobody in every token that comes or goes.
        if reading.wallet == Address::ZERO {
            return (Told::Nothing, true);
        }
        let read = if node.is_refused() { None } else { Some(self.read_logs(node, reading, head, view).await) };
        let told = if reading.settled.transfers_from > 0 { Told::Transfers } else { Told::Nothing };
        match read {
            Some(Ok(())) => return (told, true),
            Some(Err(fault @ (Fault::Unscoped | Fault::TooWide { .. }))) => {
                tracing::warn!(chain = self.chain, %fault, "tokens that moved cannot be found in the node's logs; they are asked for again in an hour");
                node.refuse();
            }
            Some(Err(fault)) => {
                tracing::warn!(chain = self.chain, %fault, "transfers have a gap");
                return (told, false);
            }
            None => {}
        }
        (told, told == Told::Nothing)
    }

    async fn read_logs(
        &self,
        node: &NodeLogs,
        reading: &mut Reading,
        head: Block,
        view: &watch::Sender<Listed>,
    ) -> Result<(), Fault> {
        let mut saved = Saved { when: Instant::now(), ranges_since: 0 };
        let read = self.read_ranges(node, reading, head, view, &mut saved).await;
        // Reading a tail of twice the length costs nothing, moving its beginning costs a block and a write.
        let due = reading
            .settled
            .anchor
            .is_none_or(|anchor| anchor.block.saturating_add(self.finality) <= reading.final_block);
        if read.is_err() || due {
            self.save(node, reading).await;
        }
        read
    }

    async fn read_ranges(
        &self,
        node: &NodeLogs,
        reading: &mut Reading,
        head: Block,
        view: &watch::Sender<Listed>,
        saved: &mut Saved,
    ) -> Result<(), Fault> {
        let queries = transfers::queries(reading.wallet);
        let (mut at, mut width) = (reading.from(), u64::MAX);
        while at <= head.number {
            let (rest, ceiling) = (Span { from: at, to: head.number }, node.ceiling());
            if rest.width() / ceiling > MOST_RANGES {
                return Err(Fault::TooWide { limit: Some(ceiling) });
            }
            let spans = rest.pieces(width.min(ceiling));
            let queries = &queries;
            let mut chunks = stream::iter(spans)
                .map(|span| chunk(span, node.log_range, move |span| node.fetch(queries, span)))
                .buffered(node.concurrency);
            while let Some(chunk) = chunks.next().await {
                if let Some(through) = chunk.through {
                    let mut logs: Vec<_> = chunk.found.into_iter().flatten().collect();
                    in_order(&mut logs);
                    reading.take_all(logs.iter().flat_map(transfers::rows), through);
                    at = through.saturating_add(1);
                    saved.ranges_since += 1;
                    if at <= head.number
                        && (saved.ranges_since >= CHECKPOINT_RANGES || saved.when.elapsed() >= CHECKPOINT)
                    {
                        self.save(node, reading).await;
                        *saved = Saved { when: Instant::now(), ranges_since: 0 };
                    }
                    view.send_replace(Listed { progress: reading.with_tail(), whole: false, told: Told::Transfers });
                }
                match chunk.stop {
                    None => {}
                    Some(Stop::Ceiling(ceiling)) => {
                        node.ceiling.fetch_min(ceiling, Ordering::Relaxed);
                        break;
                    }
                    Some(Stop::Narrow(narrow)) => {
                        width = narrow;
                        break;
                    }
                    Some(Stop::Gap(fault)) => return Err(fault),
                }
            }
        }
        Ok(())
    }

    /// Writes down what is settled and read, with the block that vouches for it.
    async fn save(&self, node: &NodeLogs, reading: &mut Reading) {
        let Some(through) = reading.from().checked_sub(1) else { return };
        match node.client.block(through).await {
            Ok(Some(block)) => {
                reading.anchor(block);
                self.keep(reading.wallet, &reading.settled).await;
            }
            // The next checkpoint, or the next read, makes up for it.
            _ => {
                tracing::warn!(chain = self.chain, block = through, "block cannot be read; what moved is not kept now")
            }
        }
    }
}
