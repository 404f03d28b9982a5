//! Puts everything together. The binary, the tests and the benchmarks start the same server here.

mod errands;
mod judge;

use std::{io, sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    access::{
        Access,
        x402::{Local, X402},
    },
    agents::Agents,
    config::{self, Config},
    http,
    reputation::{Rehearsal, Reputation},
    scoring::{self, Scoring},
    tasks::Tasks,
    telemetry::{Metrics, UPKEEP},
};
use assay_chain::{Chains, Ipfs};
use assay_outbox::sender::{Registries, Sender};
use assay_registry::Registry;
use assay_store::{Store, StoreError};

/// Longest wait for background work when the server stops.
const BACKGROUND: Duration = Duration::from_secs(5);

/// The server cannot start, or cannot go on.
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

/// Everything a server is made of, ready to answer.
pub struct Assembled {
    /// What handlers reach; the argument of [`http::router`].
    pub http: http::App,
    /// The background work. Dropping it ends that.
    pub tasks: Tasks,
    readers: TaskTracker,
    access: Access,
}

impl Assembled {
    /// Ends background work and waits until nothing is left to be written.
    pub async fn stop(self) {
        self.readers.close();
        let tasks = self.tasks.shutdown(BACKGROUND).await;
        if !tasks || tokio::time::timeout(BACKGROUND, self.readers.wait()).await.is_err() {
            tracing::warn!("stopped with background work unfinished; it goes on where it was at the next start");
        }
        self.access.settle().await;
    }
}

/// Opens the store, loads the shelf and connects the chains.
///
/// # Errors
/// [`AppError`] says what is missing; a model that cannot be loaded and a chain that does not answer are none.
pub async fn assemble(config: &Config) -> Result<Assembled, AppError> {
    let metrics = Metrics::collect().map_err(|error| AppError::Metrics(error.to_string()))?;
    let store = Store::open(&config.store).await?;
    let tasks = Tasks::new();
    let registry = open_registry(config, &store).await?;
    let (readers, stop) = (TaskTracker::new(), tasks.spawner().stopping());
    let chains = Chains::connect(
        &config.chains,
        &config.reading,
        &config.prices,
        &config.scoring.snapshots(),
        &store,
        &readers,
        &stop,
    )
    .with_people(&config.names, &config.identity, &config.outbound);
    let registries = config.agents.as_ref().and_then(|agents| chains.agents(agents, config.reading.log_range));
    let agents = Agents::new(config, registries, &store, &tasks.spawner());
    let scoring = Scoring::open(registry, chains.clone(), store.clone(), &config.scoring, &config.promotion).await?;
    scoring.start(&tasks.spawner());
    let x402 = if config.sandbox { None } else { x402(config, &chains, &store) };
    let reputation = if config.sandbox { None } else { reputation(config, &chains, &scoring, &store, x402.as_ref()) };
    let rehearsal = config.sandbox.then(|| Rehearsal::new(store.clone()));
    if let Some(reputation) = &reputation {
        reputation.start(&tasks.spawner());
    }
    if let Some(x402) = &x402 {
        x402.start(&tasks.spawner());
    }
    let access = Access::new(&config.access, store.clone());
    fold_metrics(&tasks, metrics.clone());
    let http = http::App::new(config, scoring, agents, (reputation, rehearsal), (access.clone(), x402), store, metrics);
    Ok(Assembled { http, tasks, readers, access })
}

/// Payment by call, where submissions are what is paid for.
fn x402(config: &Config, chains: &Chains, store: &Store) -> Option<X402> {
    X402::new(&config.access.x402, chains, store.clone(), config.reputation.as_ref()?.confirmations)
}

/// Submissions, where everything that they need is configured.
fn reputation(
    config: &Config,
    chains: &Chains,
    scoring: &Scoring,
    store: &Store,
    x402: Option<&X402>,
) -> Option<Reputation> {
    let (agents, reputation, ipfs) = (config.agents.as_ref()?, config.reputation.as_ref()?, config.ipfs.as_ref()?);
    let judge = judge::ByScoring::new(scoring.clone(), reputation)?;
    let registries =
        Registries { chain: agents.chain, identity: agents.identity_registry, reputation: agents.reputation_registry };
    let client = chains.client(agents.chain)?;
    let sender = Sender::new(client, reputation.account()?, registries, reputation.confirmations, reputation.max_fee());
    let local = x402.filter(|_| config.access.x402.is_local());
    let local =
        local.map(|x402| Local::new(x402.clone(), sender.clone(), Duration::from_millis(reputation.replace_after_ms)));
    Some(Reputation::new(reputation, store.clone(), sender, Ipfs::new(ipfs)?, judge, errands::Payments(local)))
}

/// Serves on `listener` until `cancel`, then lets requests in flight finish.
///
/// # Errors
/// As [`assemble`].
pub async fn serve(config: Config, listener: TcpListener, cancel: CancellationToken) -> Result<(), AppError> {
    let assembled = assemble(&config).await?;
    let address = listener.local_addr()?;
    let router = http::router(assembled.http.clone());
    for missing in assembled.http.missing_models() {
        tracing::warn!(shelf = %config.models.shelf.display(), %missing, "not ready");
    }
    tracing::info!(%address, sandbox = config.sandbox, chains = config.chains.len(), "listening");
    let (leaving, closing) = (assembled.http.stopping.clone(), CancellationToken::new());
    let notice = Duration::from_millis(config.http.drain_notice_ms);
    let leave = async {
        cancel.cancelled().await;
        leaving.cancel();
        tokio::time::sleep(notice).await;
        closing.cancel();
    };
    let (served, ()) =
        tokio::join!(http::serve(listener, router, http::Bounds::from(&config.http), closing.clone()), leave);
    served?;
    assembled.stop().await;
    tracing::info!("stopped");
    Ok(())
}

async fn open_registry(config: &Config, store: &Store) -> Result<Arc<Registry>, AppError> {
    let settings = assay_registry::Settings {
        roles: scoring::remembered(store).await?,
        limits: limits(&config.models),
        // Beside the store: the one folder that is this server's own.
        compiled: Some(config.store.path.with_file_name("compiled")),
        ..assay_registry::Settings::new(&config.models.shelf)
    };
    let open = move || match Registry::open(settings.clone()) {
        Err(error @ assay_registry::OpenError::Compiled { .. }) => {
            tracing::warn!(%error, "models are compiled anew at every start");
            Registry::open(assay_registry::Settings { compiled: None, ..settings })
        }
        opened => opened,
    };
    tokio::task::spawn_blocking(open).await.map_err(|_| AppError::Loading)?.map_err(AppError::Registry)
}

/// The bounds of models, from their section of the configuration.
pub fn limits(config: &config::Models) -> assay_registry::Limits {
    assay_registry::Limits {
        file: usize::try_from(config.max_component_bytes).unwrap_or(usize::MAX),
        memory: config.max_memory_bytes,
        deadline: Duration::from_millis(config.call_deadline_ms),
        instances: config.max_calls,
        ..assay_registry::Limits::default()
    }
}

fn fold_metrics(tasks: &Tasks, metrics: Metrics) {
    let spawner = tasks.spawner();
    let stopping = spawner.stopping();
    spawner.spawn("metrics", async move {
        let mut due = tokio::time::interval(UPKEEP);
        loop {
            tokio::select! {
                _ = due.tick() => metrics.upkeep(),
                () = stopping.cancelled() => return,
            }
        }
    });
}
