//! Blocks of a chain that are stored between two starts: the newest head, so a restart does not go backwards, and an
//! early block, which distinguishes a replaced chain from an endpoint that is behind.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::pauses;
use assay_domain::ChainId;
use assay_evm::client::{Block, Client};
use assay_store::{Family, Key, Store};
use assay_tasks::Tracker;

/// The number of the early block. The first one is the same on chains that are started again with the same state.
const EARLY: u64 = 1;

/// The key of what was seen of a chain.
fn heads(chain: ChainId) -> Key<HeadsRecord> {
    Family::new("heads/").key(chain)
}

/// The stored blocks of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct HeadsRecord {
    newest: Block,
    /// Absent until it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    early: Option<Block>,
}

pub(super) struct NewestHead {
    chain: ChainId,
    store: Store,
    tasks: Tracker,
    loaded: OnceCell<()>,
    written: Mutex<Option<Instant>>,
    /// Held by one write at a time: an earlier one that ends last would lose the early block.
    writing: Arc<tokio::sync::Mutex<()>>,
}

impl NewestHead {
    pub(super) fn new(chain: ChainId, store: Store, tasks: Tracker) -> Self {
        Self { chain, store, tasks, loaded: OnceCell::new(), written: Mutex::default(), writing: Arc::default() }
    }

    /// Tells `client`, before its first question for the head, what an earlier process saw.
    pub(super) async fn load(&self, client: &Client) {
        let load = async || match self.store.get(&heads(self.chain)).await {
            Ok(Some(record)) => client.remember(record.newest, record.early),
            Ok(None) => {}
            Err(error) => tracing::warn!(chain = self.chain, %error, "the newest block seen before cannot be read"),
        };
        self.loaded.get_or_init(load).await;
    }

    /// Writes in the background what `client` has seen, unless that was written a moment ago.
    pub(super) fn keep(&self, client: &Client) {
        if client.newest().is_none() {
            return;
        }
        {
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            if written.is_some_and(|written| written.elapsed() < pauses::HEAD_WRITES) {
                return;
            }
            *written = Some(Instant::now());
        }
        let (chain, client, store, writing) = (self.chain, client.clone(), self.store.clone(), self.writing.clone());
        self.tasks.spawn("newest block", async move {
            let _turn = writing.lock().await;
            let Some(newest) = client.newest() else { return };
            let record = HeadsRecord { newest, early: client.early() };
            if let Err(error) = store.put(&heads(chain), &record).await {
                tracing::warn!(chain, %error, "the newest block seen cannot be saved; a restart may begin behind it");
            }
        });
    }

    /// Asks for the early block, if it is not known.
    pub(super) async fn look_up_early(&self, client: &Client, head: Block) {
        if client.early().is_some() || head.number <= EARLY {
            return;
        }
        if let Ok(Some(early)) = client.block(EARLY).await {
            client.remember(head, Some(early));
            *self.written.lock().unwrap_or_else(PoisonError::into_inner) = None;
            self.keep(client);
        }
    }
}
