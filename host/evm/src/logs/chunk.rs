//! One span of blocks, fetched in parts if it is dense.

use super::range::{Reaction, reaction};
use crate::{fault::Fault, span::Span};

/// The results for a span, and why it ended early.
pub struct Chunk<T> {
    /// One item for each fetched part, in chain order.
    pub found: Vec<T>,
    /// Complete through this block; `None` if nothing was fetched.
    pub through: Option<u64>,
    pub stop: Option<Stop>,
}

pub enum Stop {
    /// The endpoint answers no such query over a wider span.
    Ceiling(u64),
    /// The remaining blocks must be fetched in parts of this width.
    Narrow(u64),
    Gap(Fault),
}

/// Calls `fetch` for `span`, split if it is dense. `log_range` is the width to try after an endpoint refused a span
/// without a limit in its message.
pub async fn chunk<T, F>(span: Span, log_range: u64, fetch: impl Fn(Span) -> F) -> Chunk<T>
where
    F: Future<Output = Result<T, Fault>>,
{
    let mut chunk = Chunk { found: Vec::new(), through: None, stop: None };
    // Spans still to fetch, next one last, each with the number of its timeouts.
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
            // A long dense span is faster in several concurrent parts.
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

/// Calls `fetch` for `span`, in as many parts as the endpoint requires.
///
/// # Errors
/// [`Fault`] of the first part that cannot be fetched.
pub async fn in_parts<T, F>(span: Span, log_range: u64, fetch: impl Fn(Span) -> F) -> Result<Vec<T>, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    let (mut found, mut at, mut width) = (Vec::new(), span.from, span.width());
    while at <= span.to {
        let (part, _) = Span { from: at, to: span.to }.cut(width);
        let chunk = chunk(part, log_range, &fetch).await;
        found.extend(chunk.found);
        at = chunk.through.map_or(at, |through| through.saturating_add(1));
        match chunk.stop {
            None => {}
            Some(Stop::Ceiling(narrow) | Stop::Narrow(narrow)) => width = narrow,
            Some(Stop::Gap(fault)) => return Err(fault),
        }
    }
    Ok(found)
}
