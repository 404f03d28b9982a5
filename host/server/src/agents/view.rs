//! Tokens with their documents, in the time of a request. What is not there by then is absent from the answer and goes
//! on being fetched, so that the next one has it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy::primitives::keccak256;
use futures::future::join_all;
use moka::{Expiry, future::Cache};
use tokio::{sync::Semaphore, time::timeout_at};

use super::{metadata, published::Published};
use crate::tasks::Spawner;
use assay_chain::{Documents, Located, Outside, Token};
use assay_domain::{Agent, AgentMetadata, B256};

/// Longest wait for documents, whatever their number.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// Documents that are fetched for requests, or wait for it.
const WAITING: usize = 1_000;
/// Documents kept, and how long: read, and not to be had.
const KEPT: u64 = 10_000;
const READ: Duration = Duration::from_secs(30 * 60);
const UNREAD: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(super) struct View {
    documents: Documents,
    published: Arc<Published>,
    kept: Cache<B256, Option<AgentMetadata>>,
    waiting: Arc<Semaphore>,
    spawner: Spawner,
}

struct Lives;

impl Expiry<B256, Option<AgentMetadata>> for Lives {
    fn expire_after_create(&self, _: &B256, found: &Option<AgentMetadata>, _: Instant) -> Option<Duration> {
        Some(if found.is_some() { READ } else { UNREAD })
    }
}

impl View {
    pub(super) fn new(documents: Documents, published: Arc<Published>, spawner: Spawner) -> Self {
        let kept = Cache::builder().max_capacity(KEPT).expire_after(Lives).build();
        Self { documents, published, kept, waiting: Arc::new(Semaphore::new(WAITING)), spawner }
    }

    /// `tokens` as agents, in their order.
    pub(super) async fn agents(&self, tokens: Vec<Token>) -> Vec<Agent> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
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
        if let Some(known) = self.published.get().and_then(|shown| shown.metadata(id, digest)) {
            return Some(known);
        }
        match self.documents.locate(uri) {
            Located::Here(document) => metadata::read(&document),
            Located::Outside(outside) => match self.kept.get(&digest).await {
                Some(known) => known,
                None => self.fetch(digest, outside).await,
            },
            Located::Nowhere(_) => None,
        }
    }

    /// On a task of its own, which nobody's impatience ends.
    async fn fetch(&self, digest: B256, outside: Outside) -> Option<AgentMetadata> {
        let permit = self.waiting.clone().try_acquire_owned().ok()?;
        let (kept, documents) = (self.kept.clone(), self.documents.clone());
        let (told, answer) = tokio::sync::oneshot::channel();
        self.spawner.spawn("agent_document", async move {
            let _permit = permit;
            let read = async { documents.fetch(&outside).await.ok().as_deref().and_then(metadata::read) };
            // The caller may have gone.
            let _ = told.send(kept.get_with(digest, read).await);
        });
        answer.await.ok().flatten()
    }
}
