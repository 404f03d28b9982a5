//! Builds a server from its configuration. The binary, the tests and the benchmarks start the same server here.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{self, Config, MarketConfig, Outbound},
    operation::{Backups, Contradictions, Operations},
    routes::Routes,
    sources,
    verify::watch,
};
use assay_access::Access;
use assay_agents::{AgentRegistries, Agents};
use assay_batch::{BatchRoutes, Jobs};
use assay_chain::Chains;
use assay_domain::ChainId;
use assay_evm::guarded::Guarded;
use assay_http::{Components, ConnectionBounds, Gate};
use assay_keys::KeysState;
use assay_outbox::{gas::GasBook, nonce::Outbox, sender::Sender};
use assay_payment::{Local, Payments, X402};
use assay_registry::Registry;
use assay_report::{Networks, ReportRoutes, ReportSource, Reports};
use assay_reputation::{
    Appraiser, Client, Notices, OnChain, Reputation, ReputationRoutes, SubmissionFactory,
    feedback::{FeedbackRegistry, Registries},
    ipfs::Ipfs,
};
use assay_rollout::{InputDrift, RecordedRoles, Rollout, RolloutRoutes, cards::Cards, needs_large, outcomes::Outcomes};
use assay_sandbox::{MockPayments, Mocks, SandboxRoutes, SandboxSource};
use assay_score::{ScoreRoutes, ScoreSource, Scoring, attestation::Attestor, history::ScoreHistory};
use assay_store::{Store, StoreError};
use assay_tasks::{Spawner, Tasks, Tracker};
use assay_telemetry::{Metrics, UPKEEP};
use assay_watch::{
    WatchRoutes, WatchedChains, Watches,
    market::{MarketName, WatchedMarket},
    script::WatchScript,
};

/// Timeout of background work when the server stops.
const BACKGROUND: Duration = Duration::from_secs(5);

/// Why the server cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(transparent)]
    Store(#[from] assay_store::OpenError),
    #[error(transparent)]
    Record(#[from] StoreError),
    #[error(transparent)]
    Registry(#[from] assay_registry::OpenError),
    #[error("metrics cannot be collected: {0}")]
    Metrics(String),
    #[error("cannot serve: {0}")]
    Serve(#[from] io::Error),
    #[error("loading the models panicked")]
    Loading,
}

/// The parts of a server that is ready to answer.
pub struct Assembled {
    pub routes: Routes,
    /// The background tasks; dropping this ends them.
    tasks: Tasks,
    readers: Tracker,
    access: Access,
}

impl Assembled {
    /// Ends background work and waits until everything is stored.
    pub async fn stop(self) {
        self.readers.close();
        let tasks = self.tasks.shutdown(BACKGROUND).await;
        if !tasks || tokio::time::timeout(BACKGROUND, self.readers.wait()).await.is_err() {
            tracing::warn!("stopped with background work unfinished; the next start continues it");
        }
        self.access.settle().await;
    }
}

/// Opens the store, loads the shelf and connects the chains.
///
/// # Errors
/// [`AppError`]. A model that cannot be loaded, or a chain that does not answer, is not an error.
pub async fn assemble(config: &Config) -> Result<Assembled, AppError> {
    let metrics = Metrics::collect().map_err(|error| AppError::Metrics(error.to_string()))?;
    let store = Store::open(&config.store).await?;
    let tasks = Tasks::new();
    let models = &config.models;
    sources::take(&models.sources, &models.shelf, models.largest_component(), &tasks.spawner()).await;
    let recorded = RecordedRoles::read(&store).await?;
    let registry = open_registry(config, &recorded).await?;
    let readers = Tracker::new();
    let chains = Chains::connect(&config.reads(), &store, &readers, &tasks.spawner().stopping());
    let (scoring, promotion) = (&config.scoring, &config.promotion);
    let rollout = Rollout::open(registry.clone(), store.clone(), recorded, scoring, promotion).await?;
    rollout.start(&tasks.spawner());
    let cards = Arc::new(Cards::new(&config.models.shelf));
    let attestation = config.attestation.as_ref();
    let attestor = match config.sandbox {
        true => Attestor::mock(attestation, cards.clone(), registry.clone()),
        false => attestation.and_then(|config| Attestor::new(config, cards.clone(), registry.clone())),
    };
    let attestor = attestor.map(Arc::new);
    let scoring = Scoring::new(registry.clone(), chains.clone(), rollout.clone(), &config.scoring);
    let mocks = Mocks::new(registry.clone(), config.scenarios.clone());
    let ports = if config.sandbox {
        Ports::of_sandbox(config, &store, &mocks, &tasks.spawner())
    } else {
        Ports::of_chains(config, &store, &chains, &scoring, attestor.clone(), &tasks.spawner())
    };
    let Ports { scores, reports, networks, agents, reputation, payments, access } = ports;
    let notices = reputation.as_ref().map(|reputation| {
        reputation.start(&tasks.spawner());
        Notices::new(store.clone(), reputation.steps(), config.http.max_waiting)
    });
    notices.iter().for_each(|notices| notices.start(&tasks.spawner()));
    payments.x402.iter().for_each(|x402| x402.start(&tasks.spawner()));
    let outcomes = Outcomes::new(&config.chains, rollout.clone(), chains.clone(), cards.clone());
    outcomes.start(&tasks.spawner());
    let drift = InputDrift::new(rollout.clone(), cards.clone());
    drift.start(&tasks.spawner());
    let script = config.sandbox.then(|| Arc::new(mocks.clone()) as Arc<dyn WatchScript>);
    let watches = watches(config, (&store, &access), (&scoring, &cards, &attestor), script).await?;
    if config.sandbox || !config.chains.is_empty() {
        watches.start(&tasks.spawner());
    }
    let jobs = Jobs::new(store.clone(), access.clone(), scores.clone(), rollout.clone(), config.batch.clone());
    jobs.start(&tasks.spawner());
    let contradictions = Contradictions::default();
    if config.check_live && !config.sandbox {
        watch(&contradictions, config, &chains, &tasks.spawner());
    }
    fold_metrics(&tasks, metrics.clone());
    let gate = Gate::new(&config.http, components(config), access.clone(), payments.are_taken());
    let of_statements = Payments { x402: payments.x402.clone().filter(|_| attestor.is_some()), script: None };
    let sells = |x402: &X402| x402.terms().sells_watches();
    let of_watches = Payments { x402: payments.x402.clone().filter(sells), script: None };
    let routes = Routes {
        batch: BatchRoutes { jobs, source: scores.clone() },
        watches: WatchRoutes { gate: gate.clone(), watches, source: scores.clone(), payments: of_watches },
        score: ScoreRoutes {
            source: scores,
            rollout: rollout.clone(),
            cards: cards.clone(),
            history: ScoreHistory::new(config.reads(), &store, &tasks.spawner()),
            attestor,
            payments: of_statements,
        },
        report: ReportRoutes {
            source: reports,
            rollout: rollout.clone(),
            cards: cards.clone(),
            networks: networks.clone(),
        },
        agents,
        reputation: ReputationRoutes { gate: gate.clone(), reputation: reputation.clone(), notices, payments },
        sandbox: SandboxRoutes { mocks, networks },
        rollout: RolloutRoutes {
            rollout: rollout.clone(),
            cards,
            outcomes,
            drift,
            access: access.clone(),
            signer: attestation.map(|config| config.signer.clone()),
            public_models: config.models.public,
        },
        keys: KeysState { access: access.clone() },
        operations: Operations {
            gate: gate.clone(),
            rollout,
            scoring,
            lacks_chains: !config.sandbox && config.chains.is_empty(),
            reputation,
            contradictions,
            store,
            backups: Arc::new(Backups::new(config.store.path.with_file_name("backups"))),
            metrics,
        },
        gate,
        docs: config.docs.clone(),
        is_sandbox: config.sandbox,
    };
    Ok(Assembled { routes, tasks, readers, access })
}

/// The parts that a sandbox replaces. Besides these, a sandbox marks its answers, and neither checks its chains nor
/// warns that there are none.
struct Ports {
    scores: Arc<dyn ScoreSource>,
    reports: Arc<dyn ReportSource>,
    networks: Networks,
    agents: Agents,
    reputation: Option<Reputation>,
    payments: Payments,
    access: Access,
}

impl Ports {
    fn of_sandbox(config: &Config, store: &Store, mocks: &Mocks, tasks: &Spawner) -> Self {
        let agents = Agents::mock();
        let source = Arc::new(SandboxSource::new(mocks.clone()));
        let x402 = X402::mock(&config.access.x402, store, assay_sandbox::factory(store.clone()));
        x402.iter().for_each(|x402| x402.start_mock(tasks));
        let script = x402.map(|x402| Arc::new(MockPayments::new(mocks.clone(), x402)) as _);
        Self {
            scores: source.clone(),
            reports: source,
            networks: Networks::all(chain_names(config), config.reading.not_covered.clone()),
            reputation: Some(assay_sandbox::submissions(store.clone(), mocks.clone(), agents.clone())),
            agents,
            payments: Payments { x402: None, script },
            access: Access::new(&config.access, store.clone()).free(),
        }
    }

    fn of_chains(
        config: &Config,
        store: &Store,
        chains: &Chains,
        scoring: &Scoring,
        attestor: Option<Arc<Attestor>>,
        tasks: &Spawner,
    ) -> Self {
        let registry = feedback_registry(config, chains);
        let gas = config.reputation.as_ref().zip(config.agents.as_ref()).map(|(reputation, agents)| {
            GasBook::new(&reputation.gas, store.clone(), Some((chains.clone(), agents.chain)))
        });
        let registry = registry.zip(gas);
        let x402 = registry.as_ref().and_then(|(registry, gas)| x402(config, chains, store, registry, gas));
        let appraiser = |config: &config::Reputation| Appraiser::new(scoring.clone(), config, attestor);
        Self {
            scores: Arc::new(scoring.clone()),
            reports: Arc::new(Reports::new(scoring.clone())),
            networks: Networks::new(chain_names(config), config.reading.not_covered.clone()),
            agents: agents(config, chains, store, tasks).unwrap_or_else(Agents::none),
            reputation: registry
                .and_then(|(registry, gas)| reputation(config, registry, gas, appraiser, store, x402.as_ref())),
            payments: Payments { x402, script: None },
            access: Access::new(&config.access, store.clone()),
        }
    }
}

/// The configured chains with their names.
fn chain_names(config: &Config) -> BTreeMap<ChainId, String> {
    config.chains.iter().map(|chain| (chain.id, chain.name.clone())).collect()
}

/// The watches. Deliveries have the limits of `[outbound]` for hosts, and a longer time.
async fn watches(
    config: &Config,
    (store, access): (&Store, &Access),
    (scoring, cards, attestor): (&Scoring, &Arc<Cards>, &Option<Arc<Attestor>>),
    script: Option<Arc<dyn WatchScript>>,
) -> Result<Watches, StoreError> {
    let outbound = Outbound { timeout: config.watches.delivery_timeout, ..config.outbound.clone() };
    let chains = match &script {
        // Every script is about one market.
        Some(_) => {
            let market = assay_sandbox::MARKET.parse().map(|name| WatchedMarket { name, label: None });
            WatchedChains { markets: market.into_iter().collect(), ..Default::default() }
        }
        None => of_chains(config),
    };
    let service = (scoring.clone(), cards.clone(), attestor.clone());
    let settings = (config.watches.clone(), chains, script);
    Watches::open((store.clone(), access.clone()), service, settings, Guarded::new(&outbound), config.http.max_waiting)
        .await
}

/// The chains and markets of watched wallets.
fn of_chains(config: &Config) -> WatchedChains {
    let market = |chain: ChainId, market: &MarketConfig| WatchedMarket {
        name: MarketName { protocol: market.protocol, chain, address: market.address },
        label: market.market.clone(),
    };
    WatchedChains {
        finality: config.chains.iter().map(|chain| (chain.id, chain.finality)).collect(),
        markets: config
            .chains
            .iter()
            .flat_map(|chain| chain.markets.iter().map(move |of| market(chain.id, of)))
            .collect(),
    }
}

/// The agents of the registries, to which the account of `[reputation]` gives feedback.
fn agents(config: &Config, chains: &Chains, store: &Store, tasks: &Spawner) -> Option<Agents> {
    let agents = config.agents.as_ref()?;
    let chain = config.chains.iter().find(|chain| chain.id == agents.chain)?;
    let own = config.reputation.as_ref().and_then(config::Reputation::account).map(|account| account.address());
    let client = chains.client(chain.id)?;
    let registries = AgentRegistries::new(client, agents, own, chain.finality, config.reading.log_range);
    Some(Agents::new(agents, registries, &config.outbound, config.ipfs.as_ref(), store, tasks))
}

/// The registries that get feedback, with the account that gives it and settles payments.
fn feedback_registry(config: &Config, chains: &Chains) -> Option<FeedbackRegistry> {
    let (agents, reputation) = (config.agents.as_ref()?, config.reputation.as_ref()?);
    let registries =
        Registries { chain: agents.chain, identity: agents.identity_registry, reputation: agents.reputation_registry };
    let client = chains.client(agents.chain)?;
    let sender = Sender::new(client, reputation.account()?, agents.chain, reputation.confirmations);
    Some(FeedbackRegistry::new(sender, registries))
}

/// Payment by call, which pays for submissions and so needs them configured.
fn x402(config: &Config, chains: &Chains, store: &Store, registry: &FeedbackRegistry, gas: &GasBook) -> Option<X402> {
    let factory = SubmissionFactory::new(store.clone(), Client::of(registry));
    let confirmations = config.reputation.as_ref()?.confirmations;
    X402::new(&config.access.x402, chains, store.clone(), confirmations, gas.clone(), factory)
}

/// Submissions, if everything that they need is configured.
fn reputation(
    config: &Config,
    registry: FeedbackRegistry,
    gas: GasBook,
    appraiser: impl FnOnce(&config::Reputation) -> Option<Appraiser>,
    store: &Store,
    x402: Option<&X402>,
) -> Option<Reputation> {
    let (reputation, ipfs) = (config.reputation.as_ref()?, config.ipfs.as_ref()?);
    let appraiser = appraiser(reputation)?;
    let outbox = Outbox::new(registry.sender().clone(), reputation.rules());
    let local = x402.filter(|_| config.access.x402.is_local());
    let local = local.map(|x402| Local::new(x402.clone(), outbox.clone()));
    let effects =
        OnChain { appraiser, ipfs: Ipfs::new(ipfs)?, registry, outbox, gas: gas.clone(), payments: local.clone() };
    Some(Reputation::new(reputation.into(), store.clone(), gas, effects, local))
}

/// Serves on `listener` until `cancel`, and then completes the requests in flight.
///
/// # Errors
/// As [`assemble`].
pub async fn serve(config: Config, listener: TcpListener, cancel: CancellationToken) -> Result<(), AppError> {
    let assembled = assemble(&config).await?;
    let address = listener.local_addr()?;
    let routes = &assembled.routes;
    let router = routes.router();
    for missing in routes.operations.missing_models() {
        tracing::warn!(shelf = %config.models.shelf.display(), %missing, "not ready");
    }
    let lacks = routes.operations.lacks().await;
    lacks.iter().for_each(|what| tracing::warn!("{what}"));
    let url = local_url(address);
    tracing::info!(
        %address,
        version = env!("CARGO_PKG_VERSION"),
        sandbox = config.sandbox,
        chains = config.chains.len(),
        console = format_args!("{url}/console"),
        %url,
        warnings = (!lacks.is_empty()).then(|| lacks.join("; ")),
        "listening"
    );
    let (leaving, closing) = (routes.gate.stopping.clone(), CancellationToken::new());
    let notice = config.http.drain_notice;
    let leave = async {
        cancel.cancelled().await;
        leaving.cancel();
        tokio::time::sleep(notice).await;
        closing.cancel();
    };
    let (served, ()) =
        tokio::join!(assay_http::serve(listener, router, ConnectionBounds::from(&config.http), closing.clone()), leave);
    served?;
    assembled.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// The URL of a server at `address`, for a browser on this machine.
fn local_url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

fn components(config: &Config) -> Components {
    Components {
        largest: config.models.largest_component(),
        large: config.models.limits().largest_file() as u64,
        needs_large,
    }
}

async fn open_registry(config: &Config, recorded: &RecordedRoles) -> Result<Arc<Registry>, AppError> {
    // The folder of the store belongs to this server only.
    let beside = |name| config.store.path.with_file_name(name);
    let compiled = config.models.compiled_path.clone();
    let RecordedRoles { roles, released, .. } = recorded.clone();
    let settings = assay_registry::Settings {
        roles,
        released,
        first_champions: config.models.first_champions.clone(),
        limits: config.models.limits(),
        compiled: Some(compiled.unwrap_or_else(|| beside("compiled"))),
        attempts: Some(beside("loading")),
        patient: false,
        // As long as a record or a statement may name its bytes.
        keep_removed: config
            .scoring
            .provenance_ttl
            .max(config.attestation.as_ref().map_or(Duration::ZERO, |a| a.valid)),
        ..assay_registry::Settings::new(&config.models.shelf)
    };
    let open = move || match Registry::open(settings.clone()) {
        Err(error @ assay_registry::OpenError::Compiled { .. }) => {
            tracing::warn!(%error, "compiled models cannot be stored; every start compiles them again");
            Registry::open(assay_registry::Settings { compiled: None, ..settings })
        }
        opened => opened,
    };
    tokio::task::spawn_blocking(open).await.map_err(|_| AppError::Loading)?.map_err(AppError::Registry)
}

fn fold_metrics(tasks: &Tasks, metrics: Metrics) {
    tasks.spawner().keep("metrics", metrics, |metrics, stopping| async move {
        let mut due = tokio::time::interval(UPKEEP);
        loop {
            tokio::select! {
                _ = due.tick() => metrics.upkeep(),
                () = stopping.cancelled() => return,
            }
        }
    });
}
