//! Credit model 1.0: four factors, each the share of a full figure on a logarithmic scale. It does not look at
//! repayments or liquidations.
//!
//! [`score`] is the model. The component exports it and nothing beside it, so native tests and benchmarks run the very
//! same code.

mod decile;
#[cfg(target_arch = "wasm32")]
mod export;
mod figures;
mod info;
mod scorecard;

/// The contract `wit/v1`, generated for the component as it was for the release. Native code takes the kit's types.
#[cfg(target_arch = "wasm32")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v1", world: "credit-model", additional_derives: [PartialEq] });
}

#[cfg(not(target_arch = "wasm32"))]
pub use assay_model::{Assessment, types};
#[cfg(target_arch = "wasm32")]
pub use bindings::{assay::model::types, exports::assay::model::credit::Assessment};
pub use decile::decile;
pub use info::describe;
pub use scorecard::score;
