//! The debts of a watched wallet: what is owed, and what of it can be liquidated after a fall of prices.

use serde::{Deserialize, Serialize};

use crate::measures;
use assay_domain::{Snapshot, Time, features::features};

/// The falls of prices that are tried, in percent.
pub(crate) const FALLS: [f64; 3] = [10.0, 20.0, 30.0];

/// The debts of one wallet, of which every market was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exposure {
    pub at: Time,
    pub owed_usd: f64,
    /// Debts that can be liquidated at the prices now.
    pub at_risk_now_usd: f64,
    /// The same after each of [`FALLS`].
    pub at_risk_usd: [f64; FALLS.len()],
    /// Debts in markets that state no health factor.
    pub unknown_usd: f64,
}

impl Exposure {
    /// The debts in `snapshot`; `None` if a market was not read.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        if !measures::are_positions_read(snapshot) {
            return None;
        }
        let features = features(snapshot);
        let now = features.debt_at_risk(0.0).ok()?;
        let mut at_risk_usd = [0.0; FALLS.len()];
        for (fall, at_risk) in FALLS.into_iter().zip(&mut at_risk_usd) {
            *at_risk = features.debt_at_risk(-fall).ok()?.at_risk_usd;
        }
        let (owed_usd, at_risk_now_usd, unknown_usd) = (now.owed_usd, now.at_risk_usd, now.unknown_usd);
        let found = Self { at: snapshot.as_of, owed_usd, at_risk_now_usd, at_risk_usd, unknown_usd };
        // A sum that is not a number has no form in the store.
        let mut sums = [owed_usd, at_risk_now_usd, unknown_usd].into_iter().chain(at_risk_usd);
        sums.all(f64::is_finite).then_some(found)
    }
}
