//! Agents of the ERC-8004 registries: the list, each agent and its reputation, read from the chain, and a search in an
//! index that a background task refreshes.

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod bodies;
pub mod config;
mod fetch_queue;
#[doc(hidden)]
pub mod fuzz;
mod index;
mod metadata;
mod mock;
mod path;
mod published;
mod records;
mod refresh;
mod registered;
mod registries;
pub mod responses;
mod routes;
mod view;

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use moka::future::Cache;

pub use index::{AgentIndex, AgentMatches};
#[doc(hidden)]
pub use metadata::read as read_document;
pub use path::AgentPath;
pub use registries::{AgentRegistries, AgentsError, Documents, Located, base64};
pub use routes::{no_agent, operations, routes};

use assay_domain::{Agent, AgentReputation};
use assay_evm::config::Outbound;
use assay_store::Store;
use assay_tasks::Spawner;
use mock::Mock;
pub use mock::is_mock_agent;
use published::Published;
use refresh::Refresher;
use view::AgentView;

/// How long the reputation of an agent is cached: a read takes many calls.
const REPUTATION: Duration = Duration::from_secs(30);
const REPUTATIONS: u64 = 1_000;

/// Maximum number of documents fetched at once for the index, even if `[outbound]` allows more.
const AT_ONCE: usize = 32;

/// Why a call about agents fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// No registry is configured, or its chain is not configured.
    #[error("no agent registry is configured")]
    NotConfigured,
    /// No such token.
    #[error("the agent does not exist")]
    Unknown,
    /// The registry could not be read.
    #[error(transparent)]
    Unreadable(#[from] AgentsError),
    /// The first build of the index is not complete.
    #[error("the index of agents is being built")]
    NotBuilt,
    /// The search task failed.
    #[error("the search panicked")]
    Search,
}

/// One page of all agents.
#[derive(Debug, Clone)]
pub struct AgentPage {
    pub agents: Vec<Agent>,
    /// Agents ever registered, including token 0 and burned tokens.
    pub total: u64,
}

/// Agents as handlers see them. Cheap to clone.
#[derive(Clone)]
pub struct Agents {
    source: Option<Arc<dyn AgentSource>>,
}

type AgentAnswer<'a, T> = BoxFuture<'a, Result<T, AgentError>>;

/// A source of agents.
trait AgentSource: Send + Sync {
    fn page(&self, page: u64, limit: u64) -> AgentAnswer<'_, AgentPage>;
    fn get(&self, id: u64) -> AgentAnswer<'_, Agent>;
    fn search<'a>(&'a self, query: &'a str, skip: u64, limit: u64) -> AgentAnswer<'a, AgentMatches>;
    fn reputation(&self, id: u64) -> AgentAnswer<'_, Arc<AgentReputation>>;
}

impl Agents {
    /// The mock agents of a sandbox.
    pub fn mock() -> Self {
        Self { source: Some(Arc::new(Mock::new())) }
    }

    /// No registry: every call returns an error.
    pub fn none() -> Self {
        Self { source: None }
    }

    /// The agents of `registries`. Starts the refresh of the index on `spawner`.
    pub fn new(
        config: &config::Agents,
        registries: AgentRegistries,
        outbound: &Outbound,
        ipfs: Option<&config::Ipfs>,
        store: &Store,
        spawner: &Spawner,
    ) -> Self {
        let published = Arc::<Published>::default();
        let refresher = Arc::new(Refresher {
            registries: registries.clone(),
            documents: Documents::new(outbound, ipfs),
            at_once: outbound.concurrency.min(AT_ONCE),
            store: store.clone(),
            published: published.clone(),
            every: config.refresh,
        });
        spawner.keep("agents", refresher, |refresher, stopping| async move {
            stopping.run_until_cancelled(refresher.run()).await;
        });
        // Requests use a separate client, so they do not wait for the index.
        let view = AgentView::new(Documents::new(outbound, ipfs), published.clone(), spawner.clone());
        let reputations = Cache::builder().max_capacity(REPUTATIONS).time_to_live(REPUTATION).build();
        Self { source: Some(Arc::new(ChainAgents { registries, view, published, reputations })) }
    }

    /// The agents with ids from `(page - 1) * limit + 1` on, read from the chain. Burned agents are omitted.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn page(&self, page: u64, limit: u64) -> Result<AgentPage, AgentError> {
        self.configured()?.page(page, limit).await
    }

    /// One agent, read from the chain.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn get(&self, id: u64) -> Result<Agent, AgentError> {
        self.configured()?.get(id).await
    }

    /// Agents whose name or description contains `query`, as of the last refresh.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn search(&self, query: &str, page: u64, limit: u64) -> Result<AgentMatches, AgentError> {
        let skip = page.saturating_sub(1).saturating_mul(limit);
        self.configured()?.search(query, skip, limit).await
    }

    /// The feedback on an agent in the reputation registry.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn reputation(&self, id: u64) -> Result<Arc<AgentReputation>, AgentError> {
        self.configured()?.reputation(id).await
    }

    fn configured(&self) -> Result<&dyn AgentSource, AgentError> {
        self.source.as_deref().ok_or(AgentError::NotConfigured)
    }
}

/// The registries on their chain.
struct ChainAgents {
    registries: AgentRegistries,
    view: AgentView,
    published: Arc<Published>,
    reputations: Cache<u64, Arc<AgentReputation>>,
}

impl AgentSource for ChainAgents {
    fn page(&self, page: u64, limit: u64) -> AgentAnswer<'_, AgentPage> {
        async move {
            let first = page.saturating_sub(1).saturating_mul(limit).saturating_add(1);
            // Ids start at 0, so the last one is one less than the total.
            let ids = |total: u64| (first..total.min(first.saturating_add(limit))).collect();
            let (total, tokens) = self.registries.page(ids).await?;
            Ok(AgentPage { agents: self.view.agents(tokens).await, total })
        }
        .boxed()
    }

    fn get(&self, id: u64) -> AgentAnswer<'_, Agent> {
        async move {
            let token = self.registries.token(id).await?.ok_or(AgentError::Unknown)?;
            self.view.agents(vec![token]).await.into_iter().next().ok_or(AgentError::Unknown)
        }
        .boxed()
    }

    fn search<'a>(&'a self, query: &'a str, skip: u64, limit: u64) -> AgentAnswer<'a, AgentMatches> {
        async move {
            let (snapshot, query) = (self.published.get().ok_or(AgentError::NotBuilt)?, query.to_owned());
            // A search takes milliseconds, so it must not block the threads of the runtime.
            tokio::task::spawn_blocking(move || snapshot.index.search(&query, skip, limit))
                .await
                .map_err(|_| AgentError::Search)
        }
        .boxed()
    }

    fn reputation(&self, id: u64) -> AgentAnswer<'_, Arc<AgentReputation>> {
        async move {
            let read = async {
                self.registries.token(id).await?.ok_or(AgentError::Unknown)?;
                Ok(Arc::new(self.registries.reputation(id).await?))
            };
            self.reputations.try_get_with(id, read).await.map_err(|error: Arc<AgentError>| (*error).clone())
        }
        .boxed()
    }
}
