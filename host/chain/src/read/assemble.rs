//! The snapshot of one chain, made from the answers. Sends no request.

use super::{discover::Discovered, unread};
use crate::{config::ChainConfig, holdings::WalletAccount, prices::Quotes};
use assay_domain::{
    Activity, ChainId, ChainOrigin, ChainSnapshot, Coverage, Nft, Origin, PoolHistory, Position, ReadBlock,
    SourcedPart, TokenBalance, Unread,
};
use assay_evm::{client::Block, fault::Fault};
use assay_lending::{LendingRead, MarketResult, Valuation, failed_pool};

/// Everything that a snapshot is made from.
pub(super) struct SnapshotParts {
    pub account: WalletAccount,
    pub lending: LendingRead,
    pub quotes: Quotes,
    pub activity: Activity,
    pub activity_unread: Vec<Unread>,
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
        unread: vec![Unread::chain()],
        origin: ChainOrigin::default(),
    }
}

/// The snapshot of a chain that answers, but not before the deadline.
pub(super) fn pending(config: &ChainConfig) -> ChainSnapshot {
    let mut snapshot = ChainSnapshot { coverage: Coverage::Pending, unread: vec![unread::late()], ..failed(config) };
    snapshot.pools.iter_mut().for_each(|pool| pool.coverage = Coverage::Pending);
    snapshot
}

/// The snapshot without the state of the account, which could not be read because of `fault`, or not before the
/// deadline.
pub(super) fn without_state(config: &ChainConfig, mut pools: Vec<PoolHistory>, fault: Option<&Fault>) -> ChainSnapshot {
    if let Some(fault) = fault {
        return ChainSnapshot { pools, unread: vec![unread::failed(fault)], ..failed(config) };
    }
    // The account's positions could not be compared with the history yet.
    pools.iter_mut().for_each(PoolHistory::lower);
    ChainSnapshot { pools, coverage: Coverage::Pending, unread: vec![unread::late()], ..failed(config) }
}

/// The snapshot of `parts`, and what it shows of each market.
pub(super) fn snapshot(config: &ChainConfig, head: Block, parts: SnapshotParts) -> (ChainSnapshot, Vec<MarketResult>) {
    let SnapshotParts { account, lending, quotes, activity, activity_unread, discovered } = parts;
    let class_of = |token| config.exposure(token);
    let symbol_of = |token| config.symbol(token);
    let valuation = Valuation {
        prices: &quotes.prices,
        is_trusted: quotes.trusted,
        at: head.time,
        class_of: &class_of,
        symbol_of: &symbol_of,
    };
    let markets = lending.finish(&valuation);
    let positions: Vec<Position> = markets.iter().filter_map(|market| market.position.clone()).collect();
    let tokens = account.holdings(config, &quotes.prices);
    let mut unread = activity_unread;
    unread.extend(unread::silent(&account.silent));
    unread.extend(unread::prices(&quotes, &tokens));
    unread.extend(unread::positions(&markets));
    unread.extend(unread::untrusted(&quotes, &positions));
    unread.extend(unread::listed(discovered.as_ref()));
    let origin = origin(config.id, head, &quotes, discovered.as_ref());
    let (found, nfts) = discovered.map(|discovered| listed(config, &quotes, discovered)).unwrap_or_default();
    let snapshot = ChainSnapshot {
        coverage: unread::coverage(&unread),
        activity,
        tokens: tokens.into_iter().chain(found).collect(),
        nfts,
        positions,
        pools: markets.iter().map(|market| market.history.clone()).collect(),
        unread,
        origin,
        ..failed(config)
    };
    (snapshot, markets)
}

/// Adds the doubt that the block of `snapshot` is the newest one. Its histories count as partial.
pub(super) fn doubt(snapshot: &mut ChainSnapshot, doubt: Unread) {
    snapshot.unread.push(doubt);
    snapshot.coverage = snapshot.coverage.min(unread::coverage(&snapshot.unread));
    snapshot.pools.iter_mut().for_each(PoolHistory::lower);
}

/// Where the parts of a snapshot at `head` came from.
fn origin(chain_id: ChainId, head: Block, quotes: &Quotes, discovered: Option<&Discovered>) -> ChainOrigin {
    let block = |block: Block| ReadBlock { chain_id, number: block.number, hash: block.hash };
    let mut outside = Vec::new();
    if discovered.is_some_and(|discovered| discovered.from != Origin::Chain) {
        outside.extend([SourcedPart::Activity, SourcedPart::Holdings].map(|part| (part, Origin::Explorer)));
    }
    if quotes.is_external || discovered.is_some_and(|discovered| !discovered.prices.prices.is_empty()) {
        outside.push((SourcedPart::Prices, Origin::PriceApi));
    }
    ChainOrigin { block: Some(block(head)), priced_at: quotes.block.map(block), outside }
}

/// What the wallet holds of the listed tokens. Prices of feeds and oracles take precedence over those of external APIs.
fn listed(config: &ChainConfig, quotes: &Quotes, discovered: Discovered) -> (Vec<TokenBalance>, Vec<Nft>) {
    let prices = discovered.prices.prices.into_iter().chain(quotes.prices.clone()).collect();
    (discovered.found.tokens(config, &prices), discovered.found.nfts)
}

#[cfg(test)]
mod tests;
