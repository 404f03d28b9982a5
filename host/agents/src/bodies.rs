//! Agents in responses, in the form that the API defines.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{AgentMatches, AgentPage};
use assay_domain::{Agent, AgentMetadata, AgentReputation, TagSummary};
use assay_http::values::Checksummed;

/// An agent of the Identity Registry.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Agent, example = json!({
    "agent_id": 1, "owner": "0x9ce7082814bDA389F3ba548BDf2626006279569c",
    "metadata": { "name": "Lender", "description": "Lends to other agents",
        "image": "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi" }
}))]
pub struct AgentBody {
    /// The ERC-721 token id.
    #[schema(minimum = 1)]
    agent_id: u64,
    /// With its EIP-55 checksum.
    #[schema(value_type = String)]
    owner: Checksummed,
    /// Null when the document of the token is not available.
    metadata: Option<MetadataBody>,
}

/// Metadata from the document that the owner wrote: cleaned, and not verified.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AgentMetadata)]
pub(crate) struct MetadataBody {
    /// Empty if the document has none; likewise the other fields.
    name: String,
    description: String,
    /// An `ipfs://` or web URI.
    image: String,
}

/// A page of agents.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Agents)]
pub struct AgentsBody {
    agents: Vec<AgentBody>,
    /// Agents in the registry.
    total: u64,
    page: u64,
    limit: u64,
}

/// A page of agents that match the search.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FoundAgents)]
pub struct FoundBody {
    agents: Vec<AgentBody>,
    /// Agents that match, on all pages.
    total_results: u64,
    query: String,
    page: u64,
    limit: u64,
}

/// The feedback on an agent in the Reputation Registry.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AgentReputation, example = json!({
    "agent_id": 1,
    "summaries": [{ "tag": "creditScore", "count": 2, "clients": 1, "mean": 741.5, "min": 738.0, "max": 745.0 }],
    "total_clients": 1, "clients_read": 1, "complete": true
}))]
pub struct AgentReputationBody {
    #[schema(minimum = 1)]
    agent_id: u64,
    /// Summaries by tag. Revoked feedback does not count.
    summaries: Vec<TagBody>,
    /// Clients who ever gave feedback.
    total_clients: usize,
    /// Of these, the clients whose feedback was read: the latest ones.
    clients_read: usize,
    /// Whether all feedback on the agent in the registry was read.
    complete: bool,
}

/// Feedback under one tag.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = TagSummary)]
pub(crate) struct TagBody {
    /// The first tag of the feedback; empty if it has none.
    tag: String,
    count: u64,
    /// Distinct clients.
    clients: u64,
    mean: f64,
    min: f64,
    max: f64,
}

impl From<&Agent> for AgentBody {
    fn from(agent: &Agent) -> Self {
        Self {
            agent_id: agent.id,
            owner: Checksummed(agent.owner),
            metadata: agent.metadata.clone().map(MetadataBody::from),
        }
    }
}

impl From<AgentMetadata> for MetadataBody {
    fn from(from: AgentMetadata) -> Self {
        let AgentMetadata { name, description, image } = from;
        let [name, description, image] = [name, description, image].map(Option::unwrap_or_default);
        Self { name, description, image }
    }
}

impl From<&TagSummary> for TagBody {
    fn from(from: &TagSummary) -> Self {
        let TagSummary { tag, count, clients, mean, least, most } = from.clone();
        Self { tag, count, clients, mean, min: least, max: most }
    }
}

impl AgentsBody {
    pub fn of(found: &AgentPage, page: u64, limit: u64) -> Self {
        Self { agents: found.agents.iter().map(AgentBody::from).collect(), total: found.total, page, limit }
    }
}

impl FoundBody {
    pub fn of(found: &AgentMatches, query: String, page: u64, limit: u64) -> Self {
        Self {
            agents: found.agents.iter().map(AgentBody::from).collect(),
            total_results: found.total,
            query,
            page,
            limit,
        }
    }
}

impl AgentReputationBody {
    pub fn of(id: u64, held: &AgentReputation) -> Self {
        Self {
            agent_id: id,
            summaries: held.summaries.iter().map(TagBody::from).collect(),
            total_clients: held.clients,
            clients_read: held.clients_read,
            complete: held.complete,
        }
    }
}
