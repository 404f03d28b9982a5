//! The snapshot of one chain, made from the answers. Asks nothing.

use super::discover::Discovered;
use crate::{config::ChainConfig, holdings::Account, prices::Quotes};
use assay_domain::{Activity, ChainSnapshot, Coverage, PoolHistory};
use assay_evm::client::Block;
use assay_lending::{AllSums, Market, State, cross_check, failed_pool};

/// Everything that a snapshot is made from.
pub(super) struct Parts {
    pub account: Account,
    pub quotes: Quotes,
    pub activity: Activity,
    pub activity_complete: bool,
    pub pools: Vec<PoolHistory>,
    pub sums: AllSums,
    pub discovered: Option<Discovered>,
}

/// The snapshot of a chain that could not be read.
pub(super) fn failed(config: &ChainConfig) -> ChainSnapshot {
    let pools = config.markets.iter().map(|market| failed_pool(config.id, market)).collect();
    ChainSnapshot {
        chain_id: config.id,
        chain_name: config.name.clone(),
        coverage: Coverage::Failed,
        activity: Activity::default(),
        tokens: Vec::new(),
        nfts: Vec::new(),
        positions: Vec::new(),
        pools,
    }
}

/// The snapshot of a chain that answers, but not before the deadline.
pub(super) fn pending(config: &ChainConfig) -> ChainSnapshot {
    let mut snapshot = failed(config);
    snapshot.coverage = Coverage::Pending;
    snapshot.pools.iter_mut().for_each(|pool| pool.coverage = Coverage::Pending);
    snapshot
}

/// The snapshot without the state of the account, which could not be read, or not before the deadline (`in_time`).
pub(super) fn without_state(config: &ChainConfig, mut pools: Vec<PoolHistory>, in_time: bool) -> ChainSnapshot {
    if in_time {
        return ChainSnapshot { pools, ..failed(config) };
    }
    // The account's positions could not be compared with the history yet.
    pools
        .iter_mut()
        .filter(|pool| pool.coverage == Coverage::Complete)
        .for_each(|pool| pool.coverage = Coverage::Partial);
    ChainSnapshot { pools, coverage: Coverage::Pending, ..failed(config) }
}

/// The snapshot of `parts`, and the markets (by index) whose history contradicts the account's positions.
pub(super) fn snapshot(
    config: &ChainConfig,
    markets: &[Market],
    head: Block,
    parts: Parts,
) -> (ChainSnapshot, Vec<usize>) {
    let Parts { account, quotes, activity, activity_complete, mut pools, sums, discovered } = parts;
    let (positions, all_positions) = account.positions(config, markets, &quotes.prices);
    let balances = account.amounts();
    let state = State { positions: &positions, balances: &balances, ever_held: account.ever_held(), at: head.time };
    let doubted = cross_check(&mut pools, markets, &sums, &state);
    let mut tokens = account.holdings(config, &quotes.prices);
    // A held token that lost its price counts as nothing, and a price that is not trusted may value a position wrongly:
    // in both cases the snapshot is partial.
    let priced =
        !tokens.iter().any(|held| quotes.lacking.contains(&held.contract)) && (quotes.trusted || positions.is_empty());
    let complete = account.complete && all_positions && activity_complete && priced;
    let nfts = discovered.map(|discovered| {
        // Prices of feeds and oracles take precedence over those of external APIs.
        let prices = discovered.prices.into_iter().chain(quotes.prices).collect();
        tokens.extend(discovered.found.tokens(config, &prices));
        discovered.found.nfts
    });
    let snapshot = ChainSnapshot {
        coverage: if complete { Coverage::Complete } else { Coverage::Partial },
        activity,
        tokens,
        nfts: nfts.unwrap_or_default(),
        positions,
        pools,
        ..failed(config)
    };
    (snapshot, doubted)
}
