//! The counts of a file: small, and independent of the order of lines and threads.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use crate::{
    graded::{Called, Graded, Grading},
    pair::{Both, Pair},
    record::{BadLine, Record},
    source::RecordUnit,
};
use assay_domain::{
    Assessment,
    features::{FIGURES, figures},
    stats::{Histogram, Outcomes, Sketch},
};
use assay_registry::{Fuel, ScoreError};

/// The number of bad lines in the report.
const SHOWN: usize = 20;

/// The counts of one file.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Lines that are records.
    pub records: u64,
    pub bad: u64,
    /// The first of them.
    pub first_bad: Vec<BadLine>,
    /// The unit of record numbers.
    pub unit: RecordUnit,
    /// Records with an outcome, and with a bad one.
    pub outcomes: u64,
    pub bad_outcomes: u64,
    /// By model.
    pub models: Vec<ModelTally>,
    /// The first model with each of the others.
    pub pairs: Vec<Pair>,
    /// The figures of every record.
    pub figures: Vec<Sketch>,
    /// The records with an outcome.
    pub graded: Graded,
}

/// The counts of one model.
#[derive(Debug, Clone, Default)]
pub struct ModelTally {
    pub scores: Histogram,
    /// Of records with an outcome.
    pub outcomes: Outcomes,
    /// Microseconds per call, with the start of its instance.
    pub latency: Sketch,
    /// Of the sampled calls.
    pub fuel: Sketch,
    /// The most memory a sampled call had, in bytes.
    pub memory: u64,
    /// Calls that gave no score, by stable code.
    pub without: BTreeMap<&'static str, Without>,
}

/// Calls that gave no score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Without {
    pub calls: u64,
    /// True for failures of the model; a refusal is an answer.
    pub fault: bool,
    /// The first such line, and its message.
    pub line: u64,
    pub message: String,
}

impl Tally {
    /// Empty counts of this many models.
    pub fn new(models: usize) -> Self {
        Self {
            records: 0,
            bad: 0,
            unit: RecordUnit::Line,
            first_bad: Vec::new(),
            outcomes: 0,
            bad_outcomes: 0,
            models: vec![ModelTally::default(); models],
            pairs: vec![Pair::default(); models.saturating_sub(1)],
            figures: vec![Sketch::default(); FIGURES.len()],
            graded: Graded::new(models),
        }
    }

    pub fn bad(&mut self, bad: BadLine) {
        self.bad += 1;
        self.first_bad.push(bad);
        self.tidy();
    }

    /// Adds a record with the answer of each model.
    pub fn see(&mut self, line: u64, record: &Record, called: &[Called], grading: &Grading) {
        self.records += 1;
        if let Some(bad) = record.outcome {
            self.outcomes += 1;
            self.bad_outcomes += u64::from(bad);
        }
        let figures = figures(&record.features);
        self.figures.iter_mut().zip(&figures).for_each(|(sketch, figure)| sketch.add(*figure));
        self.graded.see(line, record, called, &figures, grading);
        for (model, (answer, took)) in self.models.iter_mut().zip(called) {
            model.see(line, record.outcome, answer, *took);
        }
        let Some(((Ok(first), _), others)) = called.split_first() else { return };
        for (pair, (second, _)) in self.pairs.iter_mut().zip(others) {
            if let Ok(second) = second {
                pair.see(&Both {
                    line,
                    id: record.id.as_deref(),
                    outcome: record.outcome,
                    first,
                    second,
                    figures: &figures,
                });
            }
        }
    }

    /// Adds the cost of a sampled call.
    pub fn cost(&mut self, model: usize, Fuel { fuel, memory }: Fuel) {
        if let Some(model) = self.models.get_mut(model) {
            model.fuel.add(Some(fuel as f64));
            model.memory = model.memory.max(memory as u64);
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.records += other.records;
        self.bad += other.bad;
        self.first_bad.extend(other.first_bad);
        self.tidy();
        self.outcomes += other.outcomes;
        self.bad_outcomes += other.bad_outcomes;
        self.models.iter_mut().zip(other.models).for_each(|(own, more)| own.merge(more));
        self.pairs.iter_mut().zip(other.pairs).for_each(|(own, more)| own.merge(more));
        self.figures.iter_mut().zip(&other.figures).for_each(|(own, more)| own.merge(more));
        self.graded.merge(other.graded);
    }

    fn tidy(&mut self) {
        self.first_bad.sort_by_key(|bad| bad.line);
        self.first_bad.truncate(SHOWN);
    }
}

impl ModelTally {
    /// Calls that the model failed.
    pub fn faults(&self) -> u64 {
        self.without.values().filter(|without| without.fault).map(|without| without.calls).sum()
    }

    /// Records that the model refused.
    pub fn refusals(&self) -> u64 {
        self.without.values().filter(|without| !without.fault).map(|without| without.calls).sum()
    }

    fn see(&mut self, line: u64, outcome: Option<bool>, answer: &Result<Assessment, ScoreError>, took: Duration) {
        self.latency.add(Some(took.as_secs_f64() * 1e6));
        match answer {
            Ok(assessment) => {
                self.scores.add(assessment.score);
                match outcome {
                    Some(true) => self.outcomes.bad.add(assessment.score),
                    Some(false) => self.outcomes.good.add(assessment.score),
                    None => {}
                }
            }
            Err(error) => {
                let new = || Without { calls: 0, fault: error.is_fault(), line: u64::MAX, message: String::new() };
                let without = self.without.entry(error.code()).or_insert_with(new);
                without.calls += 1;
                if line < without.line {
                    (without.line, without.message) = (line, error.to_string());
                }
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.scores.merge(&other.scores);
        self.outcomes.good.merge(&other.outcomes.good);
        self.outcomes.bad.merge(&other.outcomes.bad);
        self.latency.merge(&other.latency);
        self.fuel.merge(&other.fuel);
        self.memory = self.memory.max(other.memory);
        for (code, more) in other.without {
            match self.without.get_mut(code) {
                Some(own) => {
                    own.calls += more.calls;
                    if more.line < own.line {
                        (own.line, own.message) = (more.line, more.message);
                    }
                }
                None => {
                    self.without.insert(code, more);
                }
            }
        }
    }
}
