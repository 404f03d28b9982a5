//! What is kept of the agents of an identity registry.

use assay_domain::{Address, B256, ChainId};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize};

/// How far the events of an identity registry are in its pages.
pub fn agent_progress(chain: ChainId, registry: Address) -> Key<AgentProgress> {
    Family::new("agents/").key(format_args!("{chain}/{registry:#x}/progress"))
}

/// Some agents of an identity registry, by their ids.
pub fn agent_page(chain: ChainId, registry: Address, page: u64) -> Key<AgentPage> {
    Family::new("agents/").key(format_args!("{chain}/{registry:#x}/{page}"))
}

/// How far the events of an identity registry were taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProgress {
    pub synced_to_block: u64,
    /// Hash of that block: another one there means the chain was reorganised or replaced.
    pub synced_block_hash: B256,
    /// Pages there are, some of which may be empty.
    pub pages: u64,
}

/// Some agents, by ascending id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPage {
    pub agents: Vec<AgentRecord>,
}

/// An agent as far as the settled events tell, and what its document said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    pub id: u64,
    pub owner: Address,
    /// Keccak-256 of the token's URI.
    pub uri: B256,
    /// Where the document is to be fetched, if it is not the URI itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What it said when it was last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<AgentMetadataRecord>,
    /// Why it was not read last time, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// When to fetch it next, in seconds since the Unix epoch; never where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// Times in a row that it could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
}

/// The document of an agent, cleaned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMetadataRecord {
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
