//! What every handler can reach. Cheap to clone.

use std::{collections::BTreeMap, ops::Deref, sync::Arc, time::Duration};

use crate::{access::Access, config::Config, domain::ChainId, scoring::Scoring, telemetry::Metrics};

/// The chains of the contract: those of the chain report and those of the chain summary.
const KNOWN_CHAINS: [(ChainId, &str); 12] = [
    (1, "Ethereum"),
    (10, "Optimism"),
    (56, "BNB Smart Chain"),
    (137, "Polygon"),
    (250, "Fantom"),
    (324, "zkSync Era"),
    (8453, "Base"),
    (42161, "Arbitrum One"),
    (42220, "Celo"),
    (43114, "Avalanche"),
    (59144, "Linea"),
    (534_352, "Scroll"),
];

/// The application as handlers see it.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// The parts of an [`App`].
pub struct Inner {
    pub scoring: Scoring,
    pub access: Access,
    pub metrics: Metrics,
    /// Production score and report paths answer from the sandbox generator.
    pub sandbox_only: bool,
    /// False where no chain is configured.
    pub reads_chains: bool,
    pub not_covered: Vec<String>,
    pub limits: Limits,
    chains: BTreeMap<ChainId, String>,
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
}

impl Limits {
    /// Longest time for a request's body to arrive: what is left of its time is ours.
    pub fn arrival(&self) -> Duration {
        self.request.mul_f64(0.75)
    }
}

impl App {
    pub fn new(config: &Config, scoring: Scoring, access: Access, metrics: Metrics) -> Self {
        let known = KNOWN_CHAINS.map(|(id, name)| (id, name.to_owned()));
        let configured = config.chains.iter().map(|chain| (chain.id, chain.name.clone()));
        Self(Arc::new(Inner {
            scoring,
            access,
            metrics,
            sandbox_only: config.sandbox,
            reads_chains: !config.chains.is_empty(),
            not_covered: config.reading.not_covered.clone(),
            limits: Limits {
                body: config.http.max_body_bytes as u64,
                component: config.models.max_component_bytes,
                addresses: config.http.max_addresses,
                request: Duration::from_millis(config.http.request_timeout_ms),
            },
            chains: known.into_iter().chain(configured).collect(),
        }))
    }
}

impl Inner {
    /// `None` for a chain that neither the contract nor the configuration knows.
    pub fn chain_name(&self, id: ChainId) -> Option<&str> {
        self.chains.get(&id).map(String::as_str)
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
