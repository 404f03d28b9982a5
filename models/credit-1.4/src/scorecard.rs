//! The scorecard: 1000 points, less what the position takes, less what the history takes beside it, less what a wallet
//! without carried loans cannot have yet.

use crate::{
    Verdict, carried, curve, decile,
    factor::whole,
    history, position,
    seen::Seen,
    table::{CARRIED, POSITION, REPAYMENT},
    types::{Factor, Features, Refusal},
};

/// The lowest and the highest score. The possible points of the factors sum to what lies between.
const BASE: i32 = 300;
const TOP: f64 = 1000.0;

/// The verdict on `features`, the same to the bit wherever it is computed.
///
/// # Errors
/// [`Refusal::NoActivity`] if everything was read and no lending market was ever used; [`Refusal::Missing`] if none of
/// that was found in what could be read.
pub fn score(features: &Features) -> Result<Verdict, Refusal> {
    let points = parts(&judged(features)?).to_vec();
    let score = points.iter().fold(BASE, |sum, points| sum.saturating_add(*points)).clamp(BASE, 1000).unsigned_abs();
    Ok(Verdict { score, decile: decile(score), points })
}

/// The factors in words, in the order of the points.
///
/// # Errors
/// As [`score`].
pub fn explain(features: &Features) -> Result<Vec<Factor>, Refusal> {
    let seen = judged(features)?;
    let [position, history, carried] = parts(&seen);
    Ok(vec![position::explain(&seen, position), history::explain(&seen, history), carried::explain(&seen, carried)])
}

/// The whole points of each factor. Each step is rounded, and a factor has the difference of two steps, so that the sum
/// is the rounded score: rounding never changes the order of two wallets.
fn parts(seen: &Seen) -> [i32; 3] {
    let lost = position::lost(seen);
    // A position and a habit are two ways to a liquidation, and a wallet is spared if it is spared both.
    let risk = 1.0 - (1.0 - curve::risk(lost)) * (1.0 - history::risk(seen));
    let placed = TOP - lost;
    let both = TOP - if seen.liquidations > 0 { curve::lost(risk).max(lost) } else { lost };
    let limited =
        if both > curve::BORDER { curve::BORDER + (both - curve::BORDER) * carried::kept(seen) } else { both };
    let [placed, both, limited] = [placed, both, limited].map(whole);
    let full = |possible: u32| i32::try_from(possible).unwrap_or(i32::MAX);
    [full(POSITION) + placed - TOP as i32, full(REPAYMENT) + both - placed, full(CARRIED) + limited - both]
}

/// A wallet that never used a lending market is refused: nothing says how it would borrow.
fn judged(features: &Features) -> Result<Seen, Refusal> {
    let seen = Seen::of(features);
    let missing = |what: &str| Err(Refusal::Missing(what.into()));
    match () {
        () if seen.lends => Ok(seen),
        () if seen.is_part_unread && !seen.is_part_read => {
            missing("a chain or market that could be read: the coverage of each is failed")
        }
        () if seen.is_part_unread => {
            missing("a deposit or a loan: a chain or market was not read, and the others have none")
        }
        () => Err(Refusal::NoActivity),
    }
}
