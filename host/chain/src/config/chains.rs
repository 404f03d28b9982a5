//! `[[chains]]`: what is read, and from where.

use serde::Deserialize;

use assay_domain::{Address, AssetClass, ChainId, Secret};
use assay_evm::config::{Endpoints, LogLimits, RpcLimits};
use assay_lending::config::MarketConfig;

/// One chain, completed from what is known of it.
#[derive(Debug, Clone)]
pub struct ChainConfig {
    pub id: ChainId,
    pub name: String,
    /// JSON-RPC endpoints, best first; the next is asked when one fails.
    pub rpc: Vec<Secret>,
    /// Etherscan-v2 or Blockscout compatible API, with its key in the query. `chainid` or `chain_id` is added where it
    /// belongs.
    pub explorer: Option<Secret>,
    /// Blocks below the head that no reorganisation reaches any more.
    pub finality: u64,
    /// Multicall3 contract; calls are batched as JSON-RPC where absent.
    pub multicall: Option<Address>,
    /// Uptime feed of a rollup's sequencer; without one, the chain's feeds are believed at any time.
    pub sequencer: Option<Address>,
    pub native: NativeConfig,
    pub tokens: Vec<TokenConfig>,
    pub markets: Vec<MarketConfig>,
    pub slugs: Slugs,
    /// Keys that the operator left to the shipped data.
    pub shipped: Vec<&'static str>,
}

impl ChainConfig {
    /// Where the chain is read.
    pub fn endpoints(&self) -> Endpoints {
        Endpoints { chain: self.id, rpc: self.rpc.clone(), multicall: self.multicall }
    }
}

/// The chain's own currency. It has 18 decimals on every supported chain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeConfig {
    pub symbol: String,
    /// Chainlink feed against the dollar.
    pub feed: Option<Address>,
    /// Longest time between two rounds of the feed, in seconds; its price is taken until a fifth more has passed.
    #[serde(default = "day")]
    pub heartbeat: u64,
    /// Wrapped form, by which lending oracles and external APIs price it where the feed does not.
    pub wrapped: Option<Address>,
}

/// An ERC-20 whose balance is always looked up.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    pub address: Address,
    pub symbol: String,
    pub decimals: u8,
    /// Chainlink feed against the dollar; the lending oracle is asked where absent.
    pub feed: Option<Address>,
    /// Longest time between two rounds of the feed, in seconds; its price is taken until a fifth more has passed.
    #[serde(default = "day")]
    pub heartbeat: u64,
    #[serde(default = "token")]
    pub class: AssetClass,
}

/// What external price APIs call the chain; one without a name is not asked about it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slugs {
    pub defillama: Option<String>,
    pub coingecko: Option<String>,
}

/// `[reading]`: how endpoints are asked, the same for every chain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    pub rpc: RpcLimits,
    pub explorer: ExplorerLimits,
    /// Who tells which tokens an address ever had.
    pub discovery: Discovery,
    /// Widest span of one `eth_getLogs` after an endpoint has refused a range without naming its limit. A whole history
    /// is asked for at once first, and spans are adapted to what each endpoint can answer.
    pub log_range: u64,
    /// Log ranges of one address read at once on one chain.
    pub log_concurrency: usize,
    /// Lending protocols whose history is not read, so that a missing record is not taken for a clean one. Those that
    /// could be and have no market in the configuration are added to each report.
    pub not_covered: Vec<String>,
}

impl Reading {
    /// How logs are asked for.
    pub fn logs(&self) -> LogLimits {
        LogLimits { range: self.log_range, concurrency: self.log_concurrency }
    }
}

/// Who tells which tokens moved from and to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Discovery {
    /// Explorers alone.
    Explorer,
    /// Explorers, and where a chain has none the logs of its node.
    Logs,
}

/// Bounds on calls to one explorer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplorerLimits {
    /// Calls started per second at one host, over all chains that are asked there; 0 for no bound.
    pub per_second: u32,
    /// Longest time one call may take, in milliseconds.
    pub timeout_ms: u64,
}

/// The longest heartbeat that feeds of currencies commonly have.
pub fn day() -> u64 {
    24 * 3600
}

fn token() -> AssetClass {
    AssetClass::Token
}
