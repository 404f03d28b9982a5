//! `[reading]`: how chains and explorers are read, the same for every chain.

use std::{path::PathBuf, time::Duration};

use assay_domain::settings::{self, Problems};
use assay_evm::config::{LogLimits, RpcLimits};
use serde::Deserialize;

/// Limits of reading, and where token discovery looks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    pub rpc: RpcLimits,
    pub explorer: ExplorerLimits,
    /// Where the tokens of an address are discovered.
    pub discovery: Discovery,
    /// Largest range of one `eth_getLogs`, in blocks, after an endpoint has refused a range without naming its limit. The
    /// first query asks for the whole history; later ranges adapt to the limits of each endpoint.
    pub log_range: u64,
    /// Log ranges that are read at the same time, for one address on one chain.
    pub log_concurrency: usize,
    /// The names of lending protocols whose history is not read. Every report names it, so that a missing record does not count as a clean one.
    /// Each report adds the supported protocols that have no market in the configuration.
    pub not_covered: Vec<String>,
    /// Whether the markets are read once for all wallets.
    pub index: IndexMode,
    /// Folder of what was read so; the server's configuration sets it beside the embedded store where it is absent.
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

/// When the markets of a chain are read for all wallets, so that a wallet's history needs few log queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexMode {
    /// Once an endpoint has refused a range, or a second wallet was asked for.
    Auto,
    /// From the start.
    On,
    Off,
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
