//! The wallets whose scores differ most between two models, with their factors.

use serde::Serialize;

use assay_domain::{Assessment, Score};

/// The number of wallets in each direction.
const MOST: usize = 8;

/// A wallet with different scores in two models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mover {
    /// Of the features file, counted from 1.
    pub line: u64,
    pub id: Option<String>,
    pub first: Score,
    pub second: Score,
    pub factors: Vec<FactorPoints>,
}

/// The points of one factor; `None` in a model that has no such factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactorPoints {
    pub label: String,
    pub first: Option<i32>,
    pub second: Option<i32>,
}

impl FactorPoints {
    /// Points won by it in the second model less those in the first, a missing factor counting 0.
    pub fn difference(&self) -> i64 {
        i64::from(self.second.unwrap_or(0)) - i64::from(self.first.unwrap_or(0))
    }
}

impl Mover {
    /// The difference of the scores; negative if the second one is lower.
    pub fn points(&self) -> i64 {
        i64::from(self.second.get()) - i64::from(self.first.get())
    }

    fn new(line: u64, id: Option<&str>, first: &Assessment, second: &Assessment) -> Self {
        let mut factors: Vec<_> = first
            .factors
            .iter()
            .map(|factor| FactorPoints { label: factor.label.clone(), first: Some(factor.points), second: None })
            .collect();
        for factor in &second.factors {
            match factors.iter_mut().find(|own| own.label == factor.label) {
                Some(own) => own.second = Some(factor.points),
                None => {
                    factors.push(FactorPoints {
                        label: factor.label.clone(),
                        first: None,
                        second: Some(factor.points),
                    });
                }
            }
        }
        // The largest difference first.
        factors.sort_by_key(|factor| -factor.difference().abs());
        Self { line, id: id.map(str::to_owned), first: first.score, second: second.score, factors }
    }
}

/// The wallets that moved most, up and down. Of equal moves, the earlier line of the file comes first, independent of
/// the order of the calls.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Movers {
    pub up: Vec<Mover>,
    pub down: Vec<Mover>,
}

impl Movers {
    pub fn see(&mut self, line: u64, id: Option<&str>, first: &Assessment, second: &Assessment) {
        let points = i64::from(second.score.get()) - i64::from(first.score.get());
        let list = match points {
            0 => return,
            1.. => &mut self.up,
            _ => &mut self.down,
        };
        // One comparison rejects most wallets.
        if list.len() < MOST || list.last().is_none_or(|last| (-points.abs(), line) < key(last)) {
            keep(list, Mover::new(line, id, first, second));
        }
    }

    pub fn merge(&mut self, other: Self) {
        other.up.into_iter().for_each(|mover| keep(&mut self.up, mover));
        other.down.into_iter().for_each(|mover| keep(&mut self.down, mover));
    }
}

fn key(mover: &Mover) -> (i64, u64) {
    (-mover.points().abs(), mover.line)
}

fn keep(list: &mut Vec<Mover>, mover: Mover) {
    let at = list.partition_point(|other| key(other) < key(&mover));
    list.insert(at, mover);
    list.truncate(MOST);
}
