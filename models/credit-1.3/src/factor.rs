//! One factor: its whole points and its rating.

use crate::types::{Factor, Rating};

/// A factor that took `lost` of `possible` points, to the nearest whole point, halves up. Rated as the whole score
/// would be if no other factor took any: the ranges begin at 640, 750, 840 and 920.
pub fn factor(label: &str, lost: f64, possible: u32, description: String) -> Factor {
    let rating = match 1000 - possible as i32 + points(lost, possible) {
        920.. => Rating::Excellent,
        840.. => Rating::VeryGood,
        750.. => Rating::Good,
        640.. => Rating::Fair,
        _ => Rating::Low,
    };
    Factor { label: label.into(), rating, description, points: points(lost, possible), possible }
}

/// What is left of `possible`; below zero if more is lost. Both stay far below the range of `i32`.
pub fn points(lost: f64, possible: u32) -> i32 {
    libm::floor(f64::from(possible) - lost + 0.5) as i32
}
