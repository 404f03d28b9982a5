//! The logs of one span of blocks, with the receipts they point at: asked for, checked, and split in place where the span is
//! dense. A span is not read before its receipts are.

use futures::future::try_join_all;

use super::{
    events::{Found, answers},
    plan::Plan,
    range::{Reaction, reaction},
    reader::Reader,
};
use crate::chain::{fault::Fault, span::Span};

/// Logs of a span, read as far as it went.
pub(super) struct Chunk {
    pub found: Found,
    /// Complete through this block; `None` where nothing was read.
    pub through: Option<u64>,
    pub stop: Option<Stop>,
}

pub(super) enum Stop {
    /// What follows is to be asked for in pieces of this width.
    Narrow(u64),
    Gap(Fault),
}

impl Reader {
    /// The logs of `span`, split in place where it is dense.
    pub(super) async fn chunk(&self, plan: &Plan, span: Span) -> Chunk {
        let mut chunk = Chunk { found: Found::default(), through: None, stop: None };
        // Spans still to be read, the next one last, each with the timeouts it has suffered.
        let mut todo = vec![(span, 0)];
        while let Some((span, timeouts)) = todo.pop() {
            let fault = match self.fetch(plan, span).await {
                Ok(found) => {
                    chunk.found.logs.extend(found.logs);
                    chunk.found.receipts.extend(found.receipts);
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

    async fn fetch(&self, plan: &Plan, span: Span) -> Result<Found, Fault> {
        metrics::counter!("assay_log_ranges_total", "chain" => self.chain.to_string()).increment(1);
        let asked = plan.queries.iter().map(async |query| {
            let mut logs = self.client.logs(query, span).await?;
            // Dropping these would settle a history without them; the next read may find them in a block that stands.
            if logs.iter().any(|log| log.removed || log.block_hash.is_none()) {
                return Err(Fault::Malformed("logs of a block that is not in the chain".into()));
            }
            let given = logs.len();
            logs.retain(|log| answers(log, query, span));
            let refused = given - logs.len();
            if refused > 0 {
                metrics::counter!("assay_logs_refused_total", "chain" => self.chain.to_string()).increment(refused as u64);
                tracing::warn!(chain = self.chain, refused, "endpoint gave logs that were not asked for; they are not counted");
            }
            Ok::<_, Fault>(logs)
        });
        let logs: Vec<_> = try_join_all(asked).await?.into_iter().flatten().collect();
        let receipts = self.receipts(plan, &logs).await?;
        Ok(Found { logs, receipts })
    }
}
