//! An endpoint of a chain, as the option `--rpc` names it.

use std::str::FromStr;

use assay_domain::{ChainId, Secret};

/// An endpoint of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub chain: ChainId,
    pub url: Secret,
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write the id of a chain and a URL, such as 1=https://rpc.example".to_owned();
        let (chain, url) = text.split_once('=').ok_or_else(wrong)?;
        let (chain, url) = (chain.trim().parse().map_err(|_| wrong())?, url.trim());
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(wrong());
        }
        Ok(Self { chain, url: Secret::new(url) })
    }
}
