//! What every handler can reach. Cheap to clone.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    access::{Access, x402::X402},
    agents::Agents,
    config::{self, Config, Network},
    reputation::{Rehearsal, Reputation},
    rollout::Rollout,
    scoring::{Scoring, Source},
    telemetry::Metrics,
};
use assay_domain::ChainId;
use assay_store::Store;

/// The chains of the chain report, by contract.
pub const REPORT_CHAINS: [ChainId; 10] = [1, 137, 42161, 10, 8453, 43114, 56, 250, 324, 59144];
/// The chains of the chain summary, by contract.
pub const SUMMARY_CHAINS: [ChainId; 10] = [1, 10, 56, 137, 8453, 42220, 42161, 43114, 534_352, 59144];

/// The application as handlers see it.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// The parts of an [`App`].
pub struct Inner {
    /// What answers production paths.
    pub source: Source,
    pub scoring: Scoring,
    pub rollout: Rollout,
    pub agents: Agents,
    /// Absent where it is not configured.
    pub reputation: Option<Reputation>,
    /// Where production paths answer from the sandbox generator.
    pub rehearsal: Option<Rehearsal>,
    pub access: Access,
    /// Payment by call; absent where it is not enabled.
    pub x402: Option<X402>,
    pub backups: Backups,
    pub metrics: Metrics,
    /// The server was told to stop.
    pub leaving: CancellationToken,
    /// False where no chain is configured.
    pub reads_chains: bool,
    pub not_covered: Vec<String>,
    pub limits: Limits,
    /// Permits for requests to be at work.
    pub room: Semaphore,
    /// Whose word about a client's address counts.
    pub proxies: Vec<Network>,
    chains: BTreeMap<ChainId, String>,
    configured: BTreeSet<ChainId>,
}

/// Where backups of the store are put, one at a time.
pub struct Backups {
    pub store: Store,
    pub folder: PathBuf,
    pub turn: tokio::sync::Mutex<()>,
}

/// Bounds of a request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a body.
    pub body: u64,
    /// Bytes of a component.
    pub component: u64,
    /// Addresses in one request.
    pub addresses: usize,
    /// Longest time until a request is answered.
    pub request: Duration,
    /// Longest time for a request's body to arrive.
    pub arrival: Duration,
}

impl App {
    pub fn new(
        config: &Config,
        (source, scoring, rollout): (Source, Scoring, Rollout),
        agents: Agents,
        (reputation, rehearsal): (Option<Reputation>, Option<Rehearsal>),
        (access, x402): (Access, Option<X402>),
        store: Store,
        metrics: Metrics,
    ) -> Self {
        let configured = config.chains.iter().map(|chain| (chain.id, chain.name.clone()));
        Self(Arc::new(Inner {
            source,
            scoring,
            rollout,
            agents,
            reputation,
            rehearsal,
            access,
            x402,
            backups: Backups {
                store,
                folder: config.store.path.with_file_name("backups"),
                turn: tokio::sync::Mutex::new(()),
            },
            metrics,
            leaving: CancellationToken::new(),
            reads_chains: !config.chains.is_empty(),
            not_covered: config.reading.not_covered.clone(),
            limits: Limits {
                body: config.http.max_body_bytes as u64,
                component: config.models.max_component_bytes,
                addresses: config.http.max_addresses,
                request: config.http.request_timeout,
                arrival: config.http.body_timeout,
            },
            room: Semaphore::new(config.http.max_requests),
            proxies: config.http.trusted_proxies.clone(),
            chains: config::chain_names().chain(configured).collect(),
            configured: config.chains.iter().map(|chain| chain.id).collect(),
        }))
    }
}

impl Inner {
    /// `None` for a chain that neither the contract nor the configuration knows.
    pub fn chain_name(&self, id: ChainId) -> Option<&str> {
        self.chains.get(&id).map(String::as_str)
    }

    /// What a chain is called; a chain that nobody knows by its number.
    pub fn chain_called(&self, id: ChainId) -> String {
        self.chain_name(id).map_or_else(|| format!("Chain {id}"), str::to_owned)
    }

    /// Whether this server reads the chain.
    pub fn reads(&self, id: ChainId) -> bool {
        self.configured.contains(&id)
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
