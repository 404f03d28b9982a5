//! The state that every handler shares. Cheap to clone.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use assay_chain::config::NotCovered;
use assay_domain::ChainId;
use assay_registry::{Behaviour, MockSubject, PaymentRefusal};
use assay_store::Store;

use crate::{
    config::{Config, Docs, Network},
    verify::Contradictions,
};
use assay_access::Access;
use assay_agents::Agents;
use assay_sandbox::Sandbox;
use assay_scoring::{
    Contents, Scoring, Source, attestation::Attestor, cards::Cards, history::History, outcomes::Outcomes,
    rollout::Rollout,
};
use assay_submissions::{
    reputation::{Notices, Reputation},
    x402::X402,
};
use assay_telemetry::Metrics;

/// The chains of the chain report, by contract.
pub(crate) const REPORT_CHAINS: [ChainId; 10] = [1, 137, 42161, 10, 8453, 43114, 56, 250, 324, 59144];
/// The chains of the chain summary, by contract.
pub(crate) const SUMMARY_CHAINS: [ChainId; 10] = [1, 10, 56, 137, 8453, 42220, 42161, 43114, 534_352, 59144];

/// The application state of handlers.
#[derive(Clone)]
pub struct App(Arc<AppState>);

/// The parts of an [`App`].
pub struct AppState {
    /// What answers production paths.
    pub(crate) source: Arc<dyn Source>,
    /// What is read on chains.
    pub(crate) scoring: Scoring,
    /// Whether the answers are mocks.
    pub(crate) is_sandbox: bool,
    pub(crate) rollout: Rollout,
    pub(crate) agents: Agents,
    /// Absent when not configured.
    pub(crate) reputation: Option<Reputation>,
    /// The terms of the payments that scenarios refuse; absent outside of a sandbox.
    pub(crate) refused_payments: Option<X402>,
    /// Those who wait for a submission; absent where there are none.
    pub(crate) notices: Option<Notices>,
    /// What the chains contradict of the configuration.
    pub(crate) contradictions: Contradictions,
    pub access: Access,
    /// Payment by call; absent when not enabled.
    pub(crate) x402: Option<X402>,
    /// Signs statements of scores; absent when not configured.
    pub(crate) attestor: Option<Arc<Attestor>>,
    pub(crate) history: History,
    /// Whether anyone with a key may download the models.
    pub(crate) public_models: bool,
    pub(crate) backups: Backups,
    pub(crate) metrics: Metrics,
    /// The server was told to stop.
    pub(crate) stopping: CancellationToken,
    /// False if no chain is configured on a server that reads chains.
    pub(crate) reads_chains: bool,
    not_covered: Vec<NotCovered>,
    pub(crate) cards: Arc<Cards>,
    /// What became of the scored wallets.
    pub(crate) outcomes: Outcomes,
    pub(crate) limits: Limits,
    pub(crate) docs: Docs,
    /// Permits of concurrent requests.
    pub(crate) request_permits: Semaphore,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub(crate) proxies: Vec<Network>,
    chains: BTreeMap<ChainId, String>,
    answered: BTreeSet<ChainId>,
}

/// The backups of the store, one at a time.
pub(crate) struct Backups {
    pub store: Store,
    pub folder: PathBuf,
    pub turn: tokio::sync::Mutex<()>,
}

/// The limits of a request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest body, in bytes.
    pub body: u64,
    /// Largest component, in bytes.
    pub component: u64,
    /// The same on a server that takes large models.
    pub large_component: u64,
    /// Most addresses in one request.
    pub addresses: usize,
    /// Longest time until the response.
    pub request: Duration,
    /// Longest time to receive the body.
    pub arrival: Duration,
}

impl Limits {
    fn of(config: &Config) -> Self {
        Self {
            body: config.http.max_body_bytes as u64,
            component: config.models.largest_component(),
            large_component: config.models.limits().largest_file() as u64,
            addresses: config.http.max_addresses,
            request: config.http.request_timeout,
            arrival: config.http.body_timeout,
        }
    }
}

/// The services behind the handlers.
pub(crate) struct Services {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) scoring: Scoring,
    pub(crate) rollout: Rollout,
    pub(crate) agents: Agents,
    pub(crate) cards: Arc<Cards>,
    pub(crate) outcomes: Outcomes,
    pub(crate) contradictions: Contradictions,
    pub(crate) reputation: Option<Reputation>,
    pub(crate) refused_payments: Option<X402>,
    pub(crate) notices: Option<Notices>,
    pub(crate) access: Access,
    pub(crate) x402: Option<X402>,
    pub(crate) attestor: Option<Arc<Attestor>>,
    pub(crate) history: History,
    pub(crate) store: Store,
    pub(crate) metrics: Metrics,
}

impl App {
    pub(crate) fn new(config: &Config, services: Services) -> Self {
        let Services {
            source,
            scoring,
            rollout,
            agents,
            cards,
            outcomes,
            contradictions,
            reputation,
            refused_payments,
            notices,
            access,
            x402,
            attestor,
            history,
            store,
            metrics,
        } = services;
        let configured = config.chains.iter().map(|chain| (chain.id, chain.name.clone()));
        let chains: BTreeMap<_, _> = assay_chain::known::names().chain(configured).collect();
        let reads = |id: &ChainId| config.sandbox || config.chains.iter().any(|chain| chain.id == *id);
        let answered = chains.keys().copied().filter(reads).collect();
        Self(Arc::new(AppState {
            source,
            scoring,
            is_sandbox: config.sandbox,
            rollout,
            agents,
            reputation,
            refused_payments,
            notices,
            contradictions,
            access,
            x402,
            attestor,
            history,
            public_models: config.models.public,
            backups: Backups {
                store,
                folder: config.store.path.with_file_name("backups"),
                turn: tokio::sync::Mutex::new(()),
            },
            metrics,
            stopping: CancellationToken::new(),
            reads_chains: config.sandbox || !config.chains.is_empty(),
            not_covered: config.reading.not_covered.clone(),
            cards,
            outcomes,
            limits: Limits::of(config),
            docs: config.docs.clone(),
            request_permits: Semaphore::new(config.http.max_requests),
            proxies: config.http.trusted_proxies.clone(),
            chains,
            answered,
        }))
    }
}

impl AppState {
    /// `None` for a chain that is neither in the contract nor in the configuration.
    pub(crate) fn chain_name(&self, id: ChainId) -> Option<&str> {
        self.chains.get(&id).map(String::as_str)
    }

    /// The lending protocols whose history a report does not have.
    pub(crate) fn not_covered(&self, contents: &Contents) -> Vec<String> {
        let of_config = self.not_covered.iter().filter_map(|lender| lender.on(&contents.read_on));
        contents.without_pool().map(str::to_owned).chain(of_config.map(str::to_owned)).collect()
    }

    /// The sandbox champion of this moment.
    pub(crate) fn sandbox(&self) -> Sandbox {
        Sandbox::now(self.rollout.registry())
    }

    /// The name of a chain, or a name made of its id.
    pub(crate) fn chain_label(&self, id: ChainId) -> String {
        self.chain_name(id).map_or_else(|| format!("Chain {id}"), str::to_owned)
    }

    /// The terms of payments for an agent whose scenario refuses every payment, and the reason of the refusal.
    pub(crate) fn refuses_payments(&self, agent_id: u64) -> Option<(&X402, PaymentRefusal)> {
        let x402 = self.refused_payments.as_ref()?;
        match self.sandbox().behaviour(MockSubject::Agent(agent_id)) {
            Ok(Some(Behaviour::PaymentRefused(why))) => Some((x402, why)),
            _ => None,
        }
    }

    /// Whether this server answers about the chain.
    pub(crate) fn reads(&self, id: ChainId) -> bool {
        self.answered.contains(&id)
    }
}

impl Deref for App {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}
