//! The scorecard: 300 points to begin with, and what the two factors add or take away.

use crate::{
    Verdict, decile, position, repayment,
    seen::Seen,
    types::{Factor, Features, Rating, Refusal},
};

/// The lowest score.
const BASE: i32 = 300;
/// With every factor full. Their possible points sum to what lies between.
const TOP: i32 = 1000;

/// The verdict on `features`, the same to the bit wherever it is computed.
///
/// # Errors
/// [`Refusal::NoActivity`] where everything was read and no lending market was ever used; [`Refusal::Missing`] where no
/// loan was found, or nothing could be read.
pub fn score(features: &Features) -> Result<Verdict, Refusal> {
    let seen = judged(features)?;
    let points = vec![position::points(&seen), repayment::points(&seen)];
    let score = points.iter().fold(BASE, |sum, points| sum.saturating_add(*points)).clamp(BASE, TOP).unsigned_abs();
    Ok(Verdict { score, decile: decile(score), points })
}

/// The factors in words, in the order of the points.
///
/// # Errors
/// As [`score`].
pub fn explain(features: &Features) -> Result<Vec<Factor>, Refusal> {
    let seen = judged(features)?;
    Ok(vec![position::explain(&seen), repayment::explain(&seen)])
}

/// A wallet without a loan is no borrower that never failed: it is refused.
fn judged(features: &Features) -> Result<Seen, Refusal> {
    let seen = Seen::of(features);
    let missing = |what: &str| Err(Refusal::Missing(what.into()));
    match () {
        () if seen.owes => Ok(seen),
        () if seen.unread && !seen.read => {
            missing("a chain or market that could be read: the coverage of each is failed")
        }
        () if seen.unread => {
            missing("a loan: none was found in what could be read, and a chain or market was not read")
        }
        () if seen.lends => missing("a loan: this model judges wallets that owe or have owed, and this one has not"),
        () => Err(Refusal::NoActivity),
    }
}

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
