//! The sandbox: mock scores, reports and portfolios, each a pure function of the bytes of an address.
//!
//! One wallet is drawn from the bytes and every answer is a view of it, so that answers agree with one another.

mod band;
mod boost;
mod dice;
#[cfg(target_arch = "wasm32")]
mod export;
mod factors;
mod info;
mod lending;
mod places;
mod report;
mod tokens;
mod wallet;

/// The contract `wit/v1`, generated for the component as it was for the release. Native code takes the kit's types.
#[cfg(target_arch = "wasm32")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v1", world: "sandbox-generator", additional_derives: [PartialEq] });
}

#[cfg(not(target_arch = "wasm32"))]
pub use assay_model::{ChainValue, MockReport, Nft, Pool, Position, Token, types};
pub use band::score;
#[cfg(target_arch = "wasm32")]
pub use bindings::{
    assay::model::types,
    exports::assay::model::sandbox::{ChainValue, MockReport, Nft, Pool, Position, Token},
};
pub use boost::boosted_score;
pub use factors::factors;
pub use info::describe;
pub use report::{portfolio, report};
