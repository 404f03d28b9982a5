//! `[[chains]]`: one chain each, with its endpoints, tokens and markets.

use std::{collections::BTreeSet, time::Duration};

use assay_domain::{
    Address, AssetClass, ChainId, ExposureClass, Secret,
    settings::{self, Problems, is_web},
};
use assay_evm::config::Endpoints;
use assay_lending::config::MarketConfig;
use serde::Deserialize;

/// One chain. Keys that the operator leaves out come from the shipped data of the chain.
#[derive(Debug, Clone)]
pub struct ChainConfig {
    pub id: ChainId,
    pub name: String,
    /// JSON-RPC endpoints, best first; when one fails, the next is used.
    pub rpc: Vec<Secret>,
    /// URL of an Etherscan-v2 or Blockscout compatible API, with its key in the query. The reader adds `chainid` or
    /// `chain_id`.
    pub explorer: Option<Secret>,
    /// Depth below the head, in blocks, at which a block is final.
    pub finality: u64,
    /// Age of the newest block by the machine's clock above which answers are provisional; `None` for a chain whose
    /// blocks are not compared with the clock.
    pub max_head_age: Option<Duration>,
    /// Whether the chain began with the accounts of another one, so that a nonce after block 0 can be above 0.
    pub genesis_accounts: bool,
    /// Multicall3 contract; without it, calls are batched as JSON-RPC.
    pub multicall: Option<Address>,
    /// Uptime feed of a rollup's sequencer; without it, price feeds are used at any time.
    pub sequencer: Option<Address>,
    pub native: NativeConfig,
    pub tokens: Vec<TokenConfig>,
    /// Factories of pools of two tokens (Uniswap v2 and its copies). A share of any other pool has no price.
    pub pair_factories: Vec<Address>,
    pub markets: Vec<MarketConfig>,
    pub slugs: Slugs,
    /// Keys whose values come from the shipped data.
    pub shipped: Vec<&'static str>,
}

impl ChainConfig {
    pub fn endpoints(&self) -> Endpoints {
        let max_head_age = self.max_head_age;
        Endpoints { chain: self.id, rpc: self.rpc.clone(), multicall: self.multicall, max_head_age }
    }

    /// What the value of `token` follows, as far as the configuration says.
    pub fn exposure(&self, token: Address) -> ExposureClass {
        let Some(known) = self.tokens.iter().find(|known| known.address == token) else {
            return if self.native.wrapped == Some(token) { ExposureClass::Native } else { ExposureClass::Other };
        };
        known.exposure.unwrap_or(match known.class {
            AssetClass::Stablecoin => ExposureClass::Stablecoin,
            _ if self.native.wrapped == Some(token) => ExposureClass::Native,
            _ => ExposureClass::Other,
        })
    }

    /// The symbol of `token`, or of the native currency for `None`; `None` if the token is not configured.
    pub fn symbol(&self, token: Option<Address>) -> Option<String> {
        let Some(token) = token else { return Some(self.native.symbol.clone()) };
        self.tokens.iter().find(|known| known.address == token).map(|known| known.symbol.clone())
    }

    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.add_if(self.id == 0, "id", "0 is no chain id");
        found.add_if(self.rpc.is_empty(), "rpc", "empty; at least one JSON-RPC URL is needed");
        for (i, rpc) in self.rpc.iter().enumerate() {
            found.add_if(!is_web(rpc), format!("rpc[{i}]"), "not an http or https URL");
        }
        let bad_explorer = self.explorer.as_ref().is_some_and(|explorer| !is_web(explorer));
        found.add_if(bad_explorer, "explorer", "not an http or https URL");
        let allowed = self.max_head_age.is_none_or(|age| (30..=86_400).contains(&age.as_secs()));
        found.add_if(!allowed, "max_head_age", "must be 30 to 86400 seconds, a day, or 0 to compare with no clock");
        found.section("native", heartbeat_problems(self.native.heartbeat));
        for (i, token) in self.tokens.iter().enumerate() {
            found.section(&format!("tokens[{i}]"), heartbeat_problems(token.heartbeat));
        }
        let mut markets = BTreeSet::new();
        for (i, market) in self.markets.iter().enumerate() {
            let twice = !markets.insert((market.protocol, market.address));
            found.add_if(twice, format!("markets[{i}].address"), "this market is listed twice");
            found.section(&format!("markets[{i}]"), market.problems());
        }
        found
    }
}

/// The chain's own currency. It has 18 decimals on every supported chain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeConfig {
    pub symbol: String,
    /// Its name in reports; the symbol if absent.
    pub name: Option<String>,
    /// Chainlink feed against the dollar.
    pub feed: Option<Address>,
    /// Longest time between two rounds of the feed. A price is used until 1.2 heartbeats have passed.
    #[serde(default = "day", deserialize_with = "settings::seconds")]
    pub heartbeat: Duration,
    /// Wrapped form: lending oracles and external APIs price the currency by it if the feed has no price.
    pub wrapped: Option<Address>,
    /// Contracts that show balances of the currency itself as those of a token. They are no holdings.
    #[serde(default)]
    pub mirrors: Vec<Address>,
}

/// An ERC-20 token whose balance is read for every address.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    pub address: Address,
    pub symbol: String,
    /// Its name in reports; the symbol if absent.
    pub name: Option<String>,
    pub decimals: u8,
    /// Chainlink feed against the dollar; without it, the price comes from a lending oracle.
    pub feed: Option<Address>,
    /// Longest time between two rounds of the feed. A price is used until 1.2 heartbeats have passed.
    #[serde(default = "day", deserialize_with = "settings::seconds")]
    pub heartbeat: Duration,
    #[serde(default = "token")]
    pub class: AssetClass,
    /// What its value follows; by its class if absent.
    pub exposure: Option<ExposureClass>,
}

/// The chain's name at external price APIs; an API without a name is not asked for prices of this chain.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slugs {
    pub defillama: Option<String>,
    pub coingecko: Option<String>,
}

/// Heartbeat of a feed that names none: the longest that feeds of currencies commonly have.
pub fn day() -> Duration {
    Duration::from_secs(24 * 3_600)
}

fn heartbeat_problems(heartbeat: Duration) -> Problems {
    let mut found = Problems::default();
    let bounds = 1..=7 * 24 * 3_600;
    found.add_if(!bounds.contains(&heartbeat.as_secs()), "heartbeat", "must be 1 to 604800 seconds, a week");
    found
}

fn token() -> AssetClass {
    AssetClass::Token
}
