//! Error responses of agents, in groups that the rows name.

use utoipa::IntoResponses;

use assay_http::DetailBody;
pub use assay_http::responses::*;

/// A path with an agent in it.
#[derive(IntoResponses)]
pub enum NoAgent {
    /// The agent does not exist in the Identity Registry
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// Responses that need the agent registries.
#[derive(IntoResponses)]
pub enum AgentRegistry {
    /// The registry could not be read, or none is configured
    #[response(status = 502)]
    Down(DetailBody),
}

/// Responses that need the index of agents.
#[derive(IntoResponses)]
pub enum AgentIndex {
    /// The search failed, or no registry is configured
    #[response(status = 502)]
    Failed(DetailBody),
    /// The index is being built for the first time
    #[response(status = 503)]
    Unready(DetailBody),
}
