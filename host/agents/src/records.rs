//! The records of an identity registry's agents in the store.

use assay_domain::{Address, B256, ChainId};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize};

/// The key of the progress: the last block whose events are in the pages.
pub(crate) fn agent_progress(chain: ChainId, registry: Address) -> Key<AgentProgress> {
    Family::new("agents/").key(format_args!("{chain}/{registry:#x}/progress"))
}

/// The key of one page of agents.
pub(crate) fn agent_page(chain: ChainId, registry: Address, page: u64) -> Key<AgentPage> {
    Family::new("agents/").key(format_args!("{chain}/{registry:#x}/{page}"))
}

/// The last block whose events are in the pages of an identity registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentProgress {
    pub synced_to_block: u64,
    /// Hash of that block. A different hash means that the chain was reorganised or replaced.
    pub synced_block_hash: B256,
    /// Number of pages, some of which may be empty.
    pub pages: u64,
}

/// One page of agents, by ascending id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentPage {
    pub agents: Vec<AgentRecord>,
}

/// An agent according to the settled events, with the metadata of its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentRecord {
    pub id: u64,
    pub owner: Address,
    /// Keccak-256 of the token's URI.
    pub uri: B256,
    /// Where to fetch the document; absent when the URI itself contains it, or nothing can be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The metadata of the last successful read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<AgentMetadataRecord>,
    /// The code of the reason why the last read failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// When to fetch it next, in seconds since the Unix epoch; absent means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// Failed reads in a row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
}

/// The cleaned metadata of an agent's document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentMetadataRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
