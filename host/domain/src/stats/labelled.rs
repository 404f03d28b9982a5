//! Two models' scores of the same subjects, with the subjects' outcomes.

use super::{Joint, Outcomes};
use crate::Score;

/// Pairs of scores by outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Labelled {
    pub good: Joint,
    pub bad: Joint,
}

impl Labelled {
    pub fn add(&mut self, first: Score, second: Score, bad: bool) {
        if bad { self.bad.add(first, second) } else { self.good.add(first, second) }
    }

    pub fn merge(&mut self, other: &Self) {
        self.good.merge(&other.good);
        self.bad.merge(&other.bad);
    }

    pub fn count(&self) -> u64 {
        self.good.count() + self.bad.count()
    }

    /// The scores of the first model.
    pub fn first(&self) -> Outcomes {
        Outcomes { good: self.good.first(), bad: self.bad.first() }
    }

    /// The scores of the second model.
    pub fn second(&self) -> Outcomes {
        Outcomes { good: self.good.second(), bad: self.bad.second() }
    }
}
