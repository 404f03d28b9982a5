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
    Contradictions,
    config::{Docs, Http, Network, WebOrigin},
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

/// The parts of an [`App`], beside those of its services.
pub struct AppState {
    services: Services,
    /// Whether the answers are mocks.
    pub(crate) is_sandbox: bool,
    /// Whether anyone with a key may download the models.
    pub(crate) public_models: bool,
    pub(crate) backups: Backups,
    /// The server was told to stop.
    pub stopping: CancellationToken,
    /// False if no chain is configured on a server that reads chains.
    pub(crate) reads_chains: bool,
    not_covered: Vec<NotCovered>,
    pub(crate) limits: Limits,
    pub(crate) docs: Docs,
    /// Permits of concurrent requests.
    pub(crate) request_permits: Semaphore,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub(crate) proxies: Vec<Network>,
    /// Origins whose pages may call every route.
    pub(crate) cors_origins: Vec<WebOrigin>,
    chains: BTreeMap<ChainId, String>,
    answered: BTreeSet<ChainId>,
}

/// The backups of the store, one at a time.
pub(crate) struct Backups {
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
    fn of(http: &Http, components: Components) -> Self {
        Self {
            body: http.max_body_bytes as u64,
            component: components.largest,
            large_component: components.large,
            addresses: http.max_addresses,
            request: http.request_timeout,
            arrival: http.body_timeout,
        }
    }
}

/// What the handlers know of the configuration.
pub struct Settings {
    pub http: Http,
    pub docs: Docs,
    /// Whether the answers are mocks.
    pub is_sandbox: bool,
    /// The configured chains with their names.
    pub chains: BTreeMap<ChainId, String>,
    /// The lending protocols whose history a report does not have.
    pub not_covered: Vec<NotCovered>,
    pub components: Components,
    /// Whether anyone with a key may download the models.
    pub public_models: bool,
    /// The folder of backups of the store.
    pub backups: PathBuf,
}

/// The limits of uploaded components, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Components {
    pub largest: u64,
    /// The same on a server that takes large models.
    pub large: u64,
}

/// The services behind the handlers.
pub struct Services {
    /// What answers production paths.
    pub source: Arc<dyn Source>,
    /// What is read on chains.
    pub scoring: Scoring,
    pub rollout: Rollout,
    pub agents: Agents,
    pub cards: Arc<Cards>,
    /// What became of the scored wallets.
    pub outcomes: Outcomes,
    /// What the chains contradict of the configuration.
    pub contradictions: Contradictions,
    /// Absent when not configured.
    pub reputation: Option<Reputation>,
    /// The terms of the payments that scenarios refuse; absent outside of a sandbox.
    pub refused_payments: Option<X402>,
    /// Those who wait for a submission; absent where there are none.
    pub notices: Option<Notices>,
    pub access: Access,
    /// Payment by call; absent when not enabled.
    pub x402: Option<X402>,
    /// Signs statements of scores; absent when not configured.
    pub attestor: Option<Arc<Attestor>>,
    pub history: History,
    pub store: Store,
    pub metrics: Metrics,
}

impl App {
    pub fn new(settings: Settings, services: Services) -> Self {
        let Settings { http, docs, is_sandbox, chains: configured, not_covered, components, public_models, backups } =
            settings;
        let reads = |id: &ChainId| is_sandbox || configured.contains_key(id);
        let reads_chains = is_sandbox || !configured.is_empty();
        let chains: BTreeMap<_, _> = assay_chain::known::names().chain(configured.clone()).collect();
        let answered = chains.keys().copied().filter(reads).collect();
        let backups = Backups { folder: backups, turn: tokio::sync::Mutex::new(()) };
        Self(Arc::new(AppState {
            services,
            is_sandbox,
            public_models,
            backups,
            stopping: CancellationToken::new(),
            reads_chains,
            not_covered,
            limits: Limits::of(&http, components),
            docs,
            request_permits: Semaphore::new(http.max_requests),
            proxies: http.trusted_proxies,
            cors_origins: http.cors_origins,
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

impl Deref for AppState {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}
