//! The capabilities of an endpoint: how far back it keeps state, and over how many blocks it answers logs.

use std::{fmt, str::FromStr};

use futures::future::join_all;
use serde_json::{Value, json};

use super::index::queries;
use crate::config::Config;
use assay_chain::config::ChainConfig;
use assay_domain::{Address, B256, ChainId, Protocol, Secret, U256};
use assay_evm::{
    client::{Block, Client, hex},
    config::Endpoints,
    endpoint,
    fault::Fault,
    logs::LogQuery,
    span::Span,
};

/// Depths below the head, in blocks, at which the state is requested, deepest first.
const DEPTHS: [u64; 5] = [10_000_000, 1_000_000, 100_000, 10_000, 100];
/// Ranges of logs that are tried in turn while the endpoint does not name its limit.
const RANGES: [u64; 9] = [1_000_000, 100_000, 50_000, 10_000, 5_000, 2_000, 1_000, 100, 10];

/// An endpoint that serves its chain.
#[derive(Debug, Clone)]
pub struct Survey {
    pub chain: ChainId,
    /// Host of the endpoint.
    pub host: String,
    /// Its newest block.
    pub head: u64,
    pub state: Depth,
    pub logs: LogRange,
    /// `None` if the endpoint answers no logs.
    pub queries: Option<LogQueries>,
}

/// The log queries that lending histories cost an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogQueries {
    /// For a wallet that is read for the first time, without an index.
    pub wallet: u64,
    /// For the index of all wallets.
    pub index: u64,
}

/// How far back an endpoint keeps state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Back to the first block of a market.
    All,
    /// At least this many blocks below the head.
    Blocks(u64),
    /// Not even 100 blocks.
    Recent,
    /// The endpoint answers with the current state, whatever the requested block.
    Ignored,
    /// The endpoint did not say.
    Unknown,
}

/// Over how many blocks an endpoint answers logs at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogRange {
    /// The whole history.
    Any,
    /// So many blocks; `named` if the endpoint states that limit in its refusal.
    Blocks {
        width: u64,
        named: bool,
    },
    Refused(Fault),
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, head, state, logs, .. } = self;
        write!(f, "{host}: head {head}, {state}, {logs}")
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("old state kept"),
            Self::Blocks(blocks) => write!(f, "state of the last {blocks} blocks kept"),
            Self::Recent => f.write_str("no old state kept"),
            Self::Ignored => f.write_str(
                "current state instead of old state, so first and last transactions stay unread; add another endpoint",
            ),
            Self::Unknown => f.write_str("depth of state unknown"),
        }
    }
}

impl fmt::Display for LogRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("logs of any range"),
            Self::Blocks { width, .. } => write!(f, "logs of {width} blocks at once"),
            Self::Refused(fault) => write!(f, "no logs: {fault}"),
        }
    }
}

/// The capabilities of each endpoint of `config`, in the order of the configuration.
///
/// # Errors
/// The host and the fault, for an endpoint that does not answer or serves another chain.
pub async fn survey(config: &Config) -> Vec<Result<Survey, String>> {
    let http = endpoint::http();
    let all = config.chains.iter().flat_map(|chain| chain.rpc.iter().map(move |rpc| (chain, rpc)));
    join_all(all.map(async |(chain, rpc): (&ChainConfig, &Secret)| {
        let endpoints = Endpoints { chain: chain.id, rpc: vec![rpc.clone()], multicall: None, max_head_age: None };
        let client = Client::new(&http, &endpoints, &config.reading.rpc);
        let host = client.endpoint().unwrap_or_default();
        match client.head().await {
            Ok(head) => Ok(of(chain, &client, host, head).await),
            Err(fault) => Err(format!("chain {}, endpoint {host}: {fault}", chain.id)),
        }
    }))
    .await
}

async fn of(chain: &ChainConfig, client: &Client, host: String, head: Block) -> Survey {
    let history = history(chain, head);
    let state = depth(client, history).await;
    let logs = log_range(chain, client, history).await;
    let range = match logs {
        LogRange::Any => Some(history.width()),
        LogRange::Blocks { width, .. } => Some(width),
        LogRange::Refused(_) => None,
    };
    let queries = range.map(|range| LogQueries {
        wallet: history.width().div_ceil(range.max(1)).saturating_mul(of_wallet(chain)),
        index: queries(chain, history.width(), range),
    });
    Survey { chain: chain.id, host, head: head.number, state, logs, queries }
}

/// The blocks since the first market, or all.
pub(super) fn history(chain: &ChainConfig, head: Block) -> Span {
    let first = chain.markets.iter().map(|market| market.from_block).min().filter(|first| *first <= head.number);
    Span { from: first.unwrap_or(1).min(head.number), to: head.number }
}

/// The log queries of a wallet for each range: one for each topic that can name it, over all markets together, and one
/// for the transfers of cTokens.
fn of_wallet(chain: &ChainConfig) -> u64 {
    let any = |protocols: &[Protocol]| chain.markets.iter().any(|market| protocols.contains(&market.protocol));
    // The first topic names the wallet in Comet, the first and the second in Fluid, the second and the third in Morpho
    // Blue, and all three in Aave, in the vaults of Maker and in Euler v2.
    let all = any(&[Protocol::LenderAV2, Protocol::LenderAV3, Protocol::MakerVaults, Protocol::EulerV2]);
    let first = all || any(&[Protocol::LenderBV3, Protocol::Fluid]);
    let second = first || any(&[Protocol::MorphoBlue]);
    let third = all || any(&[Protocol::MorphoBlue]);
    let topics = [first, second, third].map(u64::from).iter().sum::<u64>();
    topics + u64::from(any(&[Protocol::LenderBV2]))
}

async fn depth(client: &Client, history: Span) -> Depth {
    let below = |depth: u64| history.to.checked_sub(depth).filter(|block| *block > history.from);
    let deeper = DEPTHS.iter().filter_map(|depth| Some((Depth::Blocks(*depth), below(*depth)?)));
    let (depths, asks): (Vec<_>, Vec<_>) = [(Depth::All, history.from)]
        .into_iter()
        .chain(deeper)
        .map(|(depth, block)| (depth, ("eth_getBalance", json!([Address::ZERO, hex(block)]))))
        .unzip();
    let Ok(answers) = client.batch(asks).await else { return Depth::Unknown };
    let pruned = answers.iter().all(|answer| matches!(answer, Err(Fault::NoState)));
    let kept = depths.into_iter().zip(answers).find_map(|(depth, answer)| answer.ok().map(|_| depth));
    let old = match kept {
        Some(Depth::All) => Some(history.from),
        Some(Depth::Blocks(depth)) => below(depth),
        _ => None,
    };
    match old {
        Some(from) if ignores_blocks(client, Span { from, ..history }).await => Depth::Ignored,
        _ => kept.unwrap_or(if pruned { Depth::Recent } else { Depth::Unknown }),
    }
}

/// Whether the block number that a call sees at the first block of `span` is not below the one at the last.
pub(super) async fn ignores_blocks(client: &Client, span: Span) -> bool {
    // NUMBER PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN, run as creation code.
    let call = |block| ("eth_call", json!([{ "data": "0x4360005260206000f3" }, hex(block)]));
    let Ok(answers) = client.batch([call(span.from), call(span.to)].into()).await else { return false };
    let seen = |answer: Result<Value, Fault>| U256::from_str(answer.ok()?.as_str()?).ok();
    let mut seen = answers.into_iter().map(seen);
    matches!((seen.next().flatten(), seen.next().flatten()), (Some(old), Some(new)) if old >= new && span.width() > 1)
}

/// Asks for logs of one contract that match nothing: over the whole `history`, then over fewer blocks.
async fn log_range(chain: &ChainConfig, client: &Client, history: Span) -> LogRange {
    let contract = chain.markets.first().map_or(Address::ZERO, |market| market.address);
    let topics = [vec![B256::ZERO], Vec::new(), Vec::new(), Vec::new()];
    let query = LogQuery { addresses: vec![contract], topics };
    let (mut width, mut named) = (history.width(), false);
    loop {
        let from = history.to.saturating_sub(width.saturating_sub(1));
        let fault = match client.logs(&query, Span { from, to: history.to }).await {
            Ok(_) if width == history.width() => return LogRange::Any,
            Ok(_) => return LogRange::Blocks { width, named },
            Err(fault) => fault,
        };
        let limit = match &fault {
            Fault::TooWide { limit } => limit.filter(|limit| (1..width).contains(limit)),
            fault if fault.is_for_less() => None,
            _ => return LogRange::Refused(fault),
        };
        named = limit.is_some();
        let Some(narrower) = limit.or_else(|| RANGES.into_iter().find(|range| *range < width)) else {
            return LogRange::Refused(fault);
        };
        width = narrower;
    }
}
