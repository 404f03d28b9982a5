//! One model without a registry: for an auditor, who has its bytes and asks it what it said then.

use std::sync::Arc;

use super::{
    Limits, LoadError, Model,
    engine::{Purpose, Runtime},
    examine,
};

/// The model in `bytes`, checked as the shelf would, on an engine as it serves. Takes as long as compiling does.
///
/// # Errors
/// The first thing that is wrong with the file, or why this machine cannot run models.
pub fn alone(bytes: &[u8], limits: &Limits) -> Result<Model, LoadError> {
    let limits = Limits { instances: 1, ..limits.clone() };
    let runtime =
        Runtime::new(&limits, Purpose::SERVE).map_err(|error| LoadError::Link(format!("this machine cannot run models: {error:#}")))?;
    let found = examine::examine(bytes, &Arc::new(runtime), None);
    match (found.problems.into_iter().next(), found.model) {
        (None, Some(model)) => Ok(model),
        (problem, _) => Err(problem.unwrap_or(LoadError::Closed)),
    }
}
