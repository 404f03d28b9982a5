//! Logs of spans of blocks, whoever needs them: which of an answer are believed, in which order they stand, and what is
//! done where an endpoint answers less than was asked for. What they mean is for others to say.

mod chunk;
mod query;
mod range;

use std::collections::HashSet;

use alloy::rpc::types::Log;

use crate::{client::Client, fault::Fault, span::Span};
use assay_domain::B256;

pub use chunk::{Chunk, Stop, chunk};
pub use query::{LogQuery, Written};
pub use range::{Reaction, reaction};

/// Whether `log` is an answer to `query` over `span`, and final in its block.
pub fn answers(log: &Log, query: &LogQuery, span: Span) -> bool {
    let topics = log.topics();
    let fits = |(at, wanted): (usize, &Vec<B256>)| {
        wanted.is_empty() || topics.get(at).is_some_and(|topic| wanted.contains(topic))
    };
    !log.removed
        && (query.addresses.is_empty() || query.addresses.contains(&log.address()))
        && query.topics.iter().enumerate().all(fits)
        && log.block_number.is_some_and(|block| span.contains(block))
        && log.block_hash.is_some()
        && log.log_index.is_some()
}

/// Each log once, in the order of the chain.
pub fn in_order(logs: &mut Vec<Log>) {
    let mut seen = HashSet::<(Option<B256>, Option<u64>)>::new();
    logs.retain(|log| seen.insert((log.block_hash, log.log_index)));
    logs.sort_by_key(|log| (log.block_number, log.log_index));
}

impl Client {
    /// The logs of `span` that answer `query`.
    ///
    /// # Errors
    /// [`Fault`], also where logs are of a block that is not in the chain.
    pub async fn believed_logs(&self, query: &LogQuery, span: Span) -> Result<Vec<Log>, Fault> {
        let mut logs = self.logs(query, span).await?;
        // Dropping these would settle a history without them; the next read may find them in a block that stands.
        if logs.iter().any(|log| log.removed || log.block_hash.is_none()) {
            return Err(Fault::Malformed("logs of a block that is not in the chain".into()));
        }
        let given = logs.len();
        logs.retain(|log| answers(log, query, span));
        let refused = given - logs.len();
        if refused > 0 {
            metrics::counter!("assay_logs_refused_total", "chain" => self.chain().to_string())
                .increment(refused as u64);
            tracing::warn!(
                chain = self.chain(),
                refused,
                "endpoint gave logs that were not asked for; they are not counted"
            );
        }
        Ok(logs)
    }
}
