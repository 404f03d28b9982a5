//! The description of this generator.

use crate::types::{Kind, ModelInfo};

/// Kind, version and inputs, as the host lists them.
pub fn describe() -> ModelInfo {
    ModelInfo {
        kind: Kind::Sandbox,
        version: "1.2".into(),
        title: "Mock wallets drawn from the bytes of an address, with scenarios".into(),
        authors: vec!["Assay".into()],
        reads: vec!["address".into(), "agent".into(), "off-chain.total-asset-usd".into()],
        claims: None,
    }
}
