//! An agent of the ERC-8004 identity registry, and the feedback about it.

use crate::Address;

/// A token of the registry with the details that its owner publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The ERC-721 token id, at least 1.
    pub id: u64,
    pub owner: Address,
    /// `None` if the document behind the token's URI is not available.
    pub metadata: Option<AgentMetadata>,
}

/// The cleaned details of the owner's document. A field that is not text in the document is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentMetadata {
    pub name: Option<String>,
    pub description: Option<String>,
    /// An `ipfs://` or web URI. The host never fetches it.
    pub image: Option<String>,
}

/// The feedback about an agent in the reputation registry, as far as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReputation {
    /// By tag.
    pub summaries: Vec<TagSummary>,
    /// Clients that ever gave feedback.
    pub clients: usize,
    /// The clients whose feedback was read: the latest ones.
    pub clients_read: usize,
    /// Whether all feedback of the registry was read.
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
