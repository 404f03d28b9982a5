//! The exports of a model, for every major version of the interface. One file for each version in `wit/`; the newest
//! defines the types of answers in [`raw`], and older versions convert to them.

mod lower;
mod newest;
pub(crate) mod raw;
mod v1;
mod v2;

use wasmtime::component::Component;

use super::{ModelCall, mock::MockSubject};
use crate::compile::world::{Generation, KindWorld};
use assay_domain::{Address, features::Features};

/// An answer, or the model's reason for refusing one.
pub(crate) type Judged<T> = wasmtime::Result<Result<T, raw::Refusal>>;

/// The functions of one loaded model. Calling a function of another kind is an error, which the types of
/// [`super::kinds`] prevent.
pub(crate) trait Abi: Send + Sync {
    /// Checks that the instance has every function with exact types; linking does not check this.
    fn verify(&self, call: &mut ModelCall<'_>) -> wasmtime::Result<()>;

    fn describe(&self, call: &mut ModelCall<'_>) -> wasmtime::Result<raw::ModelInfo>;
    fn score(&self, call: &mut ModelCall<'_>, features: &Features) -> Judged<raw::Verdict>;
    /// The words for the factors of a score, if [`Abi::score`] returned only points.
    fn explain(&self, call: &mut ModelCall<'_>, features: &Features) -> Judged<Vec<raw::Factor>>;
    fn decile(&self, call: &mut ModelCall<'_>, score: u32) -> wasmtime::Result<u8>;
    fn boost(&self, call: &mut ModelCall<'_>, score: u32, total_asset_usd: f64) -> wasmtime::Result<u32>;
    fn risk(&self, call: &mut ModelCall<'_>, features: &Features) -> wasmtime::Result<raw::RiskVerdict>;
    fn explain_risk(&self, call: &mut ModelCall<'_>, features: &Features) -> wasmtime::Result<Vec<raw::Factor>>;
    fn mock_score(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<u32>;
    fn mock_boosted(&self, call: &mut ModelCall<'_>, address: &Address, total_asset_usd: f64) -> wasmtime::Result<u32>;
    fn mock_factors(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<Vec<raw::Factor>>;
    fn mock_report(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<raw::MockReport>;
    fn mock_portfolio(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<Vec<raw::ChainValue>>;
    fn mock_scenarios(&self, call: &mut ModelCall<'_>) -> wasmtime::Result<Vec<raw::Scenario>>;
    fn mock_behaviour(
        &self,
        call: &mut ModelCall<'_>,
        subject: &MockSubject,
    ) -> wasmtime::Result<Option<raw::Behaviour>>;
}

/// Finds the functions of the interface of `world`. An error names the missing function.
pub(crate) fn bind(component: &Component, world: &KindWorld) -> Result<Box<dyn Abi>, String> {
    let KindWorld { kind, generation, interface } = world;
    let (_, instance) =
        component.get_export(None, interface).ok_or_else(|| format!("it does not export {interface}"))?;
    let index = |function: &str| {
        component
            .get_export_index(Some(&instance), function)
            .ok_or_else(|| format!("{interface} lacks the function `{function}`"))
    };
    Ok(match generation {
        Generation::V1 => Box::new(v1::Exports::find(*kind, index)?),
        Generation::V2 => Box::new(v2::Exports::find(*kind, index)?),
    })
}

/// The error for calling a function that this kind of model does not have.
pub(crate) fn mismatch<T>() -> wasmtime::Result<T> {
    Err(wasmtime::format_err!("the model is of another kind"))
}
