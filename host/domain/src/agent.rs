//! An agent of the ERC-8004 identity registry, and what others said of it.

use crate::Address;

/// A token of the registry with what its owner says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The ERC-721 token id, at least 1.
    pub id: u64,
    pub owner: Address,
    /// `None` where the document behind the token's URI is not available.
    pub metadata: Option<AgentMetadata>,
}

/// What the owner's document says, cleaned. A field that is not a text there is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentMetadata {
    pub name: Option<String>,
    pub description: Option<String>,
    /// An `ipfs://` or web URI, never fetched here.
    pub image: Option<String>,
}

/// What the reputation registry holds of an agent, as far as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReputation {
    /// By tag.
    pub summaries: Vec<TagSummary>,
    /// Those who ever gave feedback.
    pub clients: usize,
    /// Of them, those whose feedback was read: the latest.
    pub clients_read: usize,
    /// Everything that stands there was read.
    pub complete: bool,
}

/// Feedback under one tag that was not revoked.
#[derive(Debug, Clone, PartialEq)]
pub struct TagSummary {
    pub tag: String,
    pub count: u64,
    /// Distinct clients.
    pub clients: u64,
    pub mean: f64,
    pub least: f64,
    pub most: f64,
}
