//! Everything that a scoring model for Assay needs: the types of the contract `wit/v1`, a trait for each kind of model,
//! one line that makes a crate a component, and tests that run the model as native code. [`v2`] has the same for the
//! contract `wit/v2`.
//!
//! A model is a type that implements the trait of its kind:
//!
//! | kind | trait | answers with |
//! |---|---|---|
//! | credit | [`CreditModel`] | a score of 300 to 1000, its decile and its factors |
//! | boost | [`BoostModel`] | a score raised for assets off the chains |
//! | sybil | [`SybilModel`] | the risk that a wallet is a bot, 0 to 100 |
//! | sandbox | [`SandboxModel`] | mock answers for integration tests |
//!
//! ```
//! use assay_model::{BoostModel, Kind, ModelInfo, OffChain};
//!
//! struct HalfTheGap;
//!
//! impl BoostModel for HalfTheGap {
//!     fn describe() -> ModelInfo {
//!         ModelInfo {
//!             kind: Kind::Boost,
//!             version: "2.0".into(),
//!             title: "Half the gap to 1000 for a million dollars".into(),
//!             authors: vec!["me".into()],
//!             reads: vec!["score".into(), "off-chain.total-asset-usd".into()],
//!         }
//!     }
//!
//!     fn boost(score: u32, off_chain: OffChain) -> u32 {
//!         if off_chain.total_asset_usd >= 1e6 { score.midpoint(1000) } else { score }
//!     }
//! }
//!
//! assay_model::export!(boost HalfTheGap);
//!
//! // In a `#[test]`, with the feature `testing`:
//! assay_model::testing::boost::<HalfTheGap>();
//! ```
//!
//! `cargo build --release --target wasm32-unknown-unknown` builds it, with the crate type `cdylib`; the host turns the
//! core module into a component. A model has no clock, no network, no files and no randomness. A panic stops the one
//! call with an error.
//!
//! # Speed
//!
//! The host gives each call a fresh instance, so a small memory is what makes a call cheap. On wasm32 this crate sets
//! the global allocator to one that keeps to the first page. Two flags of the linker make that page the whole memory;
//! no crate can set them for another, so a model's own `.cargo/config.toml` does:
//!
//! ```toml
//! [target.wasm32-unknown-unknown]
//! rustflags = ["-Clink-arg=-zstack-size=8192", "-Clink-arg=--initial-memory=65536"]
//! ```
//!
//! Without them a model works, at about a quarter of the calls a second. A model that does not fit in one page fails to
//! link: give it a larger `--initial-memory`, in steps of 65536.

// On wasm32 it is the global allocator.
use arena as _;

#[doc(hidden)]
pub mod bindings;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod panics;
#[cfg(feature = "testing")]
pub mod testing;
pub mod v2;
#[cfg(feature = "json")]
mod wallet;

/// The records, enums and variants of `wit/v1/types.wit`.
pub use bindings::shared::assay::model::types;

pub use bindings::{
    boost::exports::assay::model::boost::Guest as BoostModel,
    credit::exports::assay::model::credit::{Assessment, Guest as CreditModel},
    sandbox::exports::assay::model::sandbox::{
        ChainValue, Guest as SandboxModel, MockReport, Nft, Pool, Position, Token,
    },
    sybil::exports::assay::model::sybil::{Guest as SybilModel, RiskAssessment},
};
pub use types::{
    AssetClass, Attestation, ChainFeatures, Coverage, Factor, Features, Holding, Kind, MarketFeatures, ModelInfo,
    OffChain, Rating, Refusal,
};
#[cfg(feature = "json")]
pub use wallet::{Wallet, WalletOf};

/// Exports a model from its crate, as `export!(credit MyModel);` with the kind and the type that implements its trait.
/// Off wasm32 it only checks that the type does.
#[macro_export]
macro_rules! export {
    (credit $model:ident) => {
        $crate::export!(credit $model CreditModel);
    };
    (boost $model:ident) => {
        $crate::export!(boost $model BoostModel);
    };
    (sybil $model:ident) => {
        $crate::export!(sybil $model SybilModel);
    };
    (sandbox $model:ident) => {
        $crate::export!(sandbox $model SandboxModel);
    };
    ($kind:ident $model:ident $contract:ident) => {
        const _: fn() -> $crate::ModelInfo = <$model as $crate::$contract>::describe;
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Told;
            $crate::told!($kind $model Told);
            $crate::bindings::$kind::export!(Told with_types_in $crate::bindings::$kind);
        };
    };
}

/// The same model, which leaves the text of a panic behind.
#[doc(hidden)]
#[macro_export]
macro_rules! told {
    (credit $model:ident $told:ident) => {
        impl $crate::CreditModel for $told {
            $crate::told!($model CreditModel: describe() -> $crate::ModelInfo);
            $crate::told!($model CreditModel: score(features: $crate::Features)
                -> Result<$crate::Assessment, $crate::Refusal>);
            $crate::told!($model CreditModel: decile(score: u32) -> u8);
        }
    };
    (boost $model:ident $told:ident) => {
        impl $crate::BoostModel for $told {
            $crate::told!($model BoostModel: describe() -> $crate::ModelInfo);
            $crate::told!($model BoostModel: boost(score: u32, off_chain: $crate::OffChain) -> u32);
        }
    };
    (sybil $model:ident $told:ident) => {
        impl $crate::SybilModel for $told {
            $crate::told!($model SybilModel: describe() -> $crate::ModelInfo);
            $crate::told!($model SybilModel: risk(features: $crate::Features) -> $crate::RiskAssessment);
        }
    };
    (sandbox $model:ident $told:ident) => {
        impl $crate::SandboxModel for $told {
            $crate::told!($model SandboxModel: describe() -> $crate::ModelInfo);
            $crate::told!($model SandboxModel: score(address: Vec<u8>) -> u32);
            $crate::told!($model SandboxModel: boosted_score(address: Vec<u8>, off_chain: $crate::OffChain) -> u32);
            $crate::told!($model SandboxModel: factors(address: Vec<u8>) -> Vec<$crate::Factor>);
            $crate::told!($model SandboxModel: report(address: Vec<u8>) -> $crate::MockReport);
            $crate::told!($model SandboxModel: portfolio(address: Vec<u8>) -> Vec<$crate::ChainValue>);
        }
    };
    ($model:ident $contract:ident: $name:ident($($argument:ident: $type:ty),*) -> $answer:ty) => {
        fn $name($($argument: $type),*) -> $answer {
            $crate::panics::tell();
            <$model as $crate::$contract>::$name($($argument),*)
        }
    };
}
