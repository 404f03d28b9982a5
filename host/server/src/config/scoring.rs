//! `[scoring]`: how long answers and their records live, and how much of the traffic challengers see.

use std::time::Duration;

use assay_chain::config::Snapshots;
use serde::Deserialize;

/// Cache lives of the contract, how long a first read may hold up an answer, and what is done beside it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// Life of what was read completely, in milliseconds (contract: 5 minutes).
    pub cache_ms: u64,
    /// Life of what was read incompletely, in milliseconds (contract: at most 30 seconds).
    pub incomplete_cache_ms: u64,
    /// Most snapshots kept in memory.
    pub cache_entries: u64,
    /// How long an answer waits for a first read before it says `pending`, in milliseconds.
    pub read_budget_ms: u64,
    /// How long what a served score was made of is kept, in days; 0 keeps nothing, and scores have no id then.
    pub provenance_days: u64,
    /// Share of computed scores that challengers score too, 0 to 1.
    pub shadow_share: f64,
    /// Most of one core that the shadow may take, 0 to 1.
    pub shadow_budget: f64,
    /// How long what the shadow found is kept, in hours.
    pub shadow_hours: u64,
}

impl Scoring {
    /// What of this section is about reading.
    pub fn snapshots(&self) -> Snapshots {
        Snapshots {
            complete: Duration::from_millis(self.cache_ms),
            incomplete: Duration::from_millis(self.incomplete_cache_ms),
            entries: self.cache_entries,
            budget: Duration::from_millis(self.read_budget_ms),
        }
    }
}
