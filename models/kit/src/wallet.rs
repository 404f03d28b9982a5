//! One wallet of a features file: its features, and beside them who it is and what became of it.

use serde::{Deserialize, Serialize};

use crate::v2;

/// A line of a features file. The host reads and writes the same form; see `assay features export`.
///
/// Its features are those of `wit/v1`, or of `wit/v2` as [`v2::Wallet`](crate::v2::Wallet). Both read every line: what
/// v1 does not have is left out, and what a line does not have is unread.
#[derive(Debug, Clone, PartialEq)]
pub struct Wallet<F = crate::Features> {
    /// Whose features they are, for people. No model sees it.
    pub id: Option<String>,
    /// True where the wallet went bad afterwards. No model sees it.
    pub outcome: Option<bool>,
    pub features: F,
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
    chains: Vec<v2::ChainFeatures>,
    #[serde(default)]
    markets: Vec<v2::MarketFeatures>,
    #[serde(default)]
    holdings: Vec<v2::Holding>,
    #[serde(default)]
    identity: Vec<v2::Attestation>,
}

impl<F: Clone + From<v2::Features> + Into<v2::Features>> Wallet<F> {
    /// # Errors
    /// What is wrong with the line, and at which column.
    pub fn read(line: &str) -> Result<Self, String> {
        let Line { id, outcome, as_of, chains, markets, holdings, identity } =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        Ok(Self { id, outcome, features: v2::Features { as_of, chains, markets, holdings, identity }.into() })
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
        let features: v2::Features = features.into();
        if figures(&features).any(|figure| !figure.is_finite()) {
            return Err("a figure of it is infinite or not a number".into());
        }
        let v2::Features { as_of, chains, markets, holdings, identity } = features;
        let line = Line { id, outcome, as_of, chains, markets, holdings, identity };
        serde_json::to_string(&line).map_err(|error| error.to_string())
    }
}

/// Every figure that is no whole number.
fn figures(features: &v2::Features) -> impl Iterator<Item = f64> + '_ {
    let chains = features.chains.iter().flat_map(|chain| [chain.assets_usd, chain.supplied_usd, chain.borrowed_usd]);
    let holdings = features.holdings.iter().map(|holding| holding.usd);
    let scores = features.identity.iter().filter_map(|one| one.score);
    chains.chain(features.markets.iter().flat_map(of_market)).chain(holdings).chain(scores)
}

fn of_market(market: &v2::MarketFeatures) -> impl Iterator<Item = f64> + '_ {
    let v2::Dollars { supply, withdraw, borrow, repay, liquidation } = market.dollars;
    let dollars = [supply, withdraw, borrow, repay, liquidation].into_iter().flatten();
    let events = market.events.iter().filter_map(|event| event.usd);
    let position = market.position.iter().flat_map(|position| {
        let exposures = position.collateral.iter().chain(&position.debt).map(|exposure| exposure.usd);
        let shares = [position.liquidation_threshold, position.health_factor, position.utilisation];
        exposures.chain(shares.into_iter().flatten())
    });
    [market.supplied_usd, market.borrowed_usd].into_iter().chain(dollars).chain(events).chain(position)
}
