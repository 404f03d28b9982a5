//! Confidence intervals of figures.

/// Two ends, the lower first.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The quantile of the normal distribution at 0.975.
const Z: f64 = 1.959_963_984_540_054;

/// The 95 % interval of a share of `part` in `of` (Wilson, "Probable Inference, the Law of Succession, and Statistical
/// Inference", J. Am. Stat. Assoc. 22, 1927), without correction for continuity. It is also valid for small counts and
/// shares near 0. If `of` is 0, it is 0 to 1.
pub fn wilson(part: u64, of: u64) -> Interval {
    if of == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (count, share) = (of as f64, part.min(of) as f64 / of as f64);
    let scale = 1.0 + Z * Z / count;
    let middle = (share + Z * Z / (2.0 * count)) / scale;
    let half = Z / scale * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    // At a share of 0 or 1, the formula gives exactly this end, except for rounding.
    let low = if part == 0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if part >= of { 1.0 } else { (middle + half).min(1.0) };
    Interval { low, high }
}
