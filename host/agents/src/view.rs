//! Tokens with their documents, within the time of a request. A document that takes longer is absent from the response;
//! its fetch continues, so the next response has it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy::primitives::keccak256;
use futures::future::join_all;
use moka::{Expiry, future::Cache};
use tokio::{sync::Semaphore, time::timeout_at};

use super::{metadata, published::Published};
use crate::registries::{Documents, Located, Outside, Token};
use assay_domain::{Agent, AgentMetadata, B256};
use assay_tasks::Spawner;

/// Maximum wait for all documents of a request.
const TIMEOUT: Duration = Duration::from_millis(1_000);
/// Maximum number of documents that requests fetch at once.
const WAITING: usize = 1_000;
/// Maximum number of documents in the cache, and how long a document and a failed fetch stay there.
const CACHED: u64 = 10_000;
const READ: Duration = Duration::from_secs(30 * 60);
const UNREAD: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(super) struct AgentView {
    documents: Documents,
    published: Arc<Published>,
    cache: Cache<B256, Option<AgentMetadata>>,
    waiting: Arc<Semaphore>,
    spawner: Spawner,
}

struct Lifetime;

impl Expiry<B256, Option<AgentMetadata>> for Lifetime {
    fn expire_after_create(&self, _: &B256, found: &Option<AgentMetadata>, _: Instant) -> Option<Duration> {
        Some(if found.is_some() { READ } else { UNREAD })
    }
}

impl AgentView {
    pub(super) fn new(documents: Documents, published: Arc<Published>, spawner: Spawner) -> Self {
        let cache = Cache::builder().max_capacity(CACHED).expire_after(Lifetime).build();
        Self { documents, published, cache, waiting: Arc::new(Semaphore::new(WAITING)), spawner }
    }

    /// `tokens` as agents, in their order.
    pub(super) async fn agents(&self, tokens: Vec<Token>) -> Vec<Agent> {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        join_all(tokens.into_iter().map(|token| async move {
            let metadata = match &token.uri {
                Some(uri) => timeout_at(deadline, self.metadata(token.id, uri)).await.ok().flatten(),
                None => None,
            };
            Agent { id: token.id, owner: token.owner, metadata }
        }))
        .await
    }

    async fn metadata(&self, id: u64, uri: &str) -> Option<AgentMetadata> {
        let digest = keccak256(uri);
        if let Some(known) = self.published.get().and_then(|snapshot| snapshot.metadata(id, digest)) {
            return Some(known);
        }
        match self.documents.locate(uri) {
            Located::Here(document) => metadata::read(&document),
            Located::Outside(outside) => match self.cache.get(&digest).await {
                Some(known) => known,
                None => self.fetch(digest, outside).await,
            },
            Located::Nowhere(_) => None,
        }
    }

    /// Fetches in a separate task, which continues after the request ends.
    async fn fetch(&self, digest: B256, outside: Outside) -> Option<AgentMetadata> {
        let permit = self.waiting.clone().try_acquire_owned().ok()?;
        let (cache, documents) = (self.cache.clone(), self.documents.clone());
        let (sender, result) = tokio::sync::oneshot::channel();
        self.spawner.spawn("agent_document", async move {
            let _permit = permit;
            let read = async { documents.fetch(&outside).await.ok().as_deref().and_then(metadata::read) };
            // The request may have ended.
            let _ = sender.send(cache.get_with(digest, read).await);
        });
        result.await.ok().flatten()
    }
}
