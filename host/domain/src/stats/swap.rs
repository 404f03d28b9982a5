//! Subjects that cross a range or a cut-off when the other model answers.

use super::Joint;
use crate::{Range, Score};

/// Subjects by the range of the first model (row) and of the second (column), worst range first.
pub type Migration = [[u64; 5]; 5];

/// The effect for a lender with a cut-off (Siddiqi, "Credit Risk Scorecards", Wiley, 2006, chapter 8). The swap set
/// consists of the subjects that only one of the two models would accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct SwapSet {
    /// A subject with at least this score is accepted.
    pub cut_off: Score,
    pub both: u64,
    /// Accepted only by the second model.
    pub swapped_in: u64,
    /// Accepted only by the first model.
    pub swapped_out: u64,
    pub neither: u64,
}

impl Joint {
    pub fn migration(&self) -> Migration {
        let mut table = Migration::default();
        for (first, second, count) in self.cells() {
            if let Some(cell) = table.get_mut(place(first.range())).and_then(|row| row.get_mut(place(second.range()))) {
                *cell += count;
            }
        }
        table
    }

    pub fn swap_set(&self, cut_off: Score) -> SwapSet {
        let count =
            |a: bool, b: bool| self.count_where(|first, second| (first >= cut_off) == a && (second >= cut_off) == b);
        SwapSet {
            cut_off,
            both: count(true, true),
            swapped_in: count(false, true),
            swapped_out: count(true, false),
            neither: count(false, false),
        }
    }
}

/// The index of a range, worst first.
fn place(range: Range) -> usize {
    match range {
        Range::Low => 0,
        Range::Fair => 1,
        Range::Good => 2,
        Range::VeryGood => 3,
        Range::Excellent => 4,
    }
}
