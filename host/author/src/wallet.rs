//! The features of a wallet in the types of the host, as expressions read them.

use assay_domain::{
    AssetClass, Coverage,
    features::{AttestationFeature as Attestation, ChainFeatures, Features, Holding, MarketFeatures},
};

tables::wallet!();

/// The place of the word in the WIT enum.
fn coverage(coverage: Coverage) -> f64 {
    match coverage {
        Coverage::Complete => 0.0,
        Coverage::Partial => 1.0,
        Coverage::Pending => 2.0,
        Coverage::Failed => 3.0,
    }
}

fn class(class: AssetClass) -> f64 {
    match class {
        AssetClass::Native => 0.0,
        AssetClass::Stablecoin => 1.0,
        AssetClass::Token => 2.0,
        AssetClass::Wrapped => 3.0,
        AssetClass::Liquidity => 4.0,
        AssetClass::Collateral => 5.0,
    }
}
