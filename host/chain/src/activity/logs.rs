//! Searching a node's logs for token transfers of an address, on a chain without an explorer.
//!
//! A first read starts at block 0: an address may have received tokens before its first transaction, and a count
//! without them is wrong. It is one query of each kind, or several ranges if the endpoint limits them. Ranges are
//! read in the order of the chain, and what is settled is saved on the way, so that the next read continues an
//! interrupted one. An endpoint that would need more than [`MAX_RANGES`] counts as one that refuses.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use alloy::rpc::types::Log;
use futures::{StreamExt, future::try_join_all, stream};

use super::{
    progress::{ListedScope, Output},
    reading::ListingState,
    transfers,
};
use crate::{config, pauses};
use assay_domain::Address;
use assay_evm::{
    client::{Block, Client},
    endpoint::Learned,
    fault::Fault,
    logs::{LogQuery, Stop, chunk, in_order},
    span::Span,
};

/// Maximum ranges per address. More would take hours, and the daily quota of many providers.
const MAX_RANGES: u64 = 10_000;
/// A long read saves settled transfers after this many ranges or this much time, which is the most that a crash can
/// lose.
const CHECKPOINT_RANGES: u32 = 16;
const CHECKPOINT: Duration = Duration::from_secs(1);
/// Ranges after which wider ones are tried.
const AT_ONE_WIDTH: usize = 32;

/// The logs of one chain's node.
pub(crate) struct NodeLogs {
    client: Client,
    log_range: u64,
    concurrency: usize,
    /// Widest span that the endpoint answers for queries without a contract: some allow less than for queries with one.
    ceiling: Learned,
    /// The end of the pause after a refusal.
    refused: Mutex<Option<Instant>>,
}

/// When settled progress was saved last.
struct SavedTransfers {
    when: Instant,
    ranges_since: u32,
}

impl NodeLogs {
    pub(crate) fn new(client: Client, reading: &config::Reading) -> Self {
        Self {
            client,
            log_range: reading.log_range,
            concurrency: reading.log_concurrency,
            ceiling: Learned::up_to(u64::MAX),
            refused: Mutex::default(),
        }
    }

    fn is_refused(&self) -> bool {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| until > Instant::now())
    }

    fn refuse(&self) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + pauses::LOGS_REFUSED);
        // It may be another endpoint by then.
        self.ceiling.forget();
    }

    fn ceiling(&self) -> u64 {
        self.ceiling.get().min(self.client.log_ceiling()).max(1)
    }

    async fn fetch(&self, queries: &[LogQuery], span: Span) -> Result<Vec<Log>, Fault> {
        let asked = queries.iter().map(|query| self.client.believed_logs(query, span));
        let logs = try_join_all(asked).await?.into_iter().flatten().collect();
        self.ceiling.answered(span.width());
        Ok(logs)
    }
}

impl NodeLogs {
    /// Continues to `head`; the scope of what is read, and whether it is complete. If the endpoint never offered
    /// such queries, the scope is nothing and nothing is missing; if it refuses them later, what was read remains
    /// and newer transfers are missing.
    pub(super) async fn read(
        &self,
        reading: &mut ListingState,
        head: Block,
        finality: u64,
        output: &Output<'_>,
    ) -> (ListedScope, bool) {
        // The zero address is a party of every token that is created or destroyed.
        if reading.wallet == Address::ZERO {
            return (ListedScope::Nothing, true);
        }
        let read =
            if self.is_refused() { None } else { Some(self.read_and_save(reading, head, finality, output).await) };
        let scope = if reading.settled.transfers_from > 0 { ListedScope::Transfers } else { ListedScope::Nothing };
        match read {
            Some(Ok(())) => return (scope, true),
            Some(Err(fault @ (Fault::Unscoped | Fault::TooWide { .. }))) => {
                tracing::warn!(chain = output.chain, %fault, "the endpoint refuses to search its logs for token \
                                                              transfers; it is asked again in an hour");
                self.refuse();
            }
            Some(Err(fault)) => {
                tracing::warn!(chain = output.chain, %fault, "transfers have a gap");
                return (scope, false);
            }
            None => {}
        }
        (scope, scope == ListedScope::Nothing)
    }

    async fn read_and_save(
        &self,
        reading: &mut ListingState,
        head: Block,
        finality: u64,
        output: &Output<'_>,
    ) -> Result<(), Fault> {
        let mut saved = SavedTransfers { when: Instant::now(), ranges_since: 0 };
        let read = self.read_ranges(reading, head, output, &mut saved).await;
        // Reading a tail of twice the length costs nothing; moving its start costs a block request and a write.
        let due =
            reading.settled.anchor.is_none_or(|anchor| anchor.block.saturating_add(finality) <= reading.final_block);
        if read.is_err() || due {
            self.save(reading, output).await;
        }
        read
    }

    async fn read_ranges(
        &self,
        reading: &mut ListingState,
        head: Block,
        output: &Output<'_>,
        saved: &mut SavedTransfers,
    ) -> Result<(), Fault> {
        let queries = transfers::queries(reading.wallet);
        let (mut next, mut width) = (reading.from(), u64::MAX);
        while next <= head.number {
            let (rest, ceiling) = (Span { from: next, to: head.number }, self.ceiling());
            if rest.width() / ceiling > MAX_RANGES {
                return Err(Fault::TooWide { limit: Some(ceiling) });
            }
            let fetch = |span| self.fetch(&queries, span);
            let spans = rest.pieces(width.min(ceiling)).take(AT_ONE_WIDTH);
            // Unless one of these says otherwise: a dense range ends, and a limit may be gone.
            width = width.saturating_mul(2);
            let chunks = stream::iter(spans).map(|span| chunk(span, self.log_range, fetch));
            let mut chunks = chunks.buffered(self.concurrency);
            while let Some(chunk) = chunks.next().await {
                if let Some(through) = chunk.through {
                    next = through.saturating_add(1);
                    let logs = chunk.found.into_iter().flatten().collect();
                    self.take(reading, logs, through, next <= head.number, output, saved).await;
                }
                match chunk.stop {
                    None => continue,
                    Some(Stop::Ceiling(ceiling)) => {
                        self.ceiling.lower(ceiling.width, ceiling.is_named);
                        width = ceiling.width;
                    }
                    Some(Stop::Narrow(narrow)) => width = narrow,
                    Some(Stop::Gap(fault)) => return Err(fault),
                }
                break;
            }
        }
        Ok(())
    }

    /// Adds all logs through block `through`. If `more` follow, settled transfers are saved at intervals.
    async fn take(
        &self,
        reading: &mut ListingState,
        mut logs: Vec<Log>,
        through: u64,
        more: bool,
        output: &Output<'_>,
        saved: &mut SavedTransfers,
    ) {
        in_order(&mut logs);
        reading.take_all(logs.iter().flat_map(transfers::rows), through);
        saved.ranges_since += 1;
        if more && (saved.ranges_since >= CHECKPOINT_RANGES || saved.when.elapsed() >= CHECKPOINT) {
            self.save(reading, output).await;
            *saved = SavedTransfers { when: Instant::now(), ranges_since: 0 };
        }
        output.publish(reading, ListedScope::Transfers, false);
    }

    /// Stores what is settled, with the block by which the next read checks it.
    async fn save(&self, reading: &mut ListingState, output: &Output<'_>) {
        let Some(through) = reading.from().checked_sub(1) else { return };
        match self.client.block(through).await {
            Ok(Some(block)) => {
                reading.anchor(block);
                output.save(reading.wallet, &reading.settled).await;
            }
            // The next checkpoint, or the next read, saves it.
            _ => tracing::warn!(
                chain = output.chain,
                block = through,
                "block cannot be read; transfers are not saved now"
            ),
        }
    }
}
