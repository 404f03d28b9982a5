//! The five factors. Each file owns one: its maximum, its curves and its words.

pub mod age;
pub mod assets;
pub mod defi;
pub mod repayment;
pub mod transactions;

use crate::types::{Factor, Rating};

/// A factor worth `points` of `possible`.
fn factor(label: &str, points: i32, possible: u32, description: String) -> Factor {
    Factor { label: label.into(), rating: rating(points, possible), description, points, possible }
}

/// The range the whole score would be in if every factor did as well as this one: the ranges begin at 640, 750, 840 and
/// 920 of 300 to 1000.
fn rating(points: i32, possible: u32) -> Rating {
    let of_700 = i64::from(points) * 700 / i64::from(possible.max(1));
    match of_700 {
        620.. => Rating::Excellent,
        540.. => Rating::VeryGood,
        450.. => Rating::Good,
        340.. => Rating::Fair,
        _ => Rating::Low,
    }
}
