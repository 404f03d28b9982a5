//! `[reputation.gas]`: what the account may lose on transactions that bring nothing.

use std::time::Duration;

use assay_domain::settings::{self, Problems};
use serde::Deserialize;

/// The highest budget, in dollars.
const HIGHEST: f64 = 1_000_000.0;

/// Budgets in dollars. A budget that is spent returns evenly over `period`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gas {
    /// Price of the chain's currency while no feed gives one.
    pub native_usd: f64,
    /// For transfers of payers without code.
    pub accounts_usd: f64,
    /// For transfers of payers with code.
    pub contracts_usd: f64,
    /// For feedback.
    pub feedback_usd: f64,
    /// Part of these budgets that one payer, key or agent owner may use.
    pub party_usd: f64,
    /// Time in which a spent budget returns.
    #[serde(rename = "period_seconds", deserialize_with = "settings::seconds")]
    pub period: Duration,
}

impl Default for Gas {
    fn default() -> Self {
        Self {
            native_usd: 4_000.0,
            accounts_usd: 1.0,
            contracts_usd: 0.5,
            feedback_usd: 1.0,
            party_usd: 0.25,
            period: Duration::from_secs(3_600),
        }
    }
}

impl Gas {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        for (key, value) in [
            ("native_usd", self.native_usd),
            ("accounts_usd", self.accounts_usd),
            ("contracts_usd", self.contracts_usd),
            ("feedback_usd", self.feedback_usd),
            ("party_usd", self.party_usd),
        ] {
            let wrong = !(value > 0.0 && value <= HIGHEST);
            found.add_if(wrong, key, "must be above 0 and at most 1000000 dollars");
        }
        found.number("period_seconds", self.period.as_secs(), 1..=604_800);
        found
    }
}
