//! `[promotion]`: what a challenger must show in the shadow before it may answer.

use serde::Deserialize;

/// The bounds of a guarded promotion. They hold where the shadow has seen enough of both models.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// Hours that are looked back.
    pub window_hours: u64,
    /// Calls in the shadow below which nothing can be said.
    pub min_scores: u64,
    /// Most that the distributions of both models' scores may differ, as a population stability index.
    pub max_psi: f64,
    /// Largest share of subjects that may come into another range, 0 to 1.
    pub max_migration: f64,
    /// Largest share of calls that may fail, 0 to 1.
    pub max_failures: f64,
    /// Most that a call may take of the time the champion's takes.
    pub max_latency_ratio: f64,
    /// Whether a version of which nothing can be said is refused.
    pub require_shadow: bool,
}
