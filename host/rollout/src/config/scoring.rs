//! `[scoring]`: the lifetimes of snapshots and records, and the share of scores that challengers compute too.

use std::time::Duration;

use assay_chain::config::Snapshots;
use assay_domain::settings::{self, Problems};
use serde::Deserialize;

/// Lifetimes of the cache, the longest wait for a first read, and the limits of the shadow engine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// Lifetime of a complete snapshot (API contract: 5 minutes).
    #[serde(rename = "cache_ms", deserialize_with = "settings::millis")]
    pub cache_ttl: Duration,
    /// Lifetime of an incomplete snapshot (API contract: at most 30 seconds).
    #[serde(rename = "incomplete_cache_ms", deserialize_with = "settings::millis")]
    pub incomplete_cache_ttl: Duration,
    /// Largest number of snapshots in memory.
    pub cache_entries: u64,
    /// Maximum wait for a first read; after it, the answer is `pending`.
    #[serde(rename = "read_budget_ms", deserialize_with = "settings::millis")]
    pub read_budget: Duration,
    /// Lifetime of the records of served scores. With 0 no record is saved, and scores have no id.
    #[serde(rename = "provenance_days", deserialize_with = "settings::days")]
    pub provenance_ttl: Duration,
    /// Lifetime of the scores that are compared with later liquidations. 0 keeps none.
    #[serde(rename = "outcome_days", deserialize_with = "settings::days")]
    pub outcome_ttl: Duration,
    /// Share of computed scores that challengers compute too, 0 to 1.
    pub shadow_share: f64,
    /// Largest share of one core that the shadow engine may use, 0 to 1.
    pub shadow_budget: f64,
    /// Lifetime of the shadow engine's results.
    #[serde(rename = "shadow_hours", deserialize_with = "settings::hours")]
    pub shadow_ttl: Duration,
}

impl Scoring {
    /// The settings that are about reading.
    pub fn snapshots(&self) -> Snapshots {
        Snapshots {
            complete: self.cache_ttl,
            incomplete: self.incomplete_cache_ttl,
            entries: self.cache_entries,
            budget: self.read_budget,
            past: None,
        }
    }

    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.millis("cache_ms", self.cache_ttl, ..=86_400_000);
        let long = self.incomplete_cache_ttl > Duration::from_secs(30);
        let what = "above 30000; an incomplete report may be cached for 30 seconds at most";
        found.add_if(long, "incomplete_cache_ms", what);
        found.days("provenance_days", self.provenance_ttl, ..=3_650);
        found.days("outcome_days", self.outcome_ttl, ..=3_650);
        found.share("shadow_share", self.shadow_share);
        found.share("shadow_budget", self.shadow_budget);
        found.hours("shadow_hours", self.shadow_ttl, 1..=8_760);
        found
    }
}
