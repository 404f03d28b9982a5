//! `[promotion]`: the limits of a challenger's shadow scores for its promotion to champion.

use std::time::Duration;

use assay_domain::settings::{self, Problems};
use serde::Deserialize;

/// The limits of a guarded promotion. They apply if the shadow has seen enough wallets with both models.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// Age of the oldest shadow scores that count.
    #[serde(rename = "window_hours", deserialize_with = "settings::hours")]
    pub window: Duration,
    /// Number of wallets in the shadow below which the limits do not apply. A credit model with fewer is refused if the
    /// server has scored as many.
    pub min_scores: u64,
    /// Largest difference between the distributions of both models' scores, as a population stability index.
    pub max_psi: f64,
    /// Largest share of wallets whose range changes, 0 to 1.
    pub max_migration: f64,
    /// Largest share of calls that fail, 0 to 1.
    pub max_failures: f64,
    /// Largest ratio of the median call times, challenger to champion.
    pub max_latency_ratio: f64,
    /// Whether a version with too few wallets in the shadow is always refused.
    pub require_shadow: bool,
}

impl Promotion {
    /// The window in hours.
    pub fn window_hours(&self) -> u64 {
        self.window.as_secs() / 3_600
    }

    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.hours("window_hours", self.window, 1..=8_760);
        found.share("max_migration", self.max_migration);
        found.share("max_failures", self.max_failures);
        for (key, value) in [("max_psi", self.max_psi), ("max_latency_ratio", self.max_latency_ratio)] {
            if !value.is_finite() || value < 0.0 {
                found.add(key, format!("{value}; must be a number of at least 0"));
            }
        }
        found
    }
}
