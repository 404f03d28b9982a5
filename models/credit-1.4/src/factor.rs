//! One factor: its whole points and its rating.

use crate::types::{Factor, Rating};

/// The whole points of a factor, as the scorecard divides them.
pub type Part = i32;

/// Rated by the score of a wallet that `lost` this much and nothing else: the ranges begin at 640, 750, 840 and 920.
pub fn rated(label: &str, lost: f64, points: Part, possible: u32, description: String) -> Factor {
    let rating = match whole(1000.0 - lost) {
        920.. => Rating::Excellent,
        840.. => Rating::VeryGood,
        750.. => Rating::Good,
        640.. => Rating::Fair,
        _ => Rating::Low,
    };
    Factor { label: label.into(), rating, description, points, possible }
}

/// To the nearest whole number, halves up. Scores stay far within the range of `i32`.
pub fn whole(points: f64) -> i32 {
    libm::floor(points + 0.5) as i32
}
