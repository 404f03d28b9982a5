//! One wallet of a features file: its features, and beside them who it is and what became of it.

use serde::{Deserialize, Serialize};

use crate::{Attestation, ChainFeatures, Features, Holding, MarketFeatures};

/// A line of a features file. The host reads and writes the same form; see `assay features export`.
#[derive(Debug, Clone, PartialEq)]
pub struct Wallet {
    /// Whose features they are, for people. No model sees it.
    pub id: Option<String>,
    /// True where the wallet went bad afterwards. No model sees it.
    pub outcome: Option<bool>,
    pub features: Features,
}

/// A field that is none of these is refused, so that a misspelt one does not count as absent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<bool>,
    as_of: u64,
    #[serde(default)]
    chains: Vec<ChainFeatures>,
    #[serde(default)]
    markets: Vec<MarketFeatures>,
    #[serde(default)]
    holdings: Vec<Holding>,
    #[serde(default)]
    identity: Vec<Attestation>,
}

impl Wallet {
    /// # Errors
    /// What is wrong with the line, and at which column.
    pub fn read(line: &str) -> Result<Self, String> {
        let Line { id, outcome, as_of, chains, markets, holdings, identity } =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        Ok(Self { id, outcome, features: Features { as_of, chains, markets, holdings, identity } })
    }

    /// All wallets of a features file, blank lines left out.
    ///
    /// # Errors
    /// What is wrong with the first bad line, and its number.
    pub fn read_all(text: &str) -> Result<Vec<Self>, String> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(at, line)| Self::read(line).map_err(|why| format!("line {}: {why}", at + 1))).collect()
    }

    /// The wallet as a line, without its end.
    ///
    /// # Errors
    /// A figure that is infinite or not a number has no form in JSON.
    pub fn write(&self) -> Result<String, String> {
        let Self { id, outcome, features } = self.clone();
        let Features { as_of, chains, markets, holdings, identity } = features;
        let money = chains.iter().flat_map(|chain| [chain.assets_usd, chain.supplied_usd, chain.borrowed_usd]);
        let money = money.chain(markets.iter().flat_map(|market| [market.supplied_usd, market.borrowed_usd]));
        let money = money.chain(holdings.iter().map(|holding| holding.usd));
        if money.chain(identity.iter().filter_map(|one| one.score)).any(|figure| !figure.is_finite()) {
            return Err("a figure of it is infinite or not a number".into());
        }
        let line = Line { id, outcome, as_of, chains, markets, holdings, identity };
        serde_json::to_string(&line).map_err(|error| error.to_string())
    }
}
