//! What a model exports, whichever generation of the interface it was built for. One file per generation in `wit/`;
//! only the newest defines how an answer looks, older ones convert forward.

pub(crate) mod v1;

use wasmtime::component::Component;

use crate::call::Call;
use assay_domain::{Address, ModelKind, features::Features};

/// Answers as the newest interface shapes them, unchecked.
pub(crate) use v1::raw;

/// The functions of one loaded model. A function of another kind is an error, which the caller rules out beforehand.
pub(crate) trait Abi: Send + Sync {
    /// Checks that the instance has every function with exactly its types, which linking does not.
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

/// Binds a component that exports the interface `name` of this `kind`; an error names the function that is absent.
pub(crate) fn bind(component: &Component, kind: ModelKind, name: &str) -> Result<Box<dyn Abi>, String> {
    v1::Exports::find(component, kind, name).map(|exports| Box::new(exports) as Box<dyn Abi>)
}
