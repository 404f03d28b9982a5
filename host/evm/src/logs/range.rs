//! How to react if an endpoint refuses a span of blocks.

use crate::{fault::Fault, span::Span};

/// Maximum timeouts of one span, which is cut in eight after each, before it is a gap. An endpoint that does not answer
/// must not cost one timeout per halving.
const TIMEOUTS: u32 = 3;

/// How to react to a refused span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// The endpoint answers no wider span than this.
    Ceiling(u64),
    /// Fetch the span in parts of this width.
    Split(u64),
    /// The span is a gap.
    GiveUp,
}

/// The reaction for `span`. `fallback` is the width to try after an endpoint refused a span without a limit in its
/// message; `timeouts` counts those of the span that this one was cut from.
pub fn reaction(fault: &Fault, span: Span, fallback: u64, timeouts: u32) -> Reaction {
    let half = span.width() / 2;
    if half == 0 {
        return Reaction::GiveUp;
    }
    match fault {
        // A limit that the span already meets is not the reason.
        Fault::TooWide { limit } => {
            Reaction::Ceiling(limit.filter(|limit| *limit < span.width()).unwrap_or(half.min(fallback)).max(1))
        }
        Fault::TooDense { suggested } => {
            let fits = |s: &Span| s.from == span.from && s.to < span.to;
            Reaction::Split(suggested.filter(fits).map_or(half, Span::width))
        }
        Fault::TimedOut(_) if timeouts < TIMEOUTS => Reaction::Split((span.width() / 8).max(1)),
        _ => Reaction::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SPAN: Span = Span { from: 100, to: 1_099 };

    #[test]
    fn a_limit_becomes_a_ceiling() {
        let wide = |limit| reaction(&Fault::TooWide { limit }, SPAN, 10_000, 0);
        assert_eq!(wide(Some(10)), Reaction::Ceiling(10));
        assert_eq!(wide(None), Reaction::Ceiling(500));
        assert_eq!(wide(Some(5_000)), Reaction::Ceiling(500));
        assert_eq!(reaction(&Fault::TooWide { limit: None }, SPAN, 64, 0), Reaction::Ceiling(64));
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
    fn silence_is_not_waited_for_for_ever() {
        let late = Fault::TimedOut(Duration::from_secs(10));
        assert_eq!(reaction(&late, SPAN, 10_000, 0), Reaction::Split(125));
        assert_eq!(reaction(&late, SPAN, 10_000, TIMEOUTS), Reaction::GiveUp);
        assert_eq!(reaction(&Fault::Unreachable("gone".into()), SPAN, 10_000, 0), Reaction::GiveUp);
    }
}
