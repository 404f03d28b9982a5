//! The decile table of a scorecard: the outcomes in each tenth of the scores.

use super::{Edges, Interval, Outcomes, wilson};

/// One tenth of the sample, worst scores first. Equal scores stay together, so tenths may differ in size. An empty
/// tenth is left out.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct DecileRow {
    /// Lowest and highest score in the tenth.
    pub from: u32,
    pub to: u32,
    pub count: u64,
    pub bad: u64,
    pub bad_rate: f64,
    /// The 95 % interval of the bad rate, by Wilson.
    pub interval: Interval,
    /// The mean probability of a bad outcome by the logistic fit, if there is a fit.
    pub expected_rate: Option<f64>,
    /// Shares of all subjects, of the bad and of the good, from the lowest score to the end of this row.
    pub cumulative: f64,
    pub cumulative_bad: f64,
    pub cumulative_good: f64,
    /// The difference between the shares of the bad and of the good.
    pub ks: f64,
}

impl Outcomes {
    /// The table of tenths by score (Siddiqi, "Credit Risk Scorecards", Wiley, 2006, chapter 7), with edges at the
    /// sample's own deciles. Each row has the observed and the expected rate, so the table is also the calibration
    /// curve (a reliability diagram as in DeGroot and Fienberg, The Statistician 32, 1983).
    pub fn deciles(&self) -> Vec<DecileRow> {
        let scores = self.scores();
        let edges = Edges::quantiles(&scores, 10);
        let fit = self.logistic();
        let (all, all_bad) = (scores.count(), self.bad.count());
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        let (mut rows, mut seen, mut seen_bad) = (Vec::new(), 0, 0);
        for bin in 0..=edges.as_slice().len() {
            let within = |score: &u32| edges.bin(f64::from(*score)) == bin;
            let cells: Vec<_> = scores.given().filter(|(score, _)| within(score)).collect();
            let (Some((from, _)), Some((to, _))) = (cells.first(), cells.last()) else { continue };
            let count: u64 = cells.iter().map(|(_, count)| count).sum();
            let bad: u64 = self.bad.given().filter(|(score, _)| within(score)).map(|(_, count)| count).sum();
            let expected = |fit: super::Logistic| {
                cells.iter().map(|(score, count)| fit.probability(f64::from(*score)) * *count as f64).sum::<f64>()
                    / count as f64
            };
            seen += count;
            seen_bad += bad;
            let (cumulative_bad, cumulative_good) = (share(seen_bad, all_bad), share(seen - seen_bad, all - all_bad));
            rows.push(DecileRow {
                from: *from,
                to: *to,
                count,
                bad,
                bad_rate: share(bad, count),
                interval: wilson(bad, count),
                expected_rate: fit.map(expected),
                cumulative: share(seen, all),
                cumulative_bad,
                cumulative_good,
                ks: (cumulative_bad - cumulative_good).abs(),
            });
        }
        rows
    }
}
