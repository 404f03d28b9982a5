//! What a wallet has and owes in one market.

use assay_domain::{Address, AssetSide, B256, Delegation, LendingMode, PositionAsset};

/// A wallet's position in one market, in dollars.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Held {
    pub supplied_usd: f64,
    pub borrowed_usd: f64,
    pub supplied_assets: u32,
    /// The parts of the position, if the protocol shows them.
    pub parts: HeldParts,
}

/// The assets of a position, and its distance to liquidation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeldParts {
    /// Without those in `unpriced`.
    pub assets: Vec<PositionAsset>,
    pub mode: Option<LendingMode>,
    pub delegations: Vec<Delegation>,
    /// The share of the collateral that the debt may reach, 0 to 1.
    pub threshold: Option<f64>,
    /// `None` without debt.
    pub health_factor: Option<f64>,
    /// Whether the market failed to return threshold and health factor.
    pub lacking: bool,
    /// Deposited tokens that have no price in dollars and secure no debt. No other figure includes them.
    pub unpriced: Vec<Address>,
}

impl HeldParts {
    /// The tokens on this side, with their dollars.
    pub fn on(&self, side: AssetSide) -> impl Iterator<Item = (Address, f64)> {
        self.assets.iter().filter(move |asset| asset.side == side).filter_map(|asset| Some((asset.token?, asset.usd)))
    }

    /// Sets threshold and health factor. `weighted` is the sum of the collateral, each asset times its threshold.
    pub(crate) fn weigh(&mut self, weighted: f64) {
        let sum = |side| self.on(side).map(|(_, usd)| usd).sum::<f64>();
        let (collateral, debt) = (sum(AssetSide::Collateral), sum(AssetSide::Debt));
        self.threshold = (collateral > 0.0).then(|| weighted / collateral);
        self.health_factor = (debt > 0.0).then(|| weighted / debt);
    }

    /// Sets the threshold alone, for a position in several accounts.
    pub(crate) fn weigh_collateral(&mut self, weighted: f64) {
        let collateral: f64 = self.on(AssetSide::Collateral).map(|(_, usd)| usd).sum();
        self.threshold = (collateral > 0.0).then(|| weighted / collateral);
    }

    /// Lowers the health factor to that of another account of the position.
    pub(crate) fn nearest(&mut self, health_factor: f64) {
        self.health_factor = Some(self.health_factor.map_or(health_factor, |least| least.min(health_factor)));
    }
}

/// What a controller states of a wallet in all of its markets together.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountView {
    /// The account of the assets in these markets.
    pub account: B256,
    /// The markets whose deposits secure debts.
    pub members: Vec<Address>,
    /// Dollars by which the debt may grow before liquidation; negative if it can be liquidated.
    pub room_usd: f64,
}
