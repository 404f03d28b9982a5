//! Credit model 1.1: a points scorecard of five factors over what the chains say about a wallet.
//!
//! [`score`] is the model. The component exports it and nothing beside it, so native tests and benchmarks run the very
//! same code.

mod curve;
mod decile;
#[cfg(target_arch = "wasm32")]
mod export;
mod factors;
mod info;
mod scorecard;
mod seen;
mod words;

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
