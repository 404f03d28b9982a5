//! Sybil model 1.0: how likely a wallet is one of many that a program runs, 0 (human) to 100 (bot).
//!
//! Every factor adds risk for what is missing of a human trace; a wallet that shows nothing has all of it.

#[cfg(target_arch = "wasm32")]
mod export;
mod identity;
mod info;
mod risk;
mod trace;

/// The contract `wit/v1`, generated for the component as it was for the release. Native code takes the kit's types.
#[cfg(target_arch = "wasm32")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v1", world: "sybil-model", additional_derives: [PartialEq] });
}

#[cfg(not(target_arch = "wasm32"))]
pub use assay_model::{RiskAssessment, types};
#[cfg(target_arch = "wasm32")]
pub use bindings::{assay::model::types, exports::assay::model::sybil::RiskAssessment};
pub use info::describe;
pub use risk::risk;
