//! A model outside any registry, for example in a backtest.

use std::sync::Arc;

use crate::{
    CreditModel, Limits, LoadError, Model, OfKind, OpenError, ScoreError,
    confine::{engine::Purpose, engines::Engines},
    examine,
};
use assay_domain::{ModelKind, features::Features};

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum StandaloneError {
    #[error(transparent)]
    Machine(#[from] OpenError),
    #[error(transparent)]
    File(#[from] LoadError),
    #[error("it is a {0} model, and a credit model is needed")]
    Kind(ModelKind),
}

/// Loads the model in `bytes` on its own engines, confined and checked as on a server.
///
/// # Errors
/// The first problem of the file or of the machine.
pub fn standalone(bytes: &[u8], limits: &Limits) -> Result<Arc<Model>, StandaloneError> {
    load(bytes, limits, Purpose::SERVE)
}

/// Loads the credit model in `bytes` on an engine that meters fuel, which slows every call.
///
/// # Errors
/// Those of [`standalone`], and an error for a model of another kind.
pub fn metered(bytes: &[u8], limits: &Limits) -> Result<MeteredModel, StandaloneError> {
    load_credit(bytes, limits, Purpose::COUNT).map(MeteredModel)
}

/// A credit model that measures the cost of its calls, one call at a time.
pub struct MeteredModel(CreditModel);

/// The cost of a call, equal on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fuel {
    /// Approximately the number of instructions.
    pub fuel: u64,
    /// The peak linear memory of the instance, in bytes.
    pub memory: usize,
}

impl MeteredModel {
    /// The cost of scoring `features`, including the start of an instance.
    ///
    /// # Errors
    /// Those of [`CreditModel::score`]. A failed call has no cost.
    pub fn cost(&mut self, features: &Features) -> Result<Fuel, ScoreError> {
        self.0.score(features)?;
        let (fuel, memory) = self.0.tally.last_cost();
        Ok(Fuel { fuel, memory })
    }
}

/// Loads the credit model in `bytes` on its own engines, set up for `purpose`.
pub(crate) fn load_credit(bytes: &[u8], limits: &Limits, purpose: Purpose) -> Result<CreditModel, StandaloneError> {
    let model = load(bytes, limits, purpose)?;
    CreditModel::of(&model).ok_or(StandaloneError::Kind(model.kind()))
}

fn load(bytes: &[u8], limits: &Limits, purpose: Purpose) -> Result<Arc<Model>, StandaloneError> {
    let engines = Engines::new(limits, purpose).map_err(|error| OpenError::Engine(format!("{error:#}")))?;
    let found = examine::examine(bytes, &engines, None);
    match (found.problems.into_iter().next(), found.model) {
        (None, Some(model)) => Ok(model),
        (problem, _) => Err(problem.unwrap_or(LoadError::Closed).into()),
    }
}
