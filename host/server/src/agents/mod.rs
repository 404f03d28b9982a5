//! Agents of the ERC-8004 registries: the list, each agent and its reputation from the chain, and a search in an index
//! that a background task refreshes.

mod fetch;
mod index;
mod metadata;
mod mock;
mod published;
mod records;
mod refresh;
mod registered;
mod view;

use std::{sync::Arc, time::Duration};

use moka::future::Cache;

pub use index::{Found, Index};
#[doc(hidden)]
pub use metadata::read as read_document;

use crate::{config::Config, tasks::Spawner};
use assay_chain::{AgentRegistries, AgentsError, Documents};
use assay_domain::{Agent, AgentReputation};
use assay_store::Store;
use mock::Mock;
use published::Published;
use refresh::Refresher;
use view::View;

/// How long the reputation of an agent is cached: a read takes many calls.
const REPUTATION: Duration = Duration::from_secs(30);
const REPUTATIONS: u64 = 1_000;

/// Most documents fetched at once for the index, also when `[outbound]` allows more.
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
pub struct Page {
    pub agents: Vec<Agent>,
    /// Agents ever registered, including token 0 and burned tokens.
    pub total: u64,
}

/// Agents as handlers see them. Cheap to clone.
#[derive(Clone)]
pub struct Agents {
    source: Arc<Source>,
}

enum Source {
    None,
    Chain(Box<Inner>),
    Mock(Mock),
}

struct Inner {
    registries: AgentRegistries,
    view: View,
    published: Arc<Published>,
    reputations: Cache<u64, Arc<AgentReputation>>,
}

impl Agents {
    /// Starts the refresh of the index on `spawner`. Without `registries` every call is an error; in sandbox mode every
    /// call returns mock agents.
    pub fn new(config: &Config, registries: Option<AgentRegistries>, store: &Store, spawner: &Spawner) -> Self {
        if config.sandbox {
            return Self { source: Arc::new(Source::Mock(Mock::new())) };
        }
        let (Some(agents), Some(registries)) = (&config.agents, registries) else {
            return Self { source: Arc::new(Source::None) };
        };
        let published = Arc::<Published>::default();
        let refresher = Refresher {
            registries: registries.clone(),
            documents: documents(config),
            at_once: config.outbound.concurrency.min(AT_ONCE),
            store: store.clone(),
            published: published.clone(),
            every: agents.refresh,
        };
        let stop = spawner.stopping();
        spawner.spawn("agents", async move {
            stop.run_until_cancelled(refresher.run()).await;
        });
        // Requests use a separate client, so that they do not wait for the index.
        let view = View::new(documents(config), published.clone(), spawner.clone());
        let reputations = Cache::builder().max_capacity(REPUTATIONS).time_to_live(REPUTATION).build();
        Self { source: Arc::new(Source::Chain(Box::new(Inner { registries, view, published, reputations }))) }
    }

    /// The agents with ids from `(page - 1) * limit + 1` on, read from the chain. Burned ones are left out.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn page(&self, page: u64, limit: u64) -> Result<Page, AgentError> {
        let inner = match &*self.source {
            Source::Mock(mock) => return Ok(mock.page(page, limit)),
            _ => self.configured()?,
        };
        let first = page.saturating_sub(1).saturating_mul(limit).saturating_add(1);
        // Ids start at 0, so the last one is one less than the total.
        let ids = |total: u64| (first..total.min(first.saturating_add(limit))).collect();
        let (total, tokens) = inner.registries.page(ids).await?;
        Ok(Page { agents: inner.view.agents(tokens).await, total })
    }

    /// One agent, read from the chain.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn get(&self, id: u64) -> Result<Agent, AgentError> {
        let inner = match &*self.source {
            Source::Mock(mock) => return mock.get(id),
            _ => self.configured()?,
        };
        let token = inner.registries.token(id).await?.ok_or(AgentError::Unknown)?;
        inner.view.agents(vec![token]).await.into_iter().next().ok_or(AgentError::Unknown)
    }

    /// Agents whose name or description contains `query`, as of the last refresh.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn search(&self, query: &str, page: u64, limit: u64) -> Result<Found, AgentError> {
        let skip = page.saturating_sub(1).saturating_mul(limit);
        let inner = match &*self.source {
            Source::Mock(mock) => return Ok(mock.search(query, skip, limit)),
            _ => self.configured()?,
        };
        let (snapshot, query) = (inner.published.get().ok_or(AgentError::NotBuilt)?, query.to_owned());
        // A search takes milliseconds, so it must not block the threads of the runtime.
        tokio::task::spawn_blocking(move || snapshot.index.search(&query, skip, limit))
            .await
            .map_err(|_| AgentError::Search)
    }

    /// The feedback on an agent in the reputation registry.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn reputation(&self, id: u64) -> Result<Arc<AgentReputation>, AgentError> {
        let inner = match &*self.source {
            Source::Mock(mock) => return mock.reputation(id).map(Arc::new),
            _ => self.configured()?,
        };
        let read = async {
            inner.registries.token(id).await?.ok_or(AgentError::Unknown)?;
            Ok(Arc::new(inner.registries.reputation(id).await?))
        };
        inner.reputations.try_get_with(id, read).await.map_err(|error: Arc<AgentError>| (*error).clone())
    }

    fn configured(&self) -> Result<&Inner, AgentError> {
        match &*self.source {
            Source::Chain(inner) => Ok(inner),
            Source::None | Source::Mock(_) => Err(AgentError::NotConfigured),
        }
    }
}

fn documents(config: &Config) -> Documents {
    Documents::new(&config.outbound, config.ipfs.as_ref())
}
