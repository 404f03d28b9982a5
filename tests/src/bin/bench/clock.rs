//! Timing: cases take turns in short rounds, so that whatever else the machine does falls on all of them alike.

use std::time::{Duration, Instant};

/// How long one case runs in one round. Short against what disturbs a machine, long against the clock.
const SLICE: Duration = Duration::from_millis(10);

/// Something to do over and over.
pub type Case<'a> = Box<dyn FnMut() + 'a>;

/// What the rounds gave, one list per case, in the order of the rounds.
pub struct Rounds(pub Vec<Vec<f64>>);

impl Rounds {
    /// Calls each case again and again for a slice, in turns; microseconds per call.
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

    /// Measures `cases` cases in turns, each round beginning with another one.
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

    /// Of the ratios of `case` to `reference`, round by round: what changes slowly cancels out.
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

/// Calls that fill a slice. They also warm the case.
fn calibrate(case: &mut Case<'_>) -> u32 {
    let started = Instant::now();
    let mut calls = 0_u32;
    while started.elapsed() < 2 * SLICE {
        case();
        calls += 1;
    }
    (calls / 2).max(1)
}
