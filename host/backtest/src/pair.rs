//! The counts of two models on the same wallets.

use crate::movers::Movers;
use assay_domain::{
    Assessment, Factor,
    features::FIGURES,
    stats::{Joint, Labelled, Sketch},
};

/// The most labels of factors: it limits the memory for a model with ever new labels.
const LABELS: usize = 64;

/// The counts of the first model and one other.
#[derive(Debug, Clone)]
pub struct Pair {
    pub joint: Joint,
    /// The wallets with a known outcome.
    pub labelled: Labelled,
    pub factors: Vec<FactorSum>,
    pub movers: Movers,
    /// The figures of the wallets whose range changes, and of those whose range stays.
    pub moved: Vec<Sketch>,
    pub stayed: Vec<Sketch>,
}

/// The sums of the points of a factor in the first and the second model, and the wallets that have the factor.
#[derive(Debug, Clone, Default)]
pub struct FactorSum {
    pub label: String,
    pub points: [i64; 2],
    pub wallets: [u64; 2],
}

impl Default for Pair {
    fn default() -> Self {
        let sketches = || vec![Sketch::default(); FIGURES.len()];
        Self {
            joint: Joint::default(),
            labelled: Labelled::default(),
            factors: Vec::new(),
            movers: Movers::default(),
            moved: sketches(),
            stayed: sketches(),
        }
    }
}

/// A wallet that both models scored.
pub struct Both<'a> {
    pub line: u64,
    pub id: Option<&'a str>,
    pub outcome: Option<bool>,
    pub first: &'a Assessment,
    pub second: &'a Assessment,
    pub figures: &'a [Option<f64>; FIGURES.len()],
}

impl Pair {
    pub fn see(&mut self, both: &Both<'_>) {
        let (first, second) = (both.first, both.second);
        self.joint.add(first.score, second.score);
        if let Some(bad) = both.outcome {
            self.labelled.add(first.score, second.score, bad);
        }
        let sketches = if first.score.range() == second.score.range() { &mut self.stayed } else { &mut self.moved };
        sketches.iter_mut().zip(both.figures).for_each(|(sketch, figure)| sketch.add(*figure));
        self.movers.see(both.line, both.id, first, second);
        self.sum(0, &first.factors);
        self.sum(1, &second.factors);
    }

    fn sum(&mut self, model: usize, factors: &[Factor]) {
        for factor in factors {
            let found = self.factors.iter().position(|sum| sum.label == factor.label);
            if found.is_none() && self.factors.len() < LABELS {
                self.factors.push(FactorSum { label: factor.label.clone(), ..FactorSum::default() });
            }
            let at = found.unwrap_or(self.factors.len().wrapping_sub(1));
            let Some(sum) = self.factors.get_mut(at).filter(|sum| sum.label == factor.label) else { continue };
            if let (Some(points), Some(wallets)) = (sum.points.get_mut(model), sum.wallets.get_mut(model)) {
                *points += i64::from(factor.points);
                *wallets += 1;
            }
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.joint.merge(&other.joint);
        self.labelled.merge(&other.labelled);
        self.movers.merge(other.movers);
        for (own, more) in self.moved.iter_mut().zip(&other.moved).chain(self.stayed.iter_mut().zip(&other.stayed)) {
            own.merge(more);
        }
        for sum in other.factors {
            let room = self.factors.len() < LABELS;
            match self.factors.iter_mut().find(|own| own.label == sum.label) {
                Some(own) => {
                    own.points.iter_mut().zip(sum.points).for_each(|(own, more)| *own += more);
                    own.wallets.iter_mut().zip(sum.wallets).for_each(|(own, more)| *own += more);
                }
                None if room => self.factors.push(sum),
                None => {}
            }
        }
    }
}
