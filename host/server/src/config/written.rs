//! `[[chains]]` as an operator wrote it, completed key by key from what is known of the chain. What is written wins; a
//! list that is written stands in place of the known one.

use serde::{Deserialize, Deserializer, de::Error};

use super::known::{self, Known};
use assay_chain::config::{ChainConfig, NativeConfig, Slugs, TokenConfig, day};
use assay_domain::Secret;
use assay_domain::{Address, ChainId};
use assay_lending::config::MarketConfig;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: ChainId,
    name: Option<String>,
    rpc: Option<Vec<Secret>>,
    explorer: Option<Secret>,
    finality: Option<u64>,
    multicall: Option<Contract>,
    sequencer: Option<Contract>,
    native: Option<WrittenNative>,
    tokens: Option<Vec<TokenConfig>>,
    markets: Option<Vec<MarketConfig>>,
    slugs: Option<Slugs>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNative {
    symbol: Option<String>,
    feed: Option<Address>,
    heartbeat: Option<u64>,
    wrapped: Option<Address>,
}

/// An address, or `"none"` where the known one is not to be used.
struct Contract(Option<Address>);

impl<'de> Deserialize<'de> for Contract {
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

/// Which keys were taken from what is known, and which are nowhere.
#[derive(Default)]
struct Keys {
    shipped: Vec<&'static str>,
    missing: Vec<&'static str>,
}

impl Keys {
    fn either<T>(&mut self, key: &'static str, written: Option<T>, known: Option<T>) -> Option<T> {
        if written.is_none() && known.is_some() {
            self.shipped.push(key);
        }
        written.or(known)
    }

    fn need<T>(&mut self, key: &'static str, written: Option<T>, known: Option<T>) -> Option<T> {
        let value = self.either(key, written, known);
        if value.is_none() {
            self.missing.push(key);
        }
        value
    }
}

/// All chains, completed.
///
/// # Errors
/// Names every chain with keys that are neither written nor known.
pub(super) fn chains<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ChainConfig>, D::Error> {
    let written = Vec::<Written>::deserialize(deserializer)?;
    let known = known::all().map_err(D::Error::custom)?;
    let (mut chains, mut problems) = (Vec::with_capacity(written.len()), Vec::new());
    for (i, written) in written.into_iter().enumerate() {
        match written.completed(&known) {
            Ok(chain) => chains.push(chain),
            Err(problem) => problems.push(format!("chains[{i}] {problem}")),
        }
    }
    if problems.is_empty() { Ok(chains) } else { Err(D::Error::custom(problems.join("\n  "))) }
}

impl Written {
    fn completed(self, all: &[Known]) -> Result<ChainConfig, String> {
        let known = all.iter().find(|known| known.id == self.id).cloned();
        let (multicall, sequencer) = known.as_ref().map(|known| (known.multicall, known.sequencer)).unwrap_or_default();
        let (name, finality, native, tokens, markets, slugs) = match known {
            Some(known) => (
                Some(known.name),
                Some(known.finality),
                Some(known.native),
                Some(known.tokens),
                Some(known.markets),
                Some(known.slugs),
            ),
            None => Default::default(),
        };
        let mut keys = Keys::default();
        let name = keys.need("name", self.name, name);
        let rpc = keys.need("rpc", self.rpc, None);
        let finality = keys.need("finality", self.finality, finality);
        let shipped = |known: Option<Address>| known.map(|known| Contract(Some(known)));
        let multicall = keys.either("multicall", self.multicall, shipped(multicall)).and_then(|written| written.0);
        let sequencer = keys.either("sequencer", self.sequencer, shipped(sequencer)).and_then(|written| written.0);
        let native = match (self.native, native) {
            (None, native) => keys.need("native", None, native),
            (Some(written), known) => written.completed(known, &mut keys),
        };
        let tokens = keys.either("tokens", self.tokens, tokens).unwrap_or_default();
        let markets = keys.either("markets", self.markets, markets).unwrap_or_default();
        let slugs = keys.either("slugs", self.slugs, slugs).unwrap_or_default();
        let (Some(name), Some(rpc), Some(finality), Some(native)) = (name, rpc, finality, native) else {
            return Err(missing(self.id, all, &keys.missing));
        };
        let (id, explorer, shipped) = (self.id, self.explorer, keys.shipped);
        Ok(ChainConfig {
            id,
            name,
            rpc,
            explorer,
            finality,
            multicall,
            sequencer,
            native,
            tokens,
            markets,
            slugs,
            shipped,
        })
    }
}

impl WrittenNative {
    /// A currency that is named is described in full: another one's feed must not price it.
    fn completed(self, known: Option<NativeConfig>, keys: &mut Keys) -> Option<NativeConfig> {
        let heartbeat = self.heartbeat.unwrap_or_else(day);
        if let Some(symbol) = self.symbol {
            return Some(NativeConfig { symbol, feed: self.feed, heartbeat, wrapped: self.wrapped });
        }
        let Some(known) = known else {
            keys.missing.push("native.symbol");
            return None;
        };
        // The known heartbeat is that of the known feed.
        let heartbeat = if self.feed.is_some() || self.heartbeat.is_some() { heartbeat } else { known.heartbeat };
        let symbol = keys.need("native.symbol", None, Some(known.symbol))?;
        let feed = keys.either("native.feed", self.feed, known.feed);
        let wrapped = keys.either("native.wrapped", self.wrapped, known.wrapped);
        Some(NativeConfig { symbol, feed, heartbeat, wrapped })
    }
}

fn missing(id: ChainId, all: &[Known], keys: &[&str]) -> String {
    let keys = keys.join(", ");
    if all.iter().any(|known| known.id == id) {
        return format!("(id {id}) lacks {keys}");
    }
    let ids = all.iter().map(|known| known.id.to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "(id {id}) lacks {keys}: of the chains {ids} everything but rpc is known; any other needs name, rpc, finality and native.symbol"
    )
}
