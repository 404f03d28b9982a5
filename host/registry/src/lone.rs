//! One model without a shelf: what a backtest loads, to serve as a server would and to count what calls cost.

use std::sync::Arc;

use crate::{
    Limits, LoadError, Model, OpenError, ScoreError,
    engine::{Purpose, Runtime},
    examine,
};
use assay_domain::features::Features;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum LoneError {
    #[error(transparent)]
    Machine(#[from] OpenError),
    #[error(transparent)]
    File(#[from] LoadError),
}

/// The model in `bytes`, on engines of its own: confined and checked as a server serves it.
///
/// # Errors
/// The first thing that is wrong with the file, or with the machine.
pub fn lone(bytes: &[u8], limits: &Limits) -> Result<Model, LoneError> {
    load(bytes, limits, Purpose::SERVE)
}

/// The model in `bytes` on an engine that counts fuel, which slows every call.
///
/// # Errors
/// As [`lone`].
pub fn counting(bytes: &[u8], limits: &Limits) -> Result<Counting, LoneError> {
    load(bytes, limits, Purpose::COUNT).map(Counting)
}

/// A model whose calls are counted. One caller at a time: a cost is that of the last call.
pub struct Counting(Model);

/// What a call cost. The same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fuel {
    /// Instructions, roughly.
    pub fuel: u64,
    /// The most linear memory it had, in bytes.
    pub memory: usize,
}

impl Counting {
    /// What scoring `features` costs, an instance of its own included.
    ///
    /// # Errors
    /// As [`Model::score`]. A call that fails has no cost worth knowing.
    pub fn cost(&mut self, features: &Features) -> Result<Fuel, ScoreError> {
        self.0.score(features)?;
        let (fuel, memory) = self.0.last_cost();
        Ok(Fuel { fuel, memory })
    }
}

/// The model in `bytes` on engines of its own that are set up for `purpose`.
pub(super) fn load(bytes: &[u8], limits: &Limits, purpose: Purpose) -> Result<Model, LoneError> {
    let runtime = Runtime::new(limits, purpose).map_err(|error| OpenError::Engine(format!("{error:#}")))?;
    let found = examine::examine(bytes, &Arc::new(runtime), None);
    match (found.problems.into_iter().next(), found.model) {
        (None, Some(model)) => Ok(model),
        (problem, _) => Err(problem.unwrap_or(LoadError::Closed).into()),
    }
}
