//! The decile of a score.

/// A tenth of the scale each, 70 points, since this generation was never measured against a population.
pub fn decile(score: u32) -> u8 {
    let tenths = score.clamp(300, 999).saturating_sub(300) / 70;
    u8::try_from(tenths).map_or(10, |tenths| tenths + 1)
}
