//! The sandbox 1.1: the wallets and scores of 1.0, reported as production reports.
//!
//! The draws are the released source of 1.0, which never changes. New are the names of markets, and values that contain
//! the collateral.

#[path = "../../sandbox/src/band.rs"]
mod band;
#[path = "../../sandbox/src/boost.rs"]
mod boost;
#[path = "../../sandbox/src/dice.rs"]
mod dice;
#[path = "../../sandbox/src/factors.rs"]
mod drawn_factors;
#[cfg(target_arch = "wasm32")]
mod export;
mod factors;
mod info;
#[path = "../../sandbox/src/lending.rs"]
mod lending;
#[path = "../../sandbox/src/places.rs"]
mod places;
mod report;
#[path = "../../sandbox/src/tokens.rs"]
mod tokens;
#[path = "../../sandbox/src/wallet.rs"]
mod wallet;

/// The contract `wit/v1`, generated for the component. Native code takes the kit's types.
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
