//! A sample of a figure in bins, in which other samples are counted.

use super::{Sketch, psi};

/// The bins of a sample: one of absent values, one of zero, and one between each two edges. Small enough to be kept in
/// the card of a model.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bins {
    /// Absent values, and values that are not a number.
    pub absent: u64,
    pub zero: u64,
    /// In rising order; 0 is one of them. The outer bins are open.
    pub edges: Vec<f64>,
    /// The other values, one count more than edges.
    pub counts: Vec<u64>,
}

impl Bins {
    /// The bins of `sample`: about `bins` have equal counts of its values other than zero. There are fewer if many
    /// values are equal.
    pub fn of(sample: &Sketch, bins: u32) -> Self {
        let given: u64 = sample.bands().map(|band| band.count).sum();
        let most = given.div_ceil(u64::from(bins.max(1))).max(1);
        let (mut edges, mut seen, mut is_positive) = (Vec::new(), 0, false);
        // No value of one sign is beyond its last edge, so larger values belong to its last bin.
        let negatives_end = |edges: &mut Vec<f64>, seen| {
            if seen == 0 {
                edges.pop();
            }
            edges.push(0.0);
        };
        for band in sample.bands() {
            if band.below > 0.0 && !is_positive {
                negatives_end(&mut edges, seen);
                (seen, is_positive) = (0, true);
            }
            seen += band.count;
            if seen >= most {
                edges.push(band.below);
                seen = 0;
            }
        }
        match is_positive {
            true if seen == 0 => drop(edges.pop()),
            true => {}
            false => negatives_end(&mut edges, seen),
        }
        Self { counts: vec![0; edges.len() + 1], edges, ..Self::default() }.with(sample)
    }

    /// `sample` in the same bins.
    #[must_use]
    pub fn with(&self, sample: &Sketch) -> Self {
        let mut counts = vec![0; self.edges.len() + 1];
        for band in sample.bands() {
            let bin = self.edges.partition_point(|edge| *edge <= band.middle());
            if let Some(count) = counts.get_mut(bin) {
                *count += band.count;
            }
        }
        Self { absent: sample.missing(), zero: sample.zero(), edges: self.edges.clone(), counts }
    }

    /// Refuses bins that no sample has.
    ///
    /// # Errors
    /// The problem.
    pub fn check(&self) -> Result<(), String> {
        let is_rising =
            self.edges.iter().all(|edge| edge.is_finite()) && self.edges.is_sorted_by(|low, high| low < high);
        match () {
            () if !is_rising => Err("its edges are not finite numbers, each above the one before".to_owned()),
            () if !self.edges.contains(&0.0) => Err("0 is none of its edges".to_owned()),
            () if self.counts.len() != self.edges.len() + 1 => Err(format!(
                "{} edges make {} bins, and {} have counts",
                self.edges.len(),
                self.edges.len() + 1,
                self.counts.len()
            )),
            () if self.counts().try_fold(0_u64, u64::checked_add).is_none() => {
                Err("its counts are too large".to_owned())
            }
            () => Ok(()),
        }
    }

    /// The number of values, absent ones included.
    pub fn count(&self) -> u64 {
        self.counts().fold(0, u64::saturating_add)
    }

    /// The share of values that are absent; `None` without values.
    pub fn missing(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.absent as f64 / count as f64)
    }

    /// The population stability index of `actual` against this sample, see [`psi`](super::psi()).
    pub fn psi(&self, actual: &Sketch) -> Option<f64> {
        psi(&self.counts().collect::<Vec<_>>(), &self.with(actual).counts().collect::<Vec<_>>())
    }

    /// Bins that have a value of this sample or of `actual`.
    pub fn used(&self, actual: &Sketch) -> usize {
        self.counts().zip(self.with(actual).counts()).filter(|counts| *counts != (0, 0)).count()
    }

    fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        [self.absent, self.zero].into_iter().chain(self.counts.iter().copied())
    }

    /// Each bin of the values other than zero: its edges and its count.
    fn between(&self) -> impl Iterator<Item = (Option<f64>, Option<f64>, u64)> + '_ {
        let edge = |at: Option<usize>| at.and_then(|at| self.edges.get(at)).copied();
        self.counts.iter().enumerate().map(move |(bin, count)| (edge(bin.checked_sub(1)), edge(Some(bin)), *count))
    }

    /// The bins with their counts in this sample and in `actual`. Bins of negative values are left out if neither has
    /// one.
    pub fn bands(&self, actual: &Sketch) -> Vec<Band> {
        let actual = self.with(actual);
        let mut found = vec![
            Band { figures: Figures::Absent, expected: self.absent, actual: actual.absent },
            Band { figures: Figures::Zero, expected: self.zero, actual: actual.zero },
        ];
        for ((from, below, expected), actual) in self.between().zip(actual.counts) {
            let figures = match below {
                Some(below) if below <= 0.0 && (expected, actual) == (0, 0) => continue,
                Some(below) if below <= 0.0 => Figures::Negative { from, below },
                below => Figures::Positive { from: from.unwrap_or(0.0), below },
            };
            found.push(Band { figures, expected, actual });
        }
        found
    }
}

/// A bin of figures, with its count in two samples.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Band {
    #[serde(flatten)]
    pub figures: Figures,
    pub expected: u64,
    pub actual: u64,
}

/// The values of a bin.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "figures")]
pub enum Figures {
    /// Absent, or not a number.
    Absent,
    Zero,
    /// Above `from` if there is such an edge, at most `below`, and below 0.
    Negative {
        from: Option<f64>,
        below: f64,
    },
    /// At least `from`, and less than `below` if there is such an edge.
    Positive {
        from: f64,
        below: Option<f64>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(values: impl IntoIterator<Item = f64>) -> Sketch {
        let mut sketch = Sketch::default();
        values.into_iter().for_each(|value| sketch.add(Some(value)));
        sketch
    }

    /// Edges between values of every sign, through text and back, give the counts that the values have.
    #[test]
    fn values_of_every_sign_are_counted_in_the_bins_of_the_sample() {
        let values = |shift: i32| (-600..400).map(move |n| f64::from(n + shift) / 7.0);
        let (mut expected, mut actual) = (sketch(values(0)), sketch(values(150)));
        (0..50).for_each(|_| expected.add(None));
        (0..900).for_each(|_| actual.add(Some(f64::NAN)));
        let bins = Bins::of(&expected, 10);
        bins.check().unwrap();
        assert_eq!((bins.count(), bins.missing()), (1_050, Some(50.0 / 1_050.0)));
        assert!((10..=13).contains(&bins.counts.len()), "{bins:?}");
        assert!(bins.counts.iter().all(|count| (30..=140).contains(count)), "{bins:?}");
        let text = serde_json::to_string(&bins).unwrap();
        assert_eq!(serde_json::from_str::<Bins>(&text).unwrap(), bins);
        assert_eq!(bins.with(&expected), bins);
        assert_eq!(bins.psi(&expected), Some(0.0));
        assert!(bins.psi(&actual).unwrap() > 1.0);
        // Only the sign changes: without bins of negative values nothing would be seen.
        let (rising, falling) = (sketch((1..900).map(f64::from)), sketch((1..900).map(|n| -f64::from(n))));
        assert!(Bins::of(&rising, 10).psi(&falling).unwrap() > 5.0);
        assert!(Bins::of(&falling, 10).psi(&rising).unwrap() > 5.0);
        let bands = bins.bands(&actual);
        assert!(bands.iter().any(|band| matches!(band.figures, Figures::Negative { from: None, .. })), "{bands:?}");
        assert_eq!(bands.iter().map(|band| band.actual).sum::<u64>(), actual.count());
    }

    #[test]
    fn few_or_equal_values_have_bins_too() {
        for (values, counts) in [
            (vec![], vec![0, 0]),
            (vec![0.0; 9], vec![0, 0]),
            (vec![5.0; 9], vec![0, 9]),
            (vec![-5.0; 9], vec![9, 0]),
            (vec![-1.0, 1.0], vec![1, 1]),
        ] {
            let bins = Bins::of(&sketch(values.clone()), 10);
            bins.check().unwrap();
            assert_eq!((&bins.counts, bins.count()), (&counts, values.len() as u64), "{values:?} {bins:?}");
        }
    }

    #[test]
    fn bins_that_no_sample_has_are_refused() {
        let bins =
            |edges: &[f64], counts: &[u64]| Bins { edges: edges.to_vec(), counts: counts.to_vec(), ..Bins::default() };
        for (bins, words) in [
            (bins(&[0.0, 0.0], &[1, 1, 1]), "each above the one before"),
            (bins(&[f64::NAN], &[1, 1]), "each above the one before"),
            (bins(&[1.0], &[1, 1]), "0 is none of its edges"),
            (bins(&[0.0], &[1]), "1 edges make 2 bins, and 1 have counts"),
            (bins(&[0.0], &[u64::MAX, 1]), "too large"),
        ] {
            let wrong = bins.check().unwrap_err();
            assert!(wrong.contains(words), "{words}: {wrong}");
        }
    }
}
