//! `[docs]`: the examples of the pages.

use assay_domain::{Address, Secret};
use serde::Deserialize;

/// Both are for everyone who opens the page.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Docs {
    /// The address in the examples.
    pub address: Option<Address>,
    /// The API key that the page is signed in with.
    pub key: Option<Secret>,
}
