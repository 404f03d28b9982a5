//! The features of a wallet in the types of the host, as expressions read them.

use assay_domain::{
    AssetClass, Coverage, EventKind, ExposureClass,
    features::{
        AttestationFeature as Attestation, ChainFeatures, Dollars, Exposure, Features, Holding, LendingEvent,
        MarketFeatures, PositionFeatures as Position,
    },
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

fn kind(kind: EventKind) -> f64 {
    match kind {
        EventKind::Supply => 0.0,
        EventKind::Withdraw => 1.0,
        EventKind::Borrow => 2.0,
        EventKind::Repay => 3.0,
        EventKind::Liquidation => 4.0,
    }
}

fn exposed(class: ExposureClass) -> f64 {
    match class {
        ExposureClass::Stablecoin => 0.0,
        ExposureClass::Native => 1.0,
        ExposureClass::Bitcoin => 2.0,
        ExposureClass::Other => 3.0,
    }
}
