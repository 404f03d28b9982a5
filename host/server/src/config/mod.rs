//! The configuration: embedded commented defaults, then a TOML file, then environment variables `ASSAY__SECTION__KEY`.
//! It is checked before the port is bound. Embedded data completes known chains. A component receives only its own
//! section.

mod entry;
mod faults;
pub mod here;
mod load;
mod models;
mod places;
mod unset;
mod validate;
mod words;

use std::net::SocketAddr;

use serde::Deserialize;

pub use assay_batch::config::Batch;
pub use assay_chain::config::{
    ChainConfig, Data, Discovery, ExplorerLimits, Identity, IndexMode, Lookup, Names, NativeConfig, PriceApi, Prices,
    Reading, RegistryConfig, Slugs, SourceConfig, TokenConfig,
};
pub use assay_domain::settings::Problem;
pub use assay_evm::config::{Outbound, RpcLimits};
pub use assay_lending::config::MarketConfig;
pub use assay_payment::config::X402;
pub use assay_reputation::config::Reputation;
pub use assay_rollout::config::{Promotion, Scoring};
pub use assay_score::config::Attestation;
pub use assay_store::config::{Backend, Store};
pub use assay_telemetry::config::{LogFormat, Telemetry, TracesConfig};
pub use assay_watch::config::Watches;

pub use assay_access::config::KeyConfig;
pub use assay_agents::config::{Agents, Ipfs, Pinning};
pub use assay_console::config::Docs;
pub use assay_http::config::Http;
pub use load::{ConfigError, DEFAULTS, load, scenarios};
pub use models::Models;

/// The whole configuration, one field per section.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address of the HTTP server. Port 0 takes a free one; the log line `listening` names it.
    pub listen: SocketAddr,
    /// Whether the sandbox generator answers the production paths.
    pub sandbox: bool,
    /// The scenarios of a tester on a sandbox. Set by the commands of the binary.
    #[serde(skip)]
    pub scenarios: Vec<assay_sandbox::Scripted>,
    /// Whether the server checks in the background what `check-config --live` checks.
    pub check_live: bool,
    pub http: Http,
    pub models: Models,
    pub store: Store,
    pub access: assay_access::config::Access<X402>,
    #[serde(default)]
    pub docs: Docs,
    pub reading: Reading,
    pub scoring: Scoring,
    pub promotion: Promotion,
    #[serde(default, deserialize_with = "entry::chains")]
    pub chains: Vec<ChainConfig>,
    pub prices: Prices,
    pub names: Names,
    pub identity: Identity,
    pub outbound: Outbound,
    pub watches: Watches,
    pub batch: Batch,
    pub telemetry: Telemetry,
    pub agents: Option<Agents>,
    pub reputation: Option<Reputation>,
    pub ipfs: Option<Ipfs>,
    pub attestation: Option<Attestation>,
}

impl Config {
    /// The sections by which chains are read.
    pub fn reads(&self) -> assay_chain::Settings {
        assay_chain::Settings {
            chains: self.chains.clone(),
            reading: self.reading.clone(),
            prices: self.prices.clone(),
            names: self.names.clone(),
            identity: self.identity.clone(),
            outbound: self.outbound.clone(),
            snapshots: self.scoring.snapshots(),
        }
    }
}
