//! `[watches]`: how many, how often they are evaluated, and what is kept.

use std::time::Duration;

use assay_domain::settings::{self, Problems};
use serde::Deserialize;

/// The limits of watches.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watches {
    /// Watches of the server; 0 turns them off.
    pub max: u64,
    /// Watches of one key.
    pub max_per_key: u64,
    /// Shortest time between two evaluations of a watch.
    #[serde(rename = "min_every_seconds", deserialize_with = "settings::seconds")]
    pub min_every: Duration,
    /// Time without a value after which a watch is stale.
    #[serde(rename = "stale_after_seconds", deserialize_with = "settings::seconds")]
    pub stale_after: Duration,
    /// Percent by which the price of a collateral can move against that of a debt in a minute; if absent, each watch is
    /// evaluated as often as its owner asked.
    pub allowed_move_percent: Option<f64>,
    /// Longest time between two evaluations of a watch that waits because prices are far from its bounds.
    #[serde(rename = "slowest_seconds", deserialize_with = "settings::seconds")]
    pub slowest: Duration,
    /// Wallets that are read together, in one sweep.
    pub batch: usize,
    /// Days for which events are kept.
    #[serde(rename = "keep_days", deserialize_with = "settings::days")]
    pub keep: Duration,
    /// Name of this server in the consent that it asks receivers for.
    pub origin: String,
    /// Maximum time for one delivery.
    #[serde(rename = "delivery_timeout_ms", deserialize_with = "settings::millis")]
    pub delivery_timeout: Duration,
}

impl Watches {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.number("max", self.max, ..=10_000);
        found.number("max_per_key", self.max_per_key, 1..=10_000);
        found.number("min_every_seconds", self.min_every.as_secs(), 1..=86_400);
        found.number("stale_after_seconds", self.stale_after.as_secs(), 1..=86_400);
        let wrong = self.allowed_move_percent.is_some_and(|percent| !(0.01..=50.0).contains(&percent));
        found.add_if(wrong, "allowed_move_percent", "must be 0.01 to 50");
        found.number("slowest_seconds", self.slowest.as_secs(), 1..=86_400);
        found.number("batch", self.batch, 1..=100);
        found.days("keep_days", self.keep, 1..=365);
        let is_host = !self.origin.is_empty() && self.origin.bytes().all(|byte| byte.is_ascii_graphic());
        found.add_if(!is_host, "origin", "must be a host name, such as \"assay.example\"");
        found.millis("delivery_timeout_ms", self.delivery_timeout, 1..=30_000);
        found
    }
}
