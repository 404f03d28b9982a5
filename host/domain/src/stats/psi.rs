//! The population stability index.

/// The smallest share of a bin: smaller shares are raised to it in both samples, because an empty bin would make the
/// index infinite. The shares are not renormalised.
pub const FLOOR: f64 = 1e-4;
/// From this value on, a shift deserves an investigation.
pub const INVESTIGATE: f64 = 0.1;
/// From this value on, the population has changed.
pub const SIGNIFICANT: f64 = 0.25;

/// The population stability index of two samples counted in the same bins: the sum over the bins of `(a - e) ln(a /
/// e)`, `e` and `a` being the bin's shares of the expected and the actual sample, each at least [`FLOOR`]. It is the
/// symmetric divergence of Jeffreys, "An Invariant Form for the Prior Probability in Estimation Problems", Proc. R.
/// Soc. A 186 (1946), on binned data; its use on scores and the bands 0.1 and 0.25 are from Siddiqi, "Credit Risk
/// Scorecards" (Wiley, 2006), chapter 9.
///
/// `None` if a sample is empty or the bins differ.
pub fn psi(expected: &[u64], actual: &[u64]) -> Option<f64> {
    let (all_expected, all_actual): (u64, u64) = (expected.iter().sum(), actual.iter().sum());
    if expected.len() != actual.len() || all_expected == 0 || all_actual == 0 {
        return None;
    }
    let share = |count: &u64, all: u64| (*count as f64 / all as f64).max(FLOOR);
    let terms = expected.iter().zip(actual).map(|(e, a)| (share(e, all_expected), share(a, all_actual)));
    Some(terms.map(|(e, a)| (a - e) * (a / e).ln()).sum())
}

/// The index that two samples of one population exceed once in a thousand times, by chance: it is distributed as
/// `(1/expected + 1/actual) χ²(bins - 1)` (Yurdakul, "Statistical Properties of Population Stability Index", Western
/// Michigan University 2018), whose quantile is that of Wilson and Hilferty. `bins` are those that have a value.
pub fn chance(bins: usize, expected: u64, actual: u64) -> f64 {
    /// Of the standard normal distribution, at 99.9 %.
    const QUANTILE: f64 = 3.090_232_306_167_813;
    let freedom = bins.saturating_sub(1) as f64;
    if freedom == 0.0 || expected == 0 || actual == 0 {
        return f64::INFINITY;
    }
    let part = 2.0 / (9.0 * freedom);
    let quantile = freedom * (1.0 - part + QUANTILE * part.sqrt()).powi(3);
    quantile * (1.0 / expected as f64 + 1.0 / actual as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_the_quantile_of_a_table() {
        // χ² at 99.9 %: 10.828 with 1 degree of freedom, 29.588 with 10.
        for (bins, table) in [(2, 10.828), (11, 29.588)] {
            let found = chance(bins, 500, 500) / 0.004;
            assert!((found / table - 1.0).abs() < 0.04, "{bins}: {found} for {table}");
        }
        assert_eq!(chance(1, 500, 500), f64::INFINITY, "one bin tells nothing");
    }
}
