//! One factor: its whole points and its rating.

use crate::types::{Factor, Rating};

/// To the nearest whole point, halves up. Points stay far below the range of `i32`.
pub fn whole(points: f64) -> i32 {
    libm::floor(points + 0.5) as i32
}

/// A factor worth `points` of `possible`, rated as the whole score would be if the other one did as well: the ranges
/// begin at 640, 750, 840 and 920 of 300 to 1000.
pub fn factor(label: &str, points: i32, possible: u32, description: String) -> Factor {
    let of_700 = i64::from(points) * 700 / i64::from(possible.max(1));
    let rating = match of_700 {
        620.. => Rating::Excellent,
        540.. => Rating::VeryGood,
        450.. => Rating::Good,
        340.. => Rating::Fair,
        _ => Rating::Low,
    };
    Factor { label: label.into(), rating, description, points, possible }
}
