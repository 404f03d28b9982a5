//! The decile of a score.

use crate::table::DECILES;

/// 1 to 10, never falling as `score` rises: the tenth of the population of the fit. Scores outside 300 to 1000 get the
/// decile of the nearer end.
pub fn decile(score: u32) -> u8 {
    DECILES.iter().fold(1, |decile, lowest| decile + u8::from(score >= *lowest))
}
