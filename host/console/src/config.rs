//! `[docs]`: the examples of the pages.

use assay_domain::{Address, Secret};
use serde::Deserialize;

/// Everyone who opens the page sees both.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Docs {
    /// The address in the examples.
    pub address: Option<Address>,
    /// The API key that the page is signed in with.
    pub key: Option<Secret>,
}
