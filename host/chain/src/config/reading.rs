//! `[reading]`: how chains and explorers are read, the same for every chain.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use assay_domain::{
    Address, ChainId, Protocol,
    settings::{self, Problems},
};
use assay_evm::config::{LogLimits, RpcLimits};
use assay_index::config::IndexMode;
use serde::Deserialize;

/// Limits of reading, and where token discovery looks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    pub rpc: RpcLimits,
    pub explorer: ExplorerLimits,
    /// Where the tokens of an address are discovered.
    pub discovery: Discovery,
    /// What first reads save.
    pub spare: Spare,
    /// Largest range of one `eth_getLogs`, in blocks, after an endpoint has refused a range without naming its limit.
    /// The first query asks for the whole history; later ranges adapt to the limits of each endpoint.
    pub log_range: u64,
    /// Log ranges that are read at the same time, for one address on one chain.
    pub log_concurrency: usize,
    /// Lending protocols whose history is not read. A report names those of its chains, so that a missing record does
    /// not count as a clean one, and adds the supported protocols that have no market in the configuration.
    pub not_covered: Vec<NotCovered>,
    /// Whether the markets are read once for all wallets.
    pub index: IndexMode,
    /// Folder of what was read so; the server's configuration sets it beside the embedded store if it is absent.
    #[serde(default)]
    pub index_path: PathBuf,
    /// Requests that are started a second to read the markets of one chain so; 0 for no limit.
    pub index_per_second: u32,
}

impl Reading {
    pub fn logs(&self) -> LogLimits {
        LogLimits { range: self.log_range, concurrency: self.log_concurrency }
    }

    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.section("rpc", self.rpc.problems());
        found.section("explorer", self.explorer.problems());
        found.number("log_range", self.log_range, 1..);
        found.number("log_concurrency", self.log_concurrency, 1..=1_000);
        found
    }
}

/// The settings of `[scoring]` that concern reading.
#[derive(Debug, Clone, Copy)]
pub struct Snapshots {
    /// Lifetime of a complete snapshot.
    pub complete: Duration,
    /// Lifetime of an incomplete snapshot.
    pub incomplete: Duration,
    /// Largest number of snapshots in memory.
    pub entries: u64,
    /// Longest wait for a first read; after it, the answer is `pending`.
    pub budget: Duration,
    /// The moment in the past, in Unix seconds, before which the chains are read; `None` for their heads.
    pub past: Option<u64>,
}

/// A lending protocol whose history is not read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum NotCovered {
    /// On every chain.
    Everywhere(String),
    /// On these chains only, and not on one where a market of `unless`, or `unless_market`, is read.
    On {
        name: String,
        chains: BTreeSet<ChainId>,
        #[serde(default)]
        unless: Option<Protocol>,
        #[serde(default)]
        unless_market: Option<Address>,
    },
}

/// The names of the protocols and the addresses of the markets that are read on each chain.
pub type ReadOn = BTreeMap<ChainId, BTreeSet<String>>;

impl NotCovered {
    /// Its name, if it exists on one of `chains` and is not read there.
    pub fn on(&self, chains: &ReadOn) -> Option<&str> {
        match self {
            Self::Everywhere(name) => Some(name),
            Self::On { name, chains: own, unless, unless_market } => {
                let is_read = |read: &BTreeSet<String>| {
                    unless.is_some_and(|protocol| read.contains(protocol.as_str()))
                        || unless_market.is_some_and(|market| read.contains(&market.to_string()))
                };
                chains.iter().any(|(chain, read)| own.contains(chain) && !is_read(read)).then_some(name)
            }
        }
    }
}

/// What the first read of a wallet saves: it searches its first and last transaction in old state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spare {
    /// Calls and round trips: the transactions are searched to the day, and to the block for a report.
    Both,
    /// Round trips, at any number of calls.
    Rounds,
    /// Calls, at any number of round trips.
    Calls,
}

/// Where the tokens that an address sent or received are discovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Discovery {
    /// In explorers only.
    Explorer,
    /// In explorers, and for a chain without an explorer in the logs of its node.
    Logs,
}

/// Limits of calls to one explorer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplorerLimits {
    /// Calls started per second at one host, for all its chains together; 0 for no limit.
    pub per_second: u32,
    /// Timeout of one call.
    #[serde(rename = "timeout_ms", deserialize_with = "settings::millis")]
    pub timeout: Duration,
}

impl ExplorerLimits {
    fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.millis("timeout_ms", self.timeout, 1..);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lender_is_named_on_its_chains_only() {
        let not_covered: Vec<NotCovered> = serde_json::from_str(
            r#"["Anywhere", { "name": "Liquity", "chains": [1] },
                { "name": "Morpho", "chains": [1, 8453], "unless": "morpho_blue" },
                { "name": "Spark", "chains": [1], "unless_market": "0xC13e21B648A5Ee794902342038FF3aDAB66BE987" }]"#,
        )
        .unwrap();
        let on = |chains: &[(ChainId, &str)]| {
            let chains = chains.iter().map(|(chain, read)| (*chain, [(*read).to_owned()].into())).collect();
            not_covered.iter().filter_map(|lender| lender.on(&chains).map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(on(&[(1, "morpho_blue"), (10, "")]), ["Anywhere", "Liquity", "Spark"]);
        assert_eq!(on(&[(1, "morpho_blue"), (8453, "lenderA_v3")]), ["Anywhere", "Liquity", "Morpho", "Spark"]);
        let spark = "0xC13e21B648A5Ee794902342038FF3aDAB66BE987";
        assert_eq!(on(&[(1, spark)]), ["Anywhere", "Liquity", "Morpho"]);
        assert_eq!(on(&[(10, ""), (8453, "morpho_blue")]), ["Anywhere"]);
    }
}
