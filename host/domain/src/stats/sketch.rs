//! The distribution of a figure, such as dollars, counts and seconds, in little memory.

use std::collections::BTreeMap;

use super::{Band, Bins};

/// Bits of an `f64` below its exponent and the first five bits of its fraction.
const SHIFT: u32 = 47;

/// Counts in bands; each octave has 32 bands. Quantiles have an error of at most 1.6 %, and two sketches merge without
/// loss. The guarantee is that of DDSketch (Masson, Rim and Lee, VLDB 2019), with the bands of an HDR histogram. At
/// most 32,768 bands exist; a few hundred are in use.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Sketch {
    /// Absent values, and values that are not a number.
    missing: u64,
    /// Zero; in the oldest records also negative values.
    zero: u64,
    bands: BTreeMap<u16, u64>,
    /// Negative values by their size.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    negative: BTreeMap<u16, u64>,
}

/// Values of one sign whose first five bits of the fraction are equal: at least `from`, or above it if negative; below
/// `below`, or at most it if negative.
#[derive(Debug, Clone, Copy)]
pub(super) struct SketchBand {
    pub from: f64,
    pub below: f64,
    pub count: u64,
}

impl SketchBand {
    pub(super) fn middle(&self) -> f64 {
        f64::midpoint(self.from, self.below)
    }
}

impl Sketch {
    pub fn add(&mut self, value: Option<f64>) {
        match value.filter(|value| value.is_finite()) {
            None => self.missing += 1,
            Some(0.0) => self.zero += 1,
            Some(value) if value < 0.0 => *self.negative.entry(band(-value)).or_default() += 1,
            Some(value) => *self.bands.entry(band(value)).or_default() += 1,
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.missing = self.missing.saturating_add(other.missing);
        self.zero = self.zero.saturating_add(other.zero);
        for (own, other) in [(&mut self.bands, &other.bands), (&mut self.negative, &other.negative)] {
            for (band, count) in other {
                let own = own.entry(*band).or_default();
                *own = own.saturating_add(*count);
            }
        }
    }

    /// The number of values, absent ones included.
    pub fn count(&self) -> u64 {
        self.missing + self.present()
    }

    /// The number of values that were absent or not a number.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// The number of zeros.
    pub fn zero(&self) -> u64 {
        self.zero
    }

    fn present(&self) -> u64 {
        self.zero + self.bands().map(|band| band.count).sum::<u64>()
    }

    /// The values other than zero, in rising order.
    pub(super) fn bands(&self) -> impl Iterator<Item = SketchBand> + '_ {
        let below =
            |(band, count): (&u16, &u64)| SketchBand { from: -upper(*band), below: -lower(*band), count: *count };
        let above = |(band, count): (&u16, &u64)| SketchBand { from: lower(*band), below: upper(*band), count: *count };
        self.negative.iter().rev().map(below).chain(self.bands.iter().map(above))
    }

    /// The value that a share `p` (0 to 1) of the present values does not exceed, with an error of at most 1.6 %;
    /// `None` if there are none.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let present = self.present();
        // The smallest rank whose share reaches `p`.
        let rank = ((present as f64 * p).ceil() as u64).clamp(1, present.max(1));
        let (mut seen, mut is_zero_seen) = (0, false);
        for band in self.bands() {
            if band.from >= 0.0 && !is_zero_seen {
                (seen, is_zero_seen) = (seen + self.zero, true);
                if seen >= rank {
                    return Some(0.0);
                }
            }
            seen += band.count;
            if seen >= rank {
                return Some(band.middle());
            }
        }
        (present > 0).then_some(0.0)
    }

    /// Both samples in bins: one of absent values, one of zero, and about `bins` bins of the other values with equal
    /// counts in this sample. There are fewer bins if many values are equal.
    pub fn bins(&self, actual: &Self, bins: u32) -> Vec<Band> {
        Bins::of(self, bins).bands(actual)
    }

    /// The population stability index of `actual` against this sample, see [`psi`](super::psi()), in the ten
    /// [`bins`](Self::bins).
    pub fn psi(&self, actual: &Self) -> Option<f64> {
        Bins::of(self, 10).psi(actual)
    }
}

/// The band of a positive number. Positive floats have the same order as their bits.
fn band(value: f64) -> u16 {
    u16::try_from(value.to_bits() >> SHIFT).unwrap_or(u16::MAX)
}

/// The lower edge of a band.
fn lower(band: u16) -> f64 {
    f64::from_bits(u64::from(band) << SHIFT)
}

/// The upper edge of a band.
fn upper(band: u16) -> f64 {
    lower(band.saturating_add(1))
}
