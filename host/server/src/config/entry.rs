//! An entry of `[[chains]]` in the operator's file, completed key by key from the shipped data of the chain. A value or
//! list in the file replaces the shipped one.

use std::time::Duration;

use assay_chain::{
    config::{ChainConfig, NativeConfig, Slugs, TokenConfig, day},
    known::{self, Known},
};
use assay_domain::{Address, ChainId, Secret, settings};
use assay_lending::config::MarketConfig;
use serde::{Deserialize, Deserializer, de::Error};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainEntry {
    id: ChainId,
    name: Option<String>,
    rpc: Option<Vec<Secret>>,
    explorer: Option<Secret>,
    finality: Option<u64>,
    #[serde(default, deserialize_with = "settings::seconds")]
    max_head_age: Option<Duration>,
    genesis_accounts: Option<bool>,
    multicall: Option<ContractEntry>,
    sequencer: Option<ContractEntry>,
    native: Option<NativeEntry>,
    tokens: Option<Vec<TokenConfig>>,
    pair_factories: Option<Vec<Address>>,
    markets: Option<Vec<MarketConfig>>,
    slugs: Option<Slugs>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NativeEntry {
    symbol: Option<String>,
    name: Option<String>,
    feed: Option<Address>,
    #[serde(default, deserialize_with = "settings::seconds")]
    heartbeat: Option<Duration>,
    wrapped: Option<Address>,
    mirrors: Option<Vec<Address>>,
}

/// An address, or `"none"` if the shipped one must not be used.
struct ContractEntry(Option<Address>);

impl<'de> Deserialize<'de> for ContractEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "none" {
            return Ok(Self(None));
        }
        let address =
            text.parse().map_err(|_| D::Error::custom(format!("{text:?} is neither an address nor \"none\"")))?;
        Ok(Self(Some(address)))
    }
}

/// The keys whose values come from the shipped data, and the required keys without a value.
#[derive(Default)]
struct Keys {
    shipped: Vec<&'static str>,
    missing: Vec<&'static str>,
}

impl Keys {
    fn optional<T>(&mut self, key: &'static str, own: Option<T>, shipped: Option<T>) -> Option<T> {
        if own.is_none() && shipped.is_some() {
            self.shipped.push(key);
        }
        own.or(shipped)
    }

    fn needed<T>(&mut self, key: &'static str, own: Option<T>, shipped: Option<T>) -> Option<T> {
        let value = self.optional(key, own, shipped);
        if value.is_none() {
            self.missing.push(key);
        }
        value
    }

    fn contract(&mut self, key: &'static str, own: Option<ContractEntry>, shipped: Option<Address>) -> Option<Address> {
        self.optional(key, own.map(|own| own.0), shipped.map(Some)).flatten()
    }
}

/// All chains, completed.
///
/// # Errors
/// Names every chain that lacks a value for a required key.
pub(super) fn chains<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ChainConfig>, D::Error> {
    let entries = Vec::<ChainEntry>::deserialize(deserializer)?;
    let known = known::all().map_err(D::Error::custom)?;
    let (mut chains, mut problems) = (Vec::with_capacity(entries.len()), Vec::new());
    for (i, entry) in entries.into_iter().enumerate() {
        match entry.completed(&known) {
            Ok(chain) => chains.push(chain),
            Err(problem) => problems.push(format!("chains[{i}] {problem}")),
        }
    }
    if problems.is_empty() { Ok(chains) } else { Err(D::Error::custom(problems.join("\n  "))) }
}

impl ChainEntry {
    fn completed(self, all: &[Known]) -> Result<ChainConfig, String> {
        let known = all.iter().find(|known| known.id == self.id);
        let mut keys = Keys::default();
        let name = keys.needed("name", self.name, known.map(|known| known.name.clone()));
        let rpc = keys.needed("rpc", self.rpc, None);
        let finality = keys.needed("finality", self.finality, known.map(|known| known.finality));
        let max_head_age = keys.optional("max_head_age", self.max_head_age, known.map(|known| known.max_head_age));
        let genesis_accounts = known.and_then(|known| known.genesis_accounts);
        let genesis_accounts = keys.optional("genesis_accounts", self.genesis_accounts, genesis_accounts);
        let multicall = keys.contract("multicall", self.multicall, known.and_then(|known| known.multicall));
        let sequencer = keys.contract("sequencer", self.sequencer, known.and_then(|known| known.sequencer));
        let native = match (self.native, known.map(|known| known.native.clone())) {
            (None, shipped) => keys.needed("native", None, shipped),
            (Some(entry), shipped) => entry.completed(shipped, &mut keys),
        };
        let tokens = keys.optional("tokens", self.tokens, known.map(|known| known.tokens.clone()));
        let pair_factories =
            keys.optional("pair_factories", self.pair_factories, known.map(|known| known.pair_factories.clone()));
        let markets = keys.optional("markets", self.markets, known.map(|known| known.markets.clone()));
        let slugs = keys.optional("slugs", self.slugs, known.map(|known| known.slugs.clone()));
        let (Some(name), Some(rpc), Some(finality), Some(native)) = (name, rpc, finality, native) else {
            return Err(missing(self.id, all, &keys.missing));
        };
        Ok(ChainConfig {
            id: self.id,
            name,
            rpc,
            explorer: self.explorer,
            finality,
            max_head_age: max_head_age.filter(|age| !age.is_zero()),
            genesis_accounts: genesis_accounts.unwrap_or(false),
            multicall,
            sequencer,
            native,
            tokens: tokens.unwrap_or_default(),
            pair_factories: pair_factories.unwrap_or_default(),
            markets: markets.unwrap_or_default(),
            slugs: slugs.unwrap_or_default(),
            shipped: keys.shipped,
        })
    }
}

impl NativeEntry {
    /// An entry with a symbol takes no price from the shipped data: the feed of another currency must not price it.
    /// The mirrors are the chain's, whatever its currency is called.
    fn completed(self, shipped: Option<NativeConfig>, keys: &mut Keys) -> Option<NativeConfig> {
        let heartbeat = self.heartbeat.unwrap_or_else(day);
        if let Some(symbol) = self.symbol {
            let mirrors = self.mirrors.or(shipped.map(|shipped| shipped.mirrors)).unwrap_or_default();
            let Self { name, feed, wrapped, .. } = self;
            return Some(NativeConfig { symbol, name, feed, heartbeat, wrapped, mirrors });
        }
        let Some(shipped) = shipped else {
            keys.missing.push("native.symbol");
            return None;
        };
        // The shipped heartbeat belongs to the shipped feed.
        let heartbeat = if self.feed.is_some() || self.heartbeat.is_some() { heartbeat } else { shipped.heartbeat };
        let symbol = keys.needed("native.symbol", None, Some(shipped.symbol))?;
        let feed = keys.optional("native.feed", self.feed, shipped.feed);
        let wrapped = keys.optional("native.wrapped", self.wrapped, shipped.wrapped);
        let mirrors = self.mirrors.unwrap_or(shipped.mirrors);
        let name = self.name.or(shipped.name);
        Some(NativeConfig { symbol, name, feed, heartbeat, wrapped, mirrors })
    }
}

fn missing(id: ChainId, all: &[Known], keys: &[&str]) -> String {
    let keys = keys.join(", ");
    if all.iter().any(|known| known.id == id) {
        return format!("(id {id}) lacks {keys}");
    }
    let ids = all.iter().map(|known| known.id.to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "(id {id}) lacks {keys}: of the chains {ids} everything but rpc is known; any other needs name, rpc, finality \
         and native.symbol"
    )
}
