//! One span of blocks, fetched in parts if it is dense.

use super::range::{Reaction, is_unclear, reaction};
use crate::{fault::Fault, span::Span};

/// The results for a span, and why it ended early.
pub struct Chunk<T> {
    /// One item for each fetched part, in chain order.
    pub found: Vec<T>,
    /// Complete through this block; `None` if nothing was fetched.
    pub through: Option<u64>,
    pub stop: Option<Stop>,
}

/// The widest span that an endpoint answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    pub width: u64,
    /// Whether the endpoint names it. Otherwise it refused a wider span as too wide, and answered this one.
    pub is_named: bool,
}

pub enum Stop {
    /// The endpoint answers no such query over a wider span.
    Ceiling(Ceiling),
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
    // The next one is last.
    let mut todo = vec![LogPiece { span, failures: 0, was_wide: false }];
    while let Some(piece) = todo.pop() {
        let span = piece.span;
        let fault = match fetch(span).await {
            Ok(found) => {
                chunk.found.push(found);
                chunk.through = Some(span.to);
                if piece.was_wide {
                    chunk.stop = Some(Stop::Ceiling(Ceiling { width: span.width(), is_named: false }));
                    return chunk;
                }
                continue;
            }
            Err(fault) => fault,
        };
        match reaction(&fault, span, log_range, piece.failures) {
            Reaction::Ceiling(width) => {
                chunk.stop = Some(Stop::Ceiling(Ceiling { width, is_named: true }));
                return chunk;
            }
            // A long dense span is faster in several concurrent parts.
            Reaction::Split(width) if span.width() > log_range && matches!(fault, Fault::TooDense { .. }) => {
                chunk.stop = Some(Stop::Narrow(width));
                return chunk;
            }
            Reaction::Split(width) => {
                let failures = piece.failures + u32::from(is_unclear(&fault));
                let was_wide = matches!(fault, Fault::TooWide { .. });
                let mut pieces: Vec<_> = span.pieces(width).map(|span| LogPiece { span, failures, was_wide }).collect();
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

/// A part of a span that is still to be fetched.
struct LogPiece {
    span: Span,
    /// The timeouts and unknown errors of the span that it was cut from.
    failures: u32,
    /// Whether that span was refused as too wide.
    was_wide: bool,
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
            Some(Stop::Ceiling(Ceiling { width: narrow, .. }) | Stop::Narrow(narrow)) => width = narrow,
            Some(Stop::Gap(fault)) => return Err(fault),
        }
    }
    Ok(found)
}
