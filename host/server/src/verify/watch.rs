//! The checks of `check-config --live` in a server that runs: it starts whatever its configuration says, and `/readyz`
//! warns of what they find.

use std::{sync::Arc, time::Duration};

use super::{ipfs, verify};
use crate::{config::Config, operation::Contradictions};
use assay_chain::{Chains, config::ChainConfig};
use assay_domain::ChainId;
use assay_tasks::Spawner;

/// Time to the next check, after one that found nothing, and after one that found something.
const PAUSE: Duration = Duration::from_secs(6 * 3_600);
const PAUSE_AFTER_FINDING: Duration = Duration::from_secs(300);

/// Checks each chain, and the node for documents, now and then; chains after all other requests to their endpoints.
/// `found` has what the last checks found.
pub(crate) fn watch(found: &Contradictions, config: &Config, chains: &Chains, tasks: &Spawner) {
    let config = Arc::new(config.clone());
    for chain in config.chains.clone() {
        let state = (found.clone(), chain, config.clone(), chains.clone());
        until_stopped(tasks, state, |(found, chain, config, chains)| async move {
            loop {
                let findings = check_chain(&chain, &config, &chains).await;
                tokio::time::sleep(recorded(&found, Some(chain.id), findings)).await;
            }
        });
    }
    until_stopped(tasks, (found.clone(), config), |(found, config)| async move {
        loop {
            let findings = ipfs(&config).await.into_iter().collect();
            tokio::time::sleep(recorded(&found, None, findings)).await;
        }
    });
}

async fn check_chain(chain: &ChainConfig, config: &Config, chains: &Chains) -> Vec<String> {
    let client = chains.client(chain.id).map(|client| client.behind().without_multicall());
    let found = verify(chain, config, client.as_ref(), |_| {}).await;
    found.into_iter().map(|finding| finding.to_string()).collect()
}

/// Records what a check found. Returns the time to the next one.
fn recorded(found: &Contradictions, chain: Option<ChainId>, findings: Vec<String>) -> Duration {
    let pause = if findings.is_empty() { PAUSE } else { PAUSE_AFTER_FINDING };
    found.record(chain, findings);
    pause
}

fn until_stopped<S, F>(tasks: &Spawner, state: S, checks: impl Fn(S) -> F + Send + Sync + 'static)
where
    S: Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    tasks.keep("configuration", state, move |state, stopping| {
        let checks = checks(state);
        async move {
            stopping.run_until_cancelled(checks).await;
        }
    });
}
