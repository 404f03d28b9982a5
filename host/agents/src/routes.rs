//! `/api/v2/agents…`: the agents of the ERC-8004 registries.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};

use crate::{
    AgentError, Agents,
    bodies::{AgentBody, AgentReputationBody, AgentsBody, FoundBody},
    path::AgentPath,
    responses,
};
use assay_http::{
    ApiError, Location, Violation,
    extract::{Caller, Paging, in_query, limited, single},
    parameters,
};

/// `q`, at least one character.
pub(crate) struct SearchQuery(pub String);

parameters!(SearchQuery: limited(
    in_query::<String>("q", "Text in the name or the description of an agent", "lend"),
    |schema| schema.min_length = Some(1),
));

impl<S: Send + Sync> FromRequestParts<S> for SearchQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match single(parts, "q")? {
            None => Err(ApiError::invalid(vec![Violation::missing(Location::Query, "q")])),
            Some(q) if q.is_empty() => Err(ApiError::invalid(vec![Violation::empty(Location::Query, "q")])),
            Some(q) => Ok(Self(q.into_owned())),
        }
    }
}

/// `Retry-After` while the index is being built, and after a registry could not be read, in seconds.
const WHILE: u64 = 10;

const NOT_READ: &str = "Failed to read from the Identity Registry contract";
const NOT_SEARCHED: &str = "Failed to search agents";

/// All agents by ascending id from 1, as the registry is now.
///
/// Tokens that do not exist are skipped, so that a page may have fewer than `limit` agents. `total` is the number of
/// tokens that the registry ever issued. The registry counts from 0: `total` includes token 0, which is on no page.
#[utoipa::path(
    get, path = "/api/v2/agents", tag = "agents", operation_id = "list_agents",
    params(Paging),
    responses(
        (status = 200, description = "The agents", body = AgentsBody),
        responses::Paged, responses::Validated, responses::Keyed, responses::AgentRegistry,
    ),
    security(("key" = [])),
)]
pub(crate) async fn list(caller: Caller, State(agents): State<Agents>, paging: Paging) -> Result<Response, ApiError> {
    let Paging { page, limit } = paging;
    let found = caller.pay(async { agents.page(page, limit).await.map_err(|error| read_error(error, None)) }).await?;
    Ok(Json(AgentsBody::of(&found, page, limit)).into_response())
}

/// Agents whose name or description contains a text, by ascending id.
///
/// Case does not matter, in any script. The search uses an index that is refreshed every 30 minutes.
#[utoipa::path(
    get, path = "/api/v2/agents/search", tag = "agents", operation_id = "search_agents",
    params(SearchQuery, Paging),
    responses(
        (status = 200, description = "Those that match", body = FoundBody),
        responses::Paged, responses::Validated, responses::Keyed, responses::AgentIndex,
    ),
    security(("key" = [])),
)]
pub(crate) async fn search(
    caller: Caller,
    State(agents): State<Agents>,
    SearchQuery(query): SearchQuery,
    paging: Paging,
) -> Result<Response, ApiError> {
    let Paging { page, limit } = paging;
    let found = caller.pay(async { agents.search(&query, page, limit).await.map_err(search_error) }).await?;
    Ok(Json(FoundBody::of(&found, query, page, limit)).into_response())
}

/// One agent, as the registry is now.
#[utoipa::path(
    get, path = "/api/v2/agents/{agent_id}", tag = "agents", operation_id = "get_agent",
    params(AgentPath),
    responses(
        (status = 200, description = "The agent", body = AgentBody),
        responses::NoAgent, responses::Validated, responses::Keyed, responses::AgentRegistry,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(
    caller: Caller,
    State(agents): State<Agents>,
    AgentPath(id): AgentPath,
) -> Result<Response, ApiError> {
    let agent = caller.pay(async { agents.get(id).await.map_err(|error| read_error(error, Some(id))) }).await?;
    Ok(Json(AgentBody::from(&agent)).into_response())
}

/// The feedback on an agent in the Reputation Registry, by tag.
///
/// Revoked feedback does not count. At most the latest 500 clients are read, the latest 20 entries of each, and 1,000
/// entries in total; `complete` is false when there is more.
#[utoipa::path(
    get, path = "/api/v2/agents/{agent_id}/reputation", tag = "agents", operation_id = "get_agent_reputation",
    params(AgentPath),
    responses(
        (status = 200, description = "Summaries of the feedback", body = AgentReputationBody),
        responses::NoAgent, responses::Validated, responses::Keyed, responses::AgentRegistry,
    ),
    security(("key" = [])),
)]
pub(crate) async fn reputation(
    caller: Caller,
    State(agents): State<Agents>,
    AgentPath(id): AgentPath,
) -> Result<Response, ApiError> {
    let held = caller.pay(async { agents.reputation(id).await.map_err(|error| reputation_error(error, id)) }).await?;
    Ok(Json(AgentReputationBody::of(id, &held)).into_response())
}

/// `id` is the text in the path.
pub fn no_agent(id: impl std::fmt::Display) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, format!("Agent {id} does not exist in the Identity Registry"))
}

fn read_error(error: AgentError, id: Option<u64>) -> ApiError {
    match (error, id) {
        (AgentError::Unknown, Some(id)) => no_agent(id),
        (error, _) => down(&error, NOT_READ),
    }
}

fn reputation_error(error: AgentError, id: u64) -> ApiError {
    match error {
        AgentError::Unknown => no_agent(id),
        error => down(&error, "Failed to read from the Reputation Registry contract"),
    }
}

fn search_error(error: AgentError) -> ApiError {
    match error {
        AgentError::NotBuilt => {
            ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "index_not_built", NOT_SEARCHED).retry_after(WHILE)
        }
        error => down(&error, NOT_SEARCHED),
    }
}

fn down(error: &AgentError, detail: &'static str) -> ApiError {
    let code = match error {
        AgentError::NotConfigured => {
            return ApiError::coded(StatusCode::BAD_GATEWAY, "agents_not_configured", detail);
        }
        AgentError::Search => "search_failed",
        _ => "registry_unreadable",
    };
    tracing::warn!(%error, code, "agents cannot be read");
    ApiError::coded(StatusCode::BAD_GATEWAY, code, detail).retry_after(WHILE)
}

assay_http::rows! { Agents:
    GET "/api/v2/agents" Agents [open] list;
    GET "/api/v2/agents/search" Agents [open] search;
    GET "/api/v2/agents/{agent_id}" Agents [open] get;
    GET "/api/v2/agents/{agent_id}/reputation" Agents [open] reputation;
}
