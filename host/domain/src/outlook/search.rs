//! The search for the smallest change: a few points of a path are scored, and the first part of it in which the goal is
//! reached is bisected.

use std::collections::BTreeMap;

use super::{Step, StepKind, Tried, path::Path};
use crate::{Score, Standing, features::Features};

/// Most calls of the model for one kind of change: enough for the dollars of a debt of a billion.
const MOST_OF_STEP: u32 = 40;
/// Most calls of the model for one outlook, which has four kinds of change.
pub const MOST_CALLS: u32 = 4 * MOST_OF_STEP;

/// The scores that a search wants.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    AtLeast(Score),
    AtMost(Score),
}

impl Goal {
    fn is_met(self, score: Score) -> bool {
        match self {
            Self::AtLeast(goal) => score >= goal,
            Self::AtMost(goal) => score <= goal,
        }
    }

    fn is_nearer(self, one: Score, other: Score) -> bool {
        match self {
            Self::AtLeast(_) => one > other,
            Self::AtMost(_) => one < other,
        }
    }
}

pub(super) struct Search<'a, Ask> {
    features: &'a Features,
    score: Score,
    ask: Ask,
    calls: u32,
    /// The calls at which the current step ends.
    end: u32,
}

/// The amounts of a path that were scored, and the smallest that reaches the goal.
struct Walk {
    path: Path,
    scores: BTreeMap<u64, Option<Score>>,
    reached: Option<u64>,
    is_minimal: bool,
}

impl<'a, E, Ask: FnMut(&Features) -> Result<Option<Score>, E>> Search<'a, Ask> {
    pub(super) fn new(features: &'a Features, score: Score, ask: Ask) -> Self {
        Self { features, score, ask, calls: 0, end: 0 }
    }

    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// The smallest amount over `paths` that reaches `goal`.
    pub(super) fn step(&mut self, kind: StepKind, paths: Vec<Path>, goal: Goal) -> Result<Step, E> {
        let mut best: Option<Walk> = None;
        self.end = self.calls + MOST_OF_STEP;
        for path in paths {
            let Some(found) = &best else {
                best = Some(self.walk(path, goal)?);
                continue;
            };
            // Another path is better only if it reaches the goal with less.
            let most = found.reached.map_or(path.most, |reached| path.most.min(reached - 1));
            if most == 0 {
                break;
            }
            let score = self.score_at(&path, most)?;
            let is_met = score.is_some_and(|score| goal.is_met(score));
            let is_nearer = || match (score, found.furthest(goal)) {
                (Some(score), Some((_, Some(best)))) => goal.is_nearer(score, best),
                (score, _) => score.is_some(),
            };
            if is_met || found.reached.is_none() && is_nearer() {
                let mut grid: Vec<_> = path.grid.iter().copied().filter(|amount| *amount < most).collect();
                grid.push(most);
                best = Some(self.walk(Path { most, grid, ..path }, goal)?);
            }
        }
        let Some(walk) = best else { return Ok(Step { kind, reaches: false, minimal: false, best: None }) };
        let at = walk.reached.map(|amount| (amount, walk.scores.get(&amount).copied().flatten()));
        let nearer =
            || walk.furthest(goal).filter(|(_, found)| found.is_some_and(|one| goal.is_nearer(one, self.score)));
        let best = match at.or_else(nearer) {
            Some((amount, Some(score))) => {
                let change = (walk.path.change)(amount);
                let health_factor =
                    self.features.changed(&change).ok().and_then(|after| Standing::of(&after).health_factor);
                Some(Tried { change, score, health_factor })
            }
            _ => None,
        };
        let reaches = walk.reached.is_some();
        Ok(Step { kind, reaches, minimal: reaches && walk.is_minimal && !self.is_over(), best })
    }

    fn is_over(&self) -> bool {
        self.calls >= self.end
    }

    fn walk(&mut self, path: Path, goal: Goal) -> Result<Walk, E> {
        let mut scores = BTreeMap::from([(0, Some(self.score))]);
        for amount in &path.grid {
            let score = self.score_at(&path, *amount)?;
            scores.insert(*amount, score);
        }
        let is_met = |score: &Option<Score>| score.is_some_and(|score| goal.is_met(score));
        let first = scores.iter().find(|(_, score)| is_met(score)).map(|(amount, _)| *amount);
        let mut is_exact = true;
        let mut reached = None;
        if let Some(mut enough) = first {
            let mut short = scores.range(..enough).next_back().map_or(0, |(amount, _)| *amount);
            while enough - short > 1 {
                if self.is_over() {
                    is_exact = false;
                    break;
                }
                let middle = short + (enough - short) / 2;
                let score = self.score_at(&path, middle)?;
                if is_met(&score) {
                    enough = middle;
                } else {
                    short = middle;
                }
                scores.insert(middle, score);
            }
            reached = Some(enough);
        }
        let in_order: Option<Vec<Score>> = scores.values().copied().collect();
        let is_monotone = in_order.is_some_and(|scores| scores.is_sorted_by(|now, then| !goal.is_nearer(*now, *then)));
        Ok(Walk { path, scores, reached, is_minimal: is_exact && is_monotone })
    }

    /// `None` if the model refuses, the change does not apply, or the calls of the step are used up.
    fn score_at(&mut self, path: &Path, amount: u64) -> Result<Option<Score>, E> {
        if self.is_over() {
            return Ok(None);
        }
        let Ok(changed) = self.features.changed(&(path.change)(amount)) else { return Ok(None) };
        self.calls += 1;
        (self.ask)(&changed)
    }
}

impl Walk {
    /// The amount that comes nearest to the goal, the smallest of several.
    fn furthest(&self, goal: Goal) -> Option<(u64, Option<Score>)> {
        let changed = self.scores.iter().filter(|(amount, score)| **amount > 0 && score.is_some());
        let nearest = changed.rev().reduce(|best, next| match (best.1, next.1) {
            (Some(best_score), Some(score)) if goal.is_nearer(*best_score, *score) => best,
            _ => next,
        });
        nearest.map(|(amount, score)| (*amount, *score))
    }
}
