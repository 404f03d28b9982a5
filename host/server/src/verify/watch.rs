//! The checks of `check-config --live` in a server that runs: it starts whatever its configuration says, and `/readyz`
//! warns of what they find.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{ipfs, verify};
use crate::config::Config;
use assay_chain::{Chains, config::ChainConfig};
use assay_domain::ChainId;
use assay_tasks::Spawner;

/// Time to the next check, after one that found nothing, and after one that found something.
const PAUSE: Duration = Duration::from_secs(6 * 3_600);
const PAUSE_AFTER_FINDING: Duration = Duration::from_secs(300);

/// What contradicts the configuration. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Contradictions(Arc<Mutex<Found>>);

/// By chain, and without one what does not concern a chain.
type Found = BTreeMap<Option<ChainId>, Vec<String>>;

impl Contradictions {
    /// Checks each chain, and the node for documents, now and then; chains after all other requests to their endpoints.
    pub fn watch(&self, config: &Config, chains: &Chains, tasks: &Spawner) {
        let config = Arc::new(config.clone());
        for chain in config.chains.clone() {
            let (this, config, chains) = (self.clone(), config.clone(), chains.clone());
            until_stopped(tasks, async move {
                loop {
                    tokio::time::sleep(this.check_chain(&chain, &config, &chains).await).await;
                }
            });
        }
        let this = self.clone();
        until_stopped(tasks, async move {
            loop {
                let found = ipfs(&config).await.into_iter().collect();
                tokio::time::sleep(this.found(None, found)).await;
            }
        });
    }

    async fn check_chain(&self, chain: &ChainConfig, config: &Config, chains: &Chains) -> Duration {
        let client = chains.client(chain.id).map(|client| client.behind().without_multicall());
        let found = verify(chain, config, client.as_ref(), |_| {}).await;
        self.found(Some(chain.id), found.into_iter().map(|finding| finding.to_string()).collect())
    }

    /// Records what a check found. Returns the time to the next one.
    fn found(&self, chain: Option<ChainId>, found: Vec<String>) -> Duration {
        let pause = if found.is_empty() { PAUSE } else { PAUSE_AFTER_FINDING };
        let before = self.all().insert(chain, found.clone()).unwrap_or_default();
        for finding in found.iter().filter(|finding| !before.contains(finding)) {
            tracing::warn!(%finding, "the configuration is contradicted");
        }
        pause
    }

    /// Each contradiction in words that say what to do.
    pub fn words(&self) -> Vec<String> {
        self.all().values().flatten().cloned().collect()
    }

    fn all(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn until_stopped(tasks: &Spawner, checks: impl Future<Output = ()> + Send + 'static) {
    let stopping = tasks.stopping();
    tasks.spawn("configuration", async move {
        stopping.run_until_cancelled(checks).await;
    });
}
