//! Spans of blocks, and their division into pieces.

/// Blocks `from` to `to`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: u64,
    pub to: u64,
}

impl Span {
    /// Number of blocks, at least 1.
    pub fn width(self) -> u64 {
        self.to.saturating_sub(self.from).saturating_add(1)
    }

    pub fn contains(self, block: u64) -> bool {
        (self.from..=self.to).contains(&block)
    }

    /// Whether it is the beginning of `whole`, and not all of it.
    pub fn begins(self, whole: Self) -> bool {
        self.from == whole.from && self.to < whole.to
    }

    /// The first `width` blocks, and the rest, if any.
    pub fn cut(self, width: u64) -> (Self, Option<Self>) {
        let width = width.max(1);
        if self.width() <= width {
            return (self, None);
        }
        let end = self.from.saturating_add(width - 1);
        (Self { from: self.from, to: end }, Some(Self { from: end.saturating_add(1), to: self.to }))
    }

    /// Pieces of at most `width` blocks, in order.
    pub fn pieces(self, width: u64) -> impl Iterator<Item = Self> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let (piece, after) = rest?.cut(width);
            rest = after;
            Some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_cover_a_span_once(from in 0u64..1_000_000, blocks in 0u64..5_000, width in 1u64..700) {
            let span = Span { from, to: from + blocks };
            let pieces: Vec<_> = span.pieces(width).collect();
            prop_assert_eq!(pieces.first().map(|p| p.from), Some(span.from));
            prop_assert_eq!(pieces.last().map(|p| p.to), Some(span.to));
            prop_assert!(pieces.iter().all(|p| p.width() <= width && p.from <= p.to));
            prop_assert!(pieces.windows(2).all(|pair| pair[0].to + 1 == pair[1].from));
        }
    }

    #[test]
    fn the_widest_span_has_a_width() {
        assert_eq!(Span { from: 0, to: u64::MAX }.width(), u64::MAX);
        assert_eq!(Span { from: 7, to: 7 }.cut(1), (Span { from: 7, to: 7 }, None));
    }
}
