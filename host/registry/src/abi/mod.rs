//! What a model exports, for every major version of the interface. One file for each version in `wit/`; the newest
//! defines the types of answers, and older versions convert to them.

pub(crate) mod v1;

use wasmtime::component::Component;

use crate::call::Call;
use assay_domain::{Address, ModelKind, features::Features};

/// Answers in the types of the newest interface, unchecked.
pub(crate) use v1::raw;

/// The functions of one loaded model. A function of another kind is an error; the types of [`crate::kinds`] prevent it.
pub(crate) trait Abi: Send + Sync {
    /// Checks that the instance has every function with exact types; linking does not check this.
    fn verify(&self, call: &mut Call<'_>) -> wasmtime::Result<()>;

    fn describe(&self, call: &mut Call<'_>) -> wasmtime::Result<raw::ModelInfo>;
    fn score(
        &self,
        call: &mut Call<'_>,
        features: &Features,
    ) -> wasmtime::Result<Result<raw::Assessment, raw::Refusal>>;
    fn decile(&self, call: &mut Call<'_>, score: u32) -> wasmtime::Result<u8>;
    fn boost(&self, call: &mut Call<'_>, score: u32, total_asset_usd: f64) -> wasmtime::Result<u32>;
    fn risk(&self, call: &mut Call<'_>, features: &Features) -> wasmtime::Result<raw::RiskAssessment>;
    fn mock_score(&self, call: &mut Call<'_>, address: &Address) -> wasmtime::Result<u32>;
    fn mock_boosted(&self, call: &mut Call<'_>, address: &Address, total_asset_usd: f64) -> wasmtime::Result<u32>;
    fn mock_factors(&self, call: &mut Call<'_>, address: &Address) -> wasmtime::Result<Vec<raw::Factor>>;
    fn mock_report(&self, call: &mut Call<'_>, address: &Address) -> wasmtime::Result<raw::MockReport>;
    fn mock_portfolio(&self, call: &mut Call<'_>, address: &Address) -> wasmtime::Result<Vec<raw::ChainValue>>;
}

/// Finds the functions of the interface `name` in a component of this `kind`. An error names the missing function.
pub(crate) fn bind(component: &Component, kind: ModelKind, name: &str) -> Result<Box<dyn Abi>, String> {
    v1::Exports::find(component, kind, name).map(|exports| Box::new(exports) as Box<dyn Abi>)
}
