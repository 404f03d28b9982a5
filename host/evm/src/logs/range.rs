//! How to react if an endpoint refuses a span of blocks.

use crate::{fault::Fault, pauses, span::Span};

/// How to react to a refused span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// The endpoint names this as the widest span that it answers.
    Ceiling(u64),
    /// Fetch the span in parts of this width.
    Split(u64),
    /// The span is a gap.
    GiveUp,
}

/// The reaction for `span`. `fallback` is the width to try after an endpoint refused a span without a limit in its
/// message; `failures` counts the timeouts and unknown errors of the span that this one was cut from.
pub fn reaction(fault: &Fault, span: Span, fallback: u64, failures: u32) -> Reaction {
    let half = span.width() / 2;
    if half == 0 {
        return Reaction::GiveUp;
    }
    match fault {
        // A limit that the span already meets is not the reason.
        Fault::TooWide { limit } => match limit.filter(|limit| *limit < span.width()) {
            Some(limit) => Reaction::Ceiling(limit.max(1)),
            None => Reaction::Split(half.min(fallback).max(1)),
        },
        Fault::TooDense { suggested } => {
            Reaction::Split(suggested.filter(|part| part.begins(span)).map_or(half, Span::width))
        }
        Fault::Slow { .. } => Reaction::Split(half),
        fault if is_unclear(fault) && failures < pauses::SPAN_FAILURES => Reaction::Split((span.width() / 8).max(1)),
        _ => Reaction::GiveUp,
    }
}

/// Whether a lighter query may be answered although the fault does not say so.
pub fn is_unclear(fault: &Fault) -> bool {
    matches!(fault, Fault::TimedOut(_) | Fault::Refused { .. })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SPAN: Span = Span { from: 100, to: 1_099 };

    #[test]
    fn a_named_limit_becomes_a_ceiling_and_others_are_tried() {
        let wide = |limit| reaction(&Fault::TooWide { limit }, SPAN, 10_000, 0);
        assert_eq!(wide(Some(10)), Reaction::Ceiling(10));
        assert_eq!(wide(None), Reaction::Split(500));
        assert_eq!(wide(Some(5_000)), Reaction::Split(500));
        assert_eq!(reaction(&Fault::TooWide { limit: None }, SPAN, 64, 0), Reaction::Split(64));
    }

    #[test]
    fn a_dense_span_is_split_where_the_endpoint_says_or_in_half() {
        let dense = |suggested| reaction(&Fault::TooDense { suggested }, SPAN, 10_000, 0);
        assert_eq!(dense(None), Reaction::Split(500));
        assert_eq!(dense(Some(Span { from: 100, to: 109 })), Reaction::Split(10));
        assert_eq!(dense(Some(Span { from: 0, to: 109 })), Reaction::Split(500));
        assert_eq!(dense(Some(Span { from: 100, to: 9_999 })), Reaction::Split(500));
    }

    #[test]
    fn at_width_one_it_is_a_gap() {
        let one = Span { from: 7, to: 7 };
        assert_eq!(reaction(&Fault::TooWide { limit: None }, one, 10, 0), Reaction::GiveUp);
        assert_eq!(reaction(&Fault::TooDense { suggested: None }, one, 10, 0), Reaction::GiveUp);
    }

    #[test]
    fn silence_and_unknown_errors_are_not_tried_for_ever() {
        for unclear in [
            Fault::TimedOut(Duration::from_secs(10)),
            Fault::Refused { code: -32603, message: "Internal error".into() },
        ] {
            assert_eq!(reaction(&unclear, SPAN, 10_000, 0), Reaction::Split(125));
            assert_eq!(reaction(&unclear, SPAN, 10_000, pauses::SPAN_FAILURES), Reaction::GiveUp);
        }
        assert_eq!(reaction(&Fault::Unreachable("gone".into()), SPAN, 10_000, 0), Reaction::GiveUp);
    }
}
