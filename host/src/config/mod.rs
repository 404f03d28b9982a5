//! What an operator can set: embedded commented defaults, then a TOML file, then `ASSAY__SECTION__KEY`, validated
//! across fields before the port is bound. Known chains are completed from embedded data. A component receives only its
//! own section.

mod access;
mod agents;
mod chains;
mod http;
mod identity;
mod known;
mod load;
mod models;
mod names;
mod outbound;
mod prices;
mod promotion;
mod reputation;
mod scoring;
mod telemetry;
mod validate;
mod written;
mod x402;

use std::net::SocketAddr;

use serde::Deserialize;

pub use assay_store::config::{Backend, Store};

pub use access::{Access, KeyConfig};
pub use agents::Agents;
pub use chains::{
    ChainConfig, Discovery, ExplorerLimits, MarketConfig, NativeConfig, Reading, RpcLimits, Slugs, TokenConfig,
};
pub use http::{Http, Network};
pub use identity::{Data, Identity, Lookup, SourceConfig};
pub use known::chain_names;
pub use load::{ConfigError, DEFAULTS, load};
pub use models::Models;
pub use names::{Names, RegistryConfig};
pub use outbound::Outbound;
pub use prices::{PriceApi, Prices};
pub use promotion::Promotion;
pub use reputation::{Ipfs, Pinning, Reputation};
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
