//! Credit model 1.4: the position and the history of a borrower as two independent risks of a liquidation, and the
//! loans that it carried so far as the limit of its score.
//!
//! [`score`] is the model and [`explain`] its words. The component exports only these, so native tests run the same
//! code. `card.toml` has the evidence, and `fit` the recipe.

mod balance;
mod carried;
mod curve;
mod decile;
#[cfg(target_arch = "wasm32")]
mod export;
mod factor;
mod history;
mod info;
mod loan;
mod position;
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
