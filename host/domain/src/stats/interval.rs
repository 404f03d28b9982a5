//! Confidence intervals of figures.

/// The two ends, lower first.
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
    let of_share = |of: u64| part.min(of) as f64 / of as f64;
    if of == 0 { Interval { low: 0.0, high: 1.0 } } else { of_size(of_share(of), of as f64) }
}

/// The 95 % interval of a share whose records belong to clusters, such as the dates of one wallet. It is Wilson's for
/// as many records as the spread between clusters supports, and at most one for each cluster (Dean and Pagano,
/// "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered Surveys", J. Surv. Stat. Methodol. 3,
/// 2015). `clusters` yields the part and the records of each. With one record per cluster it equals Wilson's; without
/// records it is 0 to 1.
pub fn clustered(clusters: impl Iterator<Item = (u64, u64)> + Clone) -> Interval {
    let (mut count, mut part, mut of) = (0.0, 0.0, 0.0);
    for (own, records) in clusters.clone().filter(|(_, records)| *records > 0) {
        (count, part, of) = (count + 1.0, part + own.min(records) as f64, of + records as f64);
    }
    if count == 0.0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let share = part / of;
    let off = |(own, records): (u64, u64)| (own.min(records) as f64 - share * records as f64).powi(2);
    let variance = clusters.map(off).sum::<f64>() / (of * of);
    let supported = share * (1.0 - share) / variance;
    // At a share of 0 or 1 there is no spread.
    of_size(share, if supported.is_finite() { supported.min(count) } else { count })
}

/// Wilson's interval of a share of `count` records.
fn of_size(share: f64, count: f64) -> Interval {
    let scale = 1.0 + Z * Z / count;
    let middle = (share + Z * Z / (2.0 * count)) / scale;
    let half = Z / scale * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    // At a share of 0 or 1, the formula gives exactly this end, except for rounding.
    let low = if share <= 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if share >= 1.0 { 1.0 } else { (middle + half).min(1.0) };
    Interval { low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_counts_at_most_once() {
        let once: Vec<_> = (0..40).map(|n| (u64::from(n < 10), 1)).collect();
        assert_eq!(clustered(once.iter().copied()), wilson(10, 40));
        // Sixty copies of each wallet add no information.
        let copies = once.iter().map(|(part, of)| (part * 60, of * 60));
        let near = |one: Interval, other: Interval| (one.low - other.low).abs() + (one.high - other.high).abs() < 1e-12;
        assert!(near(clustered(copies), wilson(10, 40)));
        // Records that differ within each wallet count as one per wallet.
        assert!(near(clustered((0..40).map(|_| (15, 60))), wilson(10, 40)));
        // One wallet with most of the records counts less than the others together.
        let heavy = clustered(once.iter().copied().chain([(60, 60)]));
        assert!(heavy.low < 0.4 && heavy.high > 0.9, "{heavy:?}");
        assert_eq!(clustered((0..40).map(|_| (0, 60))), wilson(0, 40));
        assert_eq!(clustered([(60, 60)].into_iter()), wilson(1, 1));
        assert_eq!(clustered([(0, 0)].into_iter()), Interval { low: 0.0, high: 1.0 });
    }
}
