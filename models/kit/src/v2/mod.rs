//! Models of the contract `wit/v2`, which adds positions, events and claims, and has the words of an answer apart from its
//! numbers: the host calls `score` alone where nobody reads the factors.
//!
//! ```
//! use assay_model::v2::{BoostModel, Kind, ModelInfo, OffChain};
//!
//! struct HalfTheGap;
//!
//! impl BoostModel for HalfTheGap {
//!     fn describe() -> ModelInfo {
//!         ModelInfo {
//!             kind: Kind::Boost,
//!             version: "3.0".into(),
//!             title: "Half the gap to 1000 for a million dollars".into(),
//!             authors: vec!["me".into()],
//!             reads: vec!["score".into(), "off-chain.total-asset-usd".into()],
//!             claims: None,
//!         }
//!     }
//!
//!     fn boost(score: u32, off_chain: OffChain) -> u32 {
//!         if off_chain.total_asset_usd >= 1e6 { score.midpoint(1000) } else { score }
//!     }
//! }
//!
//! assay_model::v2::export!(boost HalfTheGap);
//! ```

#[doc(hidden)]
pub mod bindings;
#[cfg(feature = "testing")]
pub mod testing;
mod told;
mod v1;

/// The records, enums and variants of `wit/v2/types.wit`.
pub use bindings::shared::assay::model::types;

pub use crate::export_v2 as export;
pub use crate::export_v2_with_panics as export_with_panics;
pub use bindings::{
    boost::exports::assay::model::boost::Guest as BoostModel,
    credit::exports::assay::model::credit::{Guest as CreditModel, Verdict},
    sandbox::exports::assay::model::sandbox::{
        Behaviour, ChainValue, Guest as SandboxModel, MockReport, Nft, PaymentRefusal, Phase, Pool,
        Position as MockPosition, Scenario, Subject, Token,
    },
    sybil::exports::assay::model::sybil::{Guest as SybilModel, Verdict as RiskVerdict},
};
pub use types::{
    AssetClass, Attestation, ChainFeatures, Claims, Coverage, Dollars, EventKind, Exposure, ExposureClass, Factor,
    Features, Holding, Kind, LendingEvent, MarketFeatures, ModelInfo, OffChain, Position, Rate, Rating, Refusal,
};

/// A line of a features file, with the features of `wit/v2`.
#[cfg(feature = "json")]
pub type Wallet = crate::WalletOf<Features>;

/// Exports a model from its crate, as `export!(credit MyModel);` with the kind and the type that implements its trait.
/// Off wasm32 it only checks that the type does.
#[doc(hidden)]
#[macro_export]
macro_rules! export_v2 {
    (credit $model:ident) => {
        $crate::export_v2!(credit $model CreditModel);
    };
    (boost $model:ident) => {
        $crate::export_v2!(boost $model BoostModel);
    };
    (sybil $model:ident) => {
        $crate::export_v2!(sybil $model SybilModel);
    };
    (sandbox $model:ident) => {
        $crate::export_v2!(sandbox $model SandboxModel);
    };
    ($kind:ident $model:ident $contract:ident) => {
        const _: fn() -> $crate::v2::ModelInfo = <$model as $crate::v2::$contract>::describe;
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            $crate::v2::bindings::$kind::export!($model with_types_in $crate::v2::bindings::$kind);
        };
    };
}

/// Events that a line does not speak of were not read.
#[cfg(feature = "json")]
fn unread() -> Coverage {
    Coverage::Failed
}

#[cfg(feature = "json")]
fn is_unread(coverage: &Coverage) -> bool {
    *coverage == Coverage::Failed
}

#[cfg(feature = "json")]
fn no_dollars(dollars: &Dollars) -> bool {
    *dollars == Dollars::default()
}
