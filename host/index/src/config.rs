//! The keys of `[reading]` that belong to the index.

use serde::Deserialize;

/// When the markets of a chain are read for all wallets, so that a wallet's history needs few log queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexMode {
    /// After an endpoint refused a range, or a second wallet was requested.
    Auto,
    /// From the start.
    On,
    Off,
}
