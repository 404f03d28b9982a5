//! `[ipfs]`: the services that pin and fetch documents.

use assay_domain::{
    Secret,
    settings::{Problems, is_web},
};
use serde::Deserialize;

/// The services that pin and fetch feedback documents.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ipfs {
    /// Root of a Kubo-compatible node's RPC API.
    pub api: Option<Secret>,
    /// Root of the gateway that fetches documents at `ipfs://`.
    pub gateway: Option<Secret>,
    /// A service that pins the node's documents too.
    pub pinning: Option<Pinning>,
}

impl Ipfs {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let pinning = self.pinning.as_ref().map(|pinning| &pinning.api);
        for (key, url) in [("api", self.api.as_ref()), ("gateway", self.gateway.as_ref()), ("pinning.api", pinning)] {
            found.add_if(url.is_some_and(|url| !is_web(url)), key, "not an http or https URL");
        }
        found
    }
}

/// A service with the IPFS pinning-service API.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinning {
    pub api: Secret,
    /// Bearer token.
    pub key: Secret,
}
