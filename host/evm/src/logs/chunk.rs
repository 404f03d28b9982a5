//! The logs of one span of blocks with what belongs to them, split in place where the span is dense.

use super::range::{Reaction, reaction};
use crate::{fault::Fault, span::Span};

/// A span, read as far as it went.
pub struct Chunk<T> {
    /// One for each piece that was asked for, in the order of the chain.
    pub found: Vec<T>,
    /// Complete through this block; `None` where nothing was read.
    pub through: Option<u64>,
    pub stop: Option<Stop>,
}

pub enum Stop {
    /// The endpoint never answers such queries over more than this width.
    Ceiling(u64),
    /// What follows is to be asked for in pieces of this width.
    Narrow(u64),
    Gap(Fault),
}

/// What `fetch` finds in `span`, split in place where it is dense; `log_range` is the width to try where an endpoint
/// refuses a range without naming its limit.
pub async fn chunk<T, F>(span: Span, log_range: u64, fetch: impl Fn(Span) -> F) -> Chunk<T>
where
    F: Future<Output = Result<T, Fault>>,
{
    let mut chunk = Chunk { found: Vec::new(), through: None, stop: None };
    // Spans still to be read, the next one last, each with the timeouts it has suffered.
    let mut todo = vec![(span, 0)];
    while let Some((span, timeouts)) = todo.pop() {
        let fault = match fetch(span).await {
            Ok(found) => {
                chunk.found.push(found);
                chunk.through = Some(span.to);
                continue;
            }
            Err(fault) => fault,
        };
        match reaction(&fault, span, log_range, timeouts) {
            Reaction::Ceiling(width) => {
                chunk.stop = Some(Stop::Ceiling(width));
                return chunk;
            }
            // What is dense over a long stretch is better read in several pieces at once.
            Reaction::Split(width) if span.width() > log_range && matches!(fault, Fault::TooDense { .. }) => {
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
