//! One step of the script of a watched wallet.

use std::time::Duration;

use assay_domain::Score;

/// From this time of the clock on, the wallet is like this.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchStep {
    pub at: Duration,
    /// `None` without debt.
    pub health_factor: Option<f64>,
    pub debt_usd: f64,
    pub score: Score,
    /// Nothing can be read.
    pub unread: bool,
    /// The block of the step before was removed by a reorganisation.
    pub reorganises: bool,
    /// Dollars of debt that a liquidation repaid in this block.
    pub liquidated_usd: Option<f64>,
}
