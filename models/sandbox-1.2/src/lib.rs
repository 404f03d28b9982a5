//! The sandbox 1.2: the wallets, scores and reports of 1.1, and scenarios. A scenario is an address or agent for which a
//! server answers as production does in one condition.
//!
//! The released sources of 1.0 and 1.1 draw the wallets. These sources never change.

mod answers;
#[path = "../../sandbox/src/band.rs"]
mod band;
#[path = "../../sandbox/src/boost.rs"]
mod boost;
#[path = "../../sandbox/src/dice.rs"]
mod dice;
mod drawn;
#[path = "../../sandbox/src/factors.rs"]
mod drawn_factors;
#[cfg(target_arch = "wasm32")]
mod export;
#[path = "../../sandbox-1.1/src/factors.rs"]
mod factors;
mod info;
#[path = "../../sandbox/src/lending.rs"]
mod lending;
#[path = "../../sandbox/src/places.rs"]
mod places;
#[path = "../../sandbox-1.1/src/report.rs"]
mod report;
mod scenarios;
#[path = "../../sandbox/src/tokens.rs"]
mod tokens;
#[path = "../../sandbox/src/wallet.rs"]
mod wallet;

/// The contract `wit/v2`, generated as it was for the release.
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v2", world: "sandbox-generator", additional_derives: [PartialEq] });
}

pub use answers::report;
pub use band::score;
pub use bindings::{
    assay::model::types,
    exports::assay::model::sandbox::{
        Behaviour, ChainValue, MockReport as Report, Nft, PaymentRefusal, Phase, Pool as ReportedPool, Position,
        Scenario, Subject, Token,
    },
};
pub use boost::boosted_score;
// The released sources call them by these names.
use drawn::{MockReport, Pool};
pub use factors::factors;
pub use info::describe;
pub use report::portfolio;
pub use scenarios::{behaviour_of, scenarios};
