//! What would move a score to another range: the smallest repayment, the smallest deposit, the shortest wait and the
//! smallest fall of a price, each found by scoring changed features.

mod path;
mod search;
#[cfg(test)]
mod tests;

use crate::{
    Range, Score,
    features::{Change, Features},
};
use path::{deposits, falls, repayments, waits};
use search::{Goal, Search};

pub use search::MOST_CALLS;

/// What would raise a score to `target`, and what would lower it to the range below.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// `None` in the highest range.
    pub target: Option<Score>,
    /// A repayment, a deposit and a wait, each on its own; empty if the score has reached the target.
    pub raise: Vec<Step>,
    /// The highest score of the range below; `None` in the lowest range.
    pub floor: Option<Score>,
    /// A fall of the price of the collateral.
    pub lower: Option<Step>,
    /// The calls of the model, at most [`MOST_CALLS`].
    pub calls: u32,
}

/// The result of the search along one kind of change.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub kind: StepKind,
    /// Whether this change alone reaches the goal.
    pub reaches: bool,
    /// Whether no smaller change reaches it: one dollar, one day or a tenth of a percent less does not, and the score
    /// moved in one direction over everything that was tried.
    pub minimal: bool,
    /// The change that reaches the goal, or the one that comes nearest; `None` if none comes nearer than the score now.
    pub best: Option<Tried>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    Repay,
    Deposit,
    Wait,
    PriceFall,
}

/// A change, and what the model said after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    pub change: Change,
    pub score: Score,
    /// The lowest of the wallet; `None` if no market states one.
    pub health_factor: Option<f64>,
}

impl StepKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repay => "repay",
            Self::Deposit => "deposit",
            Self::Wait => "wait",
            Self::PriceFall => "price_fall",
        }
    }
}

/// Searches from `score`, the model's answer to `features`, to `target`; the next range by default. `ask` scores
/// changed features; `None` is a refusal.
///
/// # Errors
/// The first error of `ask`.
pub fn outlook<E>(
    features: &Features,
    score: Score,
    target: Option<Score>,
    ask: impl FnMut(&Features) -> Result<Option<Score>, E>,
) -> Result<Outlook, E> {
    let target = target.or_else(|| score.range().above().map(Range::lowest));
    let floor = score.range().lowest().below();
    let mut search = Search::new(features, score, ask);
    let mut raise = Vec::new();
    if let Some(target) = target.filter(|target| *target > score) {
        for (kind, paths) in [
            (StepKind::Repay, repayments(features)),
            (StepKind::Deposit, deposits(features)),
            (StepKind::Wait, vec![waits()]),
        ] {
            raise.push(search.step(kind, paths, Goal::AtLeast(target))?);
        }
    }
    let lower = match floor {
        Some(floor) => Some(search.step(StepKind::PriceFall, falls(features), Goal::AtMost(floor))?),
        None => None,
    };
    Ok(Outlook { target, raise, floor, lower, calls: search.calls() })
}
