//! Sample quantiles of counted values.

/// The quantile at `p` from 0 to 1, by linear interpolation between order statistics: definition 7 of Hyndman and Fan,
/// "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996), the default of R and NumPy.
///
/// `counted` are values with their counts, in rising order. `None` if it is empty, or `p` is outside 0 to 1.
pub fn quantile(counted: impl Iterator<Item = (f64, u64)> + Clone, p: f64) -> Option<f64> {
    let count: u64 = counted.clone().map(|(_, count)| count).sum();
    if count == 0 || !(0.0..=1.0).contains(&p) {
        return None;
    }
    let at = (count - 1) as f64 * p;
    let below = at.floor();
    let low = order_statistic(counted.clone(), below as u64)?;
    let part = at - below;
    if part == 0.0 {
        return Some(low);
    }
    let high = order_statistic(counted, below as u64 + 1)?;
    Some(low + (high - low) * part)
}

/// The value with `rank` values before it.
fn order_statistic(counted: impl Iterator<Item = (f64, u64)>, rank: u64) -> Option<f64> {
    let mut before = 0;
    for (value, count) in counted {
        before += count;
        if before > rank {
            return Some(value);
        }
    }
    None
}
