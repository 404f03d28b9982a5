//! `[ipfs]`: where documents are pinned and fetched.

use assay_domain::Secret;
use serde::Deserialize;

/// Where feedback documents are pinned and fetched.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ipfs {
    /// Root of a Kubo-compatible node's RPC API.
    pub api: Option<Secret>,
    pub gateway: Option<Secret>,
    /// A service that keeps what the node has.
    pub pinning: Option<Pinning>,
}

/// A service with the IPFS pinning-service API.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinning {
    pub api: Secret,
    /// Bearer token.
    pub key: Secret,
}
