//! The scorecard: 300 points to begin with, and what the two factors add or take away.

use crate::{
    Verdict, decile,
    factor::points,
    position, repayment,
    seen::Seen,
    table::{POSITION, REPAYMENT},
    types::{Factor, Features, Refusal},
};

/// The lowest score.
const BASE: i32 = 300;
/// With every factor full. Their possible points sum to what lies between.
const TOP: i32 = 1000;

/// The verdict on `features`, the same to the bit wherever it is computed.
///
/// # Errors
/// [`Refusal::NoActivity`] if everything was read and no lending market was ever used; [`Refusal::Missing`] if none of
/// that was found in what could be read.
pub fn score(features: &Features) -> Result<Verdict, Refusal> {
    let seen = judged(features)?;
    let points = vec![points(position::lost(&seen), POSITION), points(repayment::lost(&seen), REPAYMENT)];
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

/// A wallet that never used a lending market is refused: nothing says how it would borrow.
fn judged(features: &Features) -> Result<Seen, Refusal> {
    let seen = Seen::of(features);
    let missing = |what: &str| Err(Refusal::Missing(what.into()));
    match () {
        () if seen.lends => Ok(seen),
        () if seen.unread && !seen.read => {
            missing("a chain or market that could be read: the coverage of each is failed")
        }
        () if seen.unread => missing("a deposit or a loan: a chain or market was not read, and the others have none"),
        () => Err(Refusal::NoActivity),
    }
}
