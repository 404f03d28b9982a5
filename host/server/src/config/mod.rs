//! What an operator can set: embedded commented defaults, then a TOML file, then `ASSAY__SECTION__KEY`, validated
//! across fields before the port is bound. Known chains are completed from embedded data. A component receives only its
//! own section.

mod access;
mod http;
mod known;
mod load;
mod models;
mod promotion;
mod reputation;
mod scoring;
mod telemetry;
mod validate;
mod written;
mod x402;

use std::net::SocketAddr;

use serde::Deserialize;

pub use assay_chain::config::{
    Agents, ChainConfig, Data, Discovery, ExplorerLimits, Identity, Ipfs, Lookup, Names, NativeConfig, Pinning,
    PriceApi, Prices, Reading, RegistryConfig, Slugs, SourceConfig, TokenConfig,
};
pub use assay_evm::config::{Outbound, RpcLimits};
pub use assay_lending::config::MarketConfig;
pub use assay_store::config::{Backend, Store};

pub use access::{Access, KeyConfig};
pub use http::{Http, Network};
pub use known::chain_names;
pub use load::{ConfigError, DEFAULTS, load};
pub use models::Models;
pub use promotion::Promotion;
pub use reputation::Reputation;
pub use scoring::Scoring;
pub use telemetry::{LogFormat, Telemetry, TracesConfig};
pub use validate::Problem;
pub use x402::X402;

/// The whole configuration, one field per section.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where HTTP is served. Port 0 takes a free one, which the `listening` line names.
    pub listen: SocketAddr,
    /// Answer the production score and report paths from the sandbox generator.
    pub sandbox: bool,
    pub http: Http,
    pub models: Models,
    pub store: Store,
    pub access: Access,
    pub reading: Reading,
    pub scoring: Scoring,
    pub promotion: Promotion,
    #[serde(default, deserialize_with = "written::chains")]
    pub chains: Vec<ChainConfig>,
    pub prices: Prices,
    pub names: Names,
    pub identity: Identity,
    pub outbound: Outbound,
    pub telemetry: Telemetry,
    pub agents: Option<Agents>,
    pub reputation: Option<Reputation>,
    pub ipfs: Option<Ipfs>,
}
