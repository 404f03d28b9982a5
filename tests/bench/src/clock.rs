//! Timing: cases alternate in short rounds, so that other load on the machine affects all of them equally.

use std::time::{Duration, Instant};

/// Time of one case in one round: shorter than most disturbances of a machine, longer than the resolution of the clock.
const SLICE: Duration = Duration::from_millis(10);

/// A case: the call that is measured.
pub type Case<'a> = Box<dyn FnMut() + 'a>;

/// The measurements: one list for each case, in the order of the rounds.
pub struct Rounds(pub Vec<Vec<f64>>);

impl Rounds {
    /// Calls each case repeatedly for a slice, in turns. Microseconds per call.
    pub fn of(rounds: usize, cases: &mut [Case<'_>]) -> Self {
        let repeats: Vec<u32> = cases.iter_mut().map(calibrate).collect();
        Self::measured(rounds, cases.len(), |index| {
            let (Some(case), Some(&repeats)) = (cases.get_mut(index), repeats.get(index)) else { return f64::NAN };
            let started = Instant::now();
            for _ in 0..repeats {
                case();
            }
            started.elapsed().as_secs_f64() * 1e6 / f64::from(repeats)
        })
    }

    /// Measures `cases` cases in turns. Each round starts with another case.
    pub fn measured(rounds: usize, cases: usize, mut measure: impl FnMut(usize) -> f64) -> Self {
        let mut found = vec![Vec::with_capacity(rounds); cases];
        for round in 0..rounds {
            for turn in 0..cases {
                let index = (round + turn) % cases;
                let value = measure(index);
                if let Some(list) = found.get_mut(index) {
                    list.push(value);
                }
            }
        }
        Self(found)
    }

    pub fn median(&self, case: usize) -> f64 {
        median(self.0.get(case).cloned().unwrap_or_default())
    }

    /// The median of the ratios of `case` to `reference` in each round, so that slow changes of the machine cancel out.
    pub fn ratio(&self, case: usize, reference: usize) -> f64 {
        match (self.0.get(case), self.0.get(reference)) {
            (Some(case), Some(reference)) => median(case.iter().zip(reference).map(|(a, b)| a / b).collect()),
            _ => f64::NAN,
        }
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    match (values.get(middle.wrapping_sub(1)), values.get(middle)) {
        (_, Some(value)) if odd => *value,
        (Some(below), Some(above)) => f64::midpoint(*below, *above),
        _ => f64::NAN,
    }
}

/// The number of calls that fill a slice. Counting them warms the case up.
fn calibrate(case: &mut Case<'_>) -> u32 {
    let started = Instant::now();
    let mut calls = 0_u32;
    while started.elapsed() < 2 * SLICE {
        case();
        calls += 1;
    }
    (calls / 2).max(1)
}
