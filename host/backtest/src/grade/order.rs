//! Rows in the order of a value, by date: an AUC of weighted rows is then one pass over them.

use std::collections::BTreeMap;

use crate::graded::GradedRow;

const DAY: u64 = 86_400;

/// The rows that have a value, as runs of equal values, the lowest first. A pair counts only within one group.
pub(crate) struct Order {
    groups: Vec<Vec<Vec<usize>>>,
}

impl Order {
    /// Every row in one group.
    pub(crate) fn pooled(rows: &[&GradedRow], value: impl Fn(&GradedRow) -> Option<f64>) -> Self {
        Self::by(rows, value, |_| 0)
    }

    /// A group for each UTC date, so that what sets the dates apart is not taken for skill.
    pub(crate) fn within_dates(rows: &[&GradedRow], value: impl Fn(&GradedRow) -> Option<f64>) -> Self {
        Self::by(rows, value, |row| row.as_of / DAY)
    }

    fn by(rows: &[&GradedRow], value: impl Fn(&GradedRow) -> Option<f64>, group: impl Fn(&GradedRow) -> u64) -> Self {
        let mut found: BTreeMap<u64, Vec<(f64, usize)>> = BTreeMap::new();
        for (index, row) in rows.iter().enumerate() {
            if let Some(value) = value(row) {
                found.entry(group(row)).or_default().push((value, index));
            }
        }
        let runs = |mut values: Vec<(f64, usize)>| {
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            let run = |run: &[(f64, usize)]| run.iter().map(|(_, index)| *index).collect();
            values.chunk_by(|a, b| a.0 == b.0).map(run).collect()
        };
        Self { groups: found.into_values().map(runs).collect() }
    }

    /// The probability that a good row has a higher value than a bad one of its group; equal values count half. A row
    /// counts as often as its weight says.
    pub(crate) fn auc(&self, rows: &[&GradedRow], weights: &[u64]) -> Option<f64> {
        let (mut twice, mut pairs) = (0_u128, 0_u128);
        for group in &self.groups {
            let (mut good_below, mut bad_below) = (0_u128, 0_u128);
            for run in group {
                let (mut good, mut bad) = (0_u128, 0_u128);
                for (row, weight) in run.iter().filter_map(|index| Some((rows.get(*index)?, weights.get(*index)?))) {
                    *if row.bad { &mut bad } else { &mut good } += u128::from(*weight);
                }
                twice += good * (2 * bad_below + bad);
                (good_below, bad_below) = (good_below + good, bad_below + bad);
            }
            pairs += good_below * bad_below;
        }
        (pairs > 0).then(|| twice as f64 / (2 * pairs) as f64)
    }

    /// Whether two rows of a group have different values.
    pub(crate) fn varies(&self) -> bool {
        self.groups.iter().any(|runs| runs.len() > 1)
    }

    /// The number of groups with a good and a bad row.
    pub(crate) fn both(&self, rows: &[&GradedRow]) -> u64 {
        let of = |group: &&Vec<Vec<usize>>, bad: bool| {
            group.iter().flatten().any(|index| rows.get(*index).is_some_and(|row| row.bad == bad))
        };
        self.groups.iter().filter(|group| of(group, true) && of(group, false)).count() as u64
    }
}
