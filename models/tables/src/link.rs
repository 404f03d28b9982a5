//! From the margin to the number that the score is linear in: calibrated log-odds, or a probability.

use crate::{
    data::{Data, Section, double},
    network::sigmoid,
};

/// What is calibrated.
pub const OF_MARGIN: f64 = 0.0;
pub const OF_PROBABILITY: f64 = 1.0;

/// How it is calibrated: not at all, by a and b (Platt), or by steps (isotonic).
pub const PLAIN: f64 = 0.0;
pub const PLATT: f64 = 1.0;
pub const ISOTONIC: f64 = 2.0;

/// What the score is linear in.
pub const LOG_ODDS: f64 = 0.0;
pub const PROBABILITY: f64 = 1.0;

/// The numbers before the parameters: see [`Section::Link`].
pub const HEAD: usize = 4;

/// A probability this close to 0 or 1 counts as this far away, so its log-odds are finite.
pub const EDGE: f64 = 1e-12;

/// The link of a model; none if the score is linear in the margin.
#[derive(Clone, Copy)]
pub struct Link<'a>(&'a [u8]);

impl<'a> Link<'a> {
    pub fn of(data: Data<'a>) -> Option<Self> {
        let numbers = data.section(Section::Link);
        (!numbers.is_empty()).then_some(Self(numbers))
    }

    /// What the score is linear in, for a margin.
    pub fn value(self, margin: f64) -> f64 {
        if double(self.0, 3) == PROBABILITY { self.probability(margin) } else { self.log_odds(margin) }
    }

    /// The calibrated probability.
    pub fn probability(self, margin: f64) -> f64 {
        if double(self.0, 0) == ISOTONIC {
            self.isotonic(self.calibrated(margin))
        } else {
            sigmoid(self.log_odds(margin))
        }
    }

    fn log_odds(self, margin: f64) -> f64 {
        let kind = double(self.0, 0);
        if kind == PLAIN {
            return double(self.0, 2) * margin;
        }
        let calibrated = self.calibrated(margin);
        if kind == PLATT {
            return -(double(self.0, HEAD) * calibrated + double(self.0, HEAD + 1));
        }
        let share = self.isotonic(calibrated).clamp(EDGE, 1.0 - EDGE);
        libm::log(share / (1.0 - share))
    }

    /// The number that the calibration was fitted to.
    fn calibrated(self, margin: f64) -> f64 {
        if double(self.0, 1) == OF_PROBABILITY { sigmoid(double(self.0, 2) * margin) } else { margin }
    }

    /// The probability on the line between two steps; that of the first or last step outside of them.
    fn isotonic(self, at: f64) -> f64 {
        let steps = (self.0.len() / 8).saturating_sub(HEAD) / 2;
        let (x, y) = (|step: usize| double(self.0, HEAD + step), |step: usize| double(self.0, HEAD + steps + step));
        let above = (0..steps).take_while(|step| x(*step) <= at).count();
        match above {
            0 => y(0),
            above if above >= steps => y(steps.saturating_sub(1)),
            above => {
                let (low, high) = (x(above - 1), x(above));
                y(above - 1) + (y(above) - y(above - 1)) * (at - low) / (high - low)
            }
        }
    }

    /// How much the number rises for each 1 of the margin, from `from` to `to`.
    pub fn rise(self, from: f64, to: f64) -> f64 {
        const NEAR: f64 = 1e-6;
        let (from, to) = if (to - from).abs() < NEAR { (to - NEAR, to + NEAR) } else { (from, to) };
        (self.value(to) - self.value(from)) / (to - from)
    }
}
