//! A server without models and chains, for tests.

use std::{collections::BTreeMap, sync::Arc};

use serde::de::DeserializeOwned;

use crate::{App, Components, Contradictions, Services, Settings};
use assay_access::Access;
use assay_agents::Agents;
use assay_chain::Chains;
use assay_registry::Registry;
use assay_scoring::{Scoring, cards::Cards, config, history::History, outcomes::Outcomes, rollout::Rollout};
use assay_store::Store;
use assay_tasks::{Tasks, Tracker};
use assay_telemetry::Metrics;

/// The defaults, as a server has them.
const DEFAULTS: &str = include_str!("../../server/src/config/defaults.toml");

/// The state of the server, and what ends when it is dropped.
pub(crate) struct Sample {
    pub app: App,
    _tasks: Tasks,
    _folder: tempfile::TempDir,
}

impl Sample {
    pub(crate) async fn new() -> Self {
        Self::with_origins(&[]).await
    }

    /// With these origins as `http.cors_origins`.
    pub(crate) async fn with_origins(origins: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [shelf, path] = ["plugins", "store"].map(|name| folder.path().join(name));
        std::fs::create_dir(&shelf).unwrap();
        let tasks = Tasks::new();
        let store = Store::open(&assay_store::config::Store::embedded(path)).await.unwrap();
        let opened = assay_registry::Settings::new(&shelf);
        let registry = tokio::task::spawn_blocking(|| Registry::open(opened)).await.unwrap().unwrap();
        let mut settings = settings(folder.path().join("backups"));
        settings.http.cors_origins = origins.iter().map(|origin| (*origin).to_owned().try_into().unwrap()).collect();
        let app = App::new(settings, services(store, registry, &shelf, &tasks).await);
        Self { app, _tasks: tasks, _folder: folder }
    }
}

/// A section of the defaults.
fn section<T: DeserializeOwned>(name: &str) -> T {
    let sections: toml::Table = toml::from_str(DEFAULTS).unwrap();
    let section = sections.get(name).cloned().unwrap_or_else(|| toml::Table::new().into());
    section.try_into().unwrap()
}

fn settings(backups: std::path::PathBuf) -> Settings {
    Settings {
        http: section("http"),
        docs: section("docs"),
        is_sandbox: false,
        chains: BTreeMap::new(),
        not_covered: Vec::new(),
        components: Components { largest: 16 << 20, large: 64 << 20 },
        public_models: false,
        backups,
    }
}

async fn services(store: Store, registry: Arc<Registry>, shelf: &std::path::Path, tasks: &Tasks) -> Services {
    let scoring: config::Scoring = section("scoring");
    let reads = assay_chain::Settings {
        chains: Vec::new(),
        reading: section("reading"),
        prices: section("prices"),
        names: section("names"),
        identity: section("identity"),
        outbound: section("outbound"),
        snapshots: scoring.snapshots(),
    };
    let chains = Chains::connect(&reads, &store, &Tracker::new(), &tasks.spawner().stopping());
    let rollout = Rollout::open(registry.clone(), store.clone(), &scoring, &section("promotion")).await.unwrap();
    let cards = Arc::new(Cards::new(shelf));
    let scoring = Scoring::new(registry, chains.clone(), rollout.clone(), &scoring);
    Services {
        source: Arc::new(scoring.clone()),
        scoring,
        agents: Agents::none(),
        outcomes: Outcomes::new(&[], rollout.clone(), chains, cards.clone()),
        rollout,
        cards,
        contradictions: Contradictions::default(),
        reputation: None,
        refused_payments: None,
        notices: None,
        access: Access::new(&section::<assay_access::config::Access<toml::Value>>("access"), store.clone()),
        x402: None,
        attestor: None,
        history: History::new(reads, &store, &tasks.spawner()),
        store,
        metrics: Metrics::collect().unwrap(),
    }
}
