//! The routes for operators: health, readiness, metrics, the status page and backups.

mod backup;
mod contradictions;
mod health;
pub mod responses;
mod status;
pub mod status_body;

use std::{path::PathBuf, sync::Arc};

use assay_http::Gate;
use assay_reputation::Reputation;
use assay_rollout::Rollout;
use assay_score::Scoring;
use assay_store::Store;
use assay_telemetry::Metrics;

pub use contradictions::Contradictions;
pub use health::Readiness;

/// The state of the handlers of operation.
#[derive(Clone)]
pub struct Operations {
    pub gate: Gate,
    pub rollout: Rollout,
    pub scoring: Scoring,
    /// No chain is configured on a server that reads chains.
    pub lacks_chains: bool,
    pub reputation: Option<Reputation>,
    /// Contradictions between the chains and the configuration.
    pub contradictions: Contradictions,
    pub store: Store,
    pub backups: Arc<Backups>,
    pub metrics: Metrics,
}

/// The backups of the store, one at a time.
pub struct Backups {
    folder: PathBuf,
    turn: tokio::sync::Mutex<()>,
}

impl Backups {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, turn: tokio::sync::Mutex::new(()) }
    }
}

assay_http::rows! { Operations:
    GET "/api/v2/admin/status" Admin status::get;
    POST "/api/v2/admin/backup" Admin backup::make;
    GET "/healthz" Operation [open] health::health;
    GET "/readyz" Operation health::ready;
    GET "/metrics" Operation health::metrics;
}
