//! The scorecard: 300 points to begin with, and what the five factors add.

use crate::{
    Assessment, decile,
    factors::{age, assets, defi, repayment, transactions},
    seen::Seen,
    types::{Factor, Features, Refusal},
};

/// The score of a wallet that nobody knows.
const BASE: i32 = 300;
/// With every factor full. The factors' maxima sum to what lies between.
const TOP: i32 = 1000;

/// The assessment of `features`, the same to the bit wherever it is computed.
///
/// # Errors
/// [`Refusal::Missing`] where there are chains or markets and not one of them could be read. A wallet with nothing is
/// not refused: it scores 300.
pub fn score(features: &Features) -> Result<Assessment, Refusal> {
    let Some(seen) = Seen::of(features) else {
        return Err(Refusal::Missing(
            "a chain that could be read: the coverage of every chain and market is failed".into(),
        ));
    };
    let factors = vec![
        age::judge(&seen),
        transactions::judge(&seen),
        defi::judge(&seen),
        assets::judge(&seen),
        repayment::judge(&seen),
    ];
    let score = total(&factors);
    Ok(Assessment { score, decile: decile(score), factors })
}

/// Only Repayment History can be negative, so only the lower end is ever met.
fn total(factors: &[Factor]) -> u32 {
    let sum = factors.iter().fold(BASE, |sum, factor| sum.saturating_add(factor.points));
    sum.clamp(BASE, TOP).unsigned_abs()
}
