//! Logs of a span of blocks: queries, which logs of an answer are valid, their order, and how to split a span that an
//! endpoint refuses; receipts with their logs.

mod chunk;
mod differing;
mod query;
mod range;
mod receipt;

use std::collections::HashSet;

use alloy::rpc::types::Log;

use crate::span::Span;
use assay_domain::B256;

pub use chunk::{Ceiling, Chunk, Stop, chunk, in_parts};
pub use differing::differing;
pub use query::{LogQuery, Received};
pub use range::{Reaction, is_unclear, reaction};
pub use receipt::Receipt;

/// Whether `log` is an answer to `query` over `span`, and in a block of the chain.
pub fn answers(log: &Log, query: &LogQuery, span: Span) -> bool {
    !log.removed
        && query.fits(log.address(), log.topics())
        && log.block_number.is_some_and(|block| span.contains(block))
        && log.block_hash.is_some()
        && log.log_index.is_some()
}

/// Removes duplicates and sorts by block and log index.
pub fn in_order(logs: &mut Vec<Log>) {
    // True for most answers.
    if logs.is_sorted_by(|one, next| (one.block_number, one.log_index) < (next.block_number, next.log_index)) {
        return;
    }
    let mut seen = HashSet::<(Option<B256>, Option<u64>)>::new();
    logs.retain(|log| seen.insert((log.block_hash, log.log_index)));
    logs.sort_by_key(|log| (log.block_number, log.log_index));
}
