//! A wallet's debt and its distance to liquidation, derived from its features.

use crate::{
    Coverage,
    features::{Features, MarketFeatures, PositionFeatures},
};

const DAY: f64 = 86_400.0;
/// A debt below this many dollars does not count: liquidating it does not pay.
const DUST: f64 = 10.0;
/// The age of a liquidation without a date, in days.
const UNDATED_DAYS: f64 = 30.0;

/// The debt and the liquidations of a wallet, over the markets that feed the score.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Standing {
    /// The higher of the sums over chains and over markets, in dollars.
    pub owed_usd: f64,
    /// Deposits, computed like `owed_usd`.
    pub supplied_usd: f64,
    /// The lowest health factor of the markets with a debt of at least 10 dollars; `None` if no such market states one.
    pub health_factor: Option<f64>,
    /// Whether a debt may exist that was not read.
    pub is_debt_unread: bool,
    /// Whether a history is being read for the first time.
    #[serde(default)]
    pub is_history_pending: bool,
    pub liquidations: u64,
    /// Days since the last liquidation. One without a date counts as 30 days old.
    pub liquidation_days: Option<f64>,
    /// The largest debt in a market with a health factor or deposits.
    largest_usd: f64,
    /// Whether any market states a health factor.
    is_stated: bool,
}

impl Standing {
    pub fn of(features: &Features) -> Self {
        let mut found = Self::default();
        let (mut owed, mut supplied) = (0.0, 0.0);
        for chain in &features.chains {
            if chain.coverage == Coverage::Failed {
                found.is_debt_unread = true;
                continue;
            }
            owed += money(chain.borrowed_usd);
            supplied += money(chain.supplied_usd);
        }
        let is_complete =
            |id| features.chains.iter().any(|chain| chain.chain_id == id && chain.coverage == Coverage::Complete);
        for market in features.markets.iter().filter(|market| market.feeds_score) {
            found.is_history_pending |= market.coverage == Coverage::Pending;
            found.is_debt_unread |= hides_debt(market, || is_complete(market.chain_id));
            found.market(market, features.as_of);
        }
        found.owed_usd = found.owed_usd.max(owed);
        found.supplied_usd = found.supplied_usd.max(supplied);
        found
    }

    /// Whether the wallet owes at least `usd`, in one market or in all of them together.
    pub fn owes(&self, usd: f64) -> bool {
        // If only a health factor is known, missing deposits prove nothing.
        let is_summed = self.supplied_usd > 0.0 || !self.is_stated;
        self.largest_usd >= usd || is_summed && self.owed_usd >= usd
    }

    /// 1 / health factor; infinite for an unsecured debt, 0 for a wallet that owes nothing; `None` if the debt or its
    /// health factor was not read.
    pub fn load(&self) -> Option<f64> {
        self.health_factor.map(|factor| 1.0 / factor).or_else(|| self.is_free().then_some(0.0))
    }

    /// Debt over deposits, 0 for a wallet that owes nothing; `None` if one of them was not read.
    pub fn utilisation(&self) -> Option<f64> {
        match () {
            () if self.is_free() => Some(0.0),
            () if self.is_debt_unread || self.supplied_usd <= 0.0 => None,
            () => Some(self.owed_usd / self.supplied_usd),
        }
    }

    fn is_free(&self) -> bool {
        !self.is_debt_unread && !self.owes(DUST)
    }

    fn market(&mut self, market: &MarketFeatures, as_of: u64) {
        let (position, is_counted) = (position(market), market.coverage != Coverage::Failed);
        if !is_counted && position.is_none() {
            return;
        }
        let (owed, supplied) = (money(market.borrowed_usd), money(market.supplied_usd));
        self.owed_usd += owed;
        self.supplied_usd += supplied;
        let factor = position.and_then(|position| position.health_factor).map_or(0.0, money);
        self.is_stated |= factor > 0.0;
        if factor > 0.0 || supplied > 0.0 {
            self.largest_usd = self.largest_usd.max(owed);
        }
        // 0 if nothing secures the debt any more.
        let stated =
            position.and_then(|position| position.health_factor).filter(|factor| *factor >= 0.0 && owed >= DUST);
        if let Some(factor) = stated.map(|factor| factor.min(1e12)) {
            self.health_factor = Some(self.health_factor.map_or(factor, |lowest| lowest.min(factor)));
        }
        let liquidations = market.liquidation.filter(|count| is_counted && *count > 0);
        if let Some(count) = liquidations {
            self.liquidations = self.liquidations.saturating_add(count);
            let days = market.last_liquidation.map_or(UNDATED_DAYS, |at| as_of.saturating_sub(at) as f64 / DAY);
            self.liquidation_days = Some(self.liquidation_days.map_or(days, |newest| newest.min(days)));
        }
    }
}

/// The position of a market, if it was read.
fn position(market: &MarketFeatures) -> Option<&PositionFeatures> {
    market.position.as_ref().filter(|position| position.coverage != Coverage::Failed)
}

/// Whether a market may hold a debt that was not read. `is_complete` returns whether its whole chain was read.
fn hides_debt(market: &MarketFeatures, is_complete: impl Fn() -> bool) -> bool {
    match market.coverage {
        _ if position(market).is_some() => false,
        Coverage::Failed => true,
        _ if money(market.borrowed_usd) > 0.0 => false,
        Coverage::Complete => market.position.is_some(),
        _ => market.position.is_some() || !is_complete(),
    }
}

/// A negative, infinite or NaN amount counts as 0.
fn money(usd: f64) -> f64 {
    if usd.is_finite() && usd > 0.0 { usd.min(1e12) } else { 0.0 }
}
