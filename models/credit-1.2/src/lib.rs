//! Credit model 1.2: a scorecard that was fitted to liquidations. It judges wallets that use lending
//! markets, by what they owe now and by the liquidations behind them; what did not predict one earns nothing.
//!
//! [`score`] is the model and [`explain`] its words. The component exports them and nothing beside them, so native tests
//! run the very same code. `README.md` has the evidence, and `fit` the recipe.

mod decile;
#[cfg(target_arch = "wasm32")]
mod export;
mod factor;
mod info;
mod position;
mod repayment;
mod scorecard;
mod seen;
pub mod table;
// The released source of 1.1, which never changes.
#[path = "../../credit-1.1/src/words.rs"]
mod words;

/// The contract `wit/v2`, generated for the component as it was for the release. Native code takes the kit's types.
#[cfg(target_arch = "wasm32")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v2", world: "credit-model", additional_derives: [PartialEq] });
}

#[cfg(not(target_arch = "wasm32"))]
pub use assay_model::v2::{Verdict, types};
#[cfg(target_arch = "wasm32")]
pub use bindings::{assay::model::types, exports::assay::model::credit::Verdict};
pub use decile::decile;
pub use info::describe;
pub use scorecard::{explain, score};
