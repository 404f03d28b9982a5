//! A report from the sandbox generator.

use std::{cmp::Reverse, collections::BTreeSet};

use crate::{
    config,
    http::{
        App,
        wire::{
            Activity, Assets, ChainActivity, ChainReportBody, Checksummed, Counts, CreditEvents, Defi, EventName,
            Moment, NftBody, Pool, PoolEventBody, PoolPositionBody, ProtocolBody, ReportBody, ReportScore, TokenBody,
            Usd, sentences,
        },
    },
};
use assay_chain::config::ReadOn;
use assay_domain::{
    Address, ChainId, EventCounts, PriceSource, Protocol, UnreadByChain, features::MOST_EVENTS, parse_address,
    time_from_unix,
};
use assay_registry::{MockPool, MockPosition, MockReport};

/// The liquidation threshold of mock collateral.
const THRESHOLD: f64 = 0.8;

/// An address, its mock report, and the parts that a scenario leaves unread.
type Mock = (Address, MockReport, Option<UnreadByChain>);

/// The mock report of `address`; `labelled` with `sandbox: true` on the paths of the sandbox.
pub fn body(app: &App, (address, mock, unread): Mock, labelled: bool) -> ReportBody {
    let score = mock.score;
    let mut chains = ReadOn::new();
    mock.active_chains.iter().for_each(|chain| _ = chains.entry(*chain).or_default());
    for pool in &mock.pools {
        chains.entry(pool.chain_id).or_default().insert(pool.protocol.clone());
    }
    let not_covered = without_pool(&mock).chain(app.not_covered(&chains)).collect();
    ReportBody {
        address: Checksummed(address),
        score: ReportScore {
            value: score.get(),
            classification: score.range().into(),
            claims: None,
            no_claim: None,
            inactive: (mock.total_transactions == 0 && mock.tokens.is_empty()).then_some(true),
        },
        activity: Activity {
            first_transaction: Some(Moment(time_from_unix(mock.first_transaction))),
            total_transactions: mock.total_transactions,
            active_chains: mock.active_chains.clone(),
        },
        assets: assets(&mock),
        defi: defi(&mock),
        cached: false,
        timestamp: Moment::now(),
        credit_events: credit_events(mock, not_covered),
        unread: unread.map(sentences),
        sandbox: labelled.then_some(true),
    }
}

/// The part of the mock report that concerns one chain.
pub(super) fn on_chain(app: &App, (address, mut mock, unread): Mock, chain: ChainId) -> ChainReportBody {
    let transactions = mock.transactions().find(|(active, _)| *active == chain).map(|(_, transactions)| transactions);
    mock.tokens.retain(|token| token.chain_id == chain);
    mock.nfts.retain(|nft| nft.chain_id == chain);
    mock.positions.retain(|position| position.chain_id == chain);
    ChainReportBody {
        address: Checksummed(address),
        chain_id: chain,
        chain_name: app.chain_label(chain),
        assets: assets(&mock).into(),
        defi: defi(&mock).into(),
        activity: ChainActivity {
            first_transaction: transactions.map(|_| Moment(time_from_unix(mock.first_transaction))),
            total_transactions: transactions.unwrap_or(0),
        },
        cached: false,
        timestamp: Moment::now(),
        unread: unread.map(sentences),
    }
}

fn assets(mock: &MockReport) -> Assets {
    let held = mock.tokens.iter().map(|token| Usd(token.value_usd));
    let supplied = mock.positions.iter().map(|position| Usd(position.supplied));
    Assets {
        // As in production: deposits are part of the value, and no tokens.
        total_value_usd: held.chain(supplied).sum(),
        tokens: mock
            .tokens
            .iter()
            .map(|token| TokenBody {
                symbol: token.symbol.clone(),
                name: token.name.clone(),
                balance: token.balance.clone(),
                value_usd: Usd(token.value_usd),
                chain_id: token.chain_id,
                address: config::token_address(token.chain_id, &token.symbol).map(|token| token.to_checksum(None)),
                priced: Some(token.value_usd > 0.0),
                price_source: (token.value_usd > 0.0).then_some(PriceSource::Feed.as_str()),
            })
            .collect(),
        nfts: mock
            .nfts
            .iter()
            .map(|nft| NftBody { name: nft.name.clone(), collection: nft.collection.clone(), chain_id: nft.chain_id })
            .collect(),
    }
}

fn defi(mock: &MockReport) -> Defi {
    Defi {
        total_supplied: mock.positions.iter().map(|position| Usd(position.supplied)).sum(),
        total_borrowed: mock.positions.iter().map(|position| Usd(position.borrowed)).sum(),
        protocols: mock
            .positions
            .iter()
            .map(|position| ProtocolBody {
                name: position.name.clone(),
                supplied: Usd(position.supplied),
                borrowed: Usd(position.borrowed),
                chain_id: position.chain_id,
            })
            .collect(),
    }
}

/// The lending events. A generator states only counts and the first and last time of a pool, so that the events and
/// positions are made from these.
fn credit_events(mock: MockReport, not_covered: Vec<String>) -> CreditEvents {
    let mut dated: Vec<_> = mock.pools.iter().flat_map(events).collect();
    dated.sort_by_key(|(time, _)| Reverse(*time));
    let liquidations = dated.iter().filter(|(_, event)| matches!(event.kind, EventName::Liquidation));
    let last_liquidation_at = liquidations.map(|(time, _)| *time).max().map(|at| Moment(time_from_unix(at)));
    let positions = mock.positions.iter().filter_map(|one| position(one, &mock.pools)).collect();
    CreditEvents {
        events: Some(dated.into_iter().take(MOST_EVENTS).map(|(_, event)| event).collect()),
        positions: Some(positions),
        last_liquidation_at,
        ..CreditEvents::over(mock.pools.into_iter().map(pool).collect(), not_covered, Vec::new()).with_score_totals()
    }
}

/// The events of a pool with their times, evenly from its first event to its last. A liquidation is never followed by
/// another kind.
fn events(pool: &MockPool) -> Vec<(u64, PoolEventBody)> {
    let EventCounts { supply, withdraw, borrow, repay, liquidation } = pool.counts;
    let (Some(first), Some(last)) = (pool.first_event, pool.last_event) else { return Vec::new() };
    // How late in its share of the time an event of each kind is.
    let kinds = [
        (EventName::Supply, supply, 0.0),
        (EventName::Borrow, borrow, 0.2),
        (EventName::Repay, repay, 0.6),
        (EventName::Withdraw, withdraw, 0.9),
        (EventName::Liquidation, liquidation, 1.0),
    ];
    let mut order: Vec<(f64, EventName)> = Vec::new();
    for (kind, count, late) in kinds {
        let count = count.unwrap_or(0).min(MOST_EVENTS as u64);
        order.extend((0..count).map(|at| ((at as f64 + late) / count as f64, kind)));
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let step = last.saturating_sub(first) as f64 / order.len().saturating_sub(1).max(1) as f64;
    let newest = order.len().saturating_sub(1);
    let dated = |(at, (_, kind)): (usize, (f64, EventName))| {
        let time = if at == newest { last } else { first + (step * at as f64) as u64 };
        let event = PoolEventBody {
            at: Moment(time_from_unix(time)),
            kind,
            usd: matches!(kind, EventName::Borrow | EventName::Repay).then(|| Usd(500.0 * (1 + at % 4) as f64)),
            protocol: pool.protocol.clone(),
            market_address: checksummed(&pool.market_address),
            chain_id: pool.chain_id,
        };
        (time, event)
    };
    order.into_iter().enumerate().map(dated).collect()
}

/// A position in the pool of its protocol and chain; `None` without such a pool.
fn position(mock: &MockPosition, pools: &[MockPool]) -> Option<PoolPositionBody> {
    let pool = pools.iter().find(|pool| (pool.chain_id, &pool.protocol) == (mock.chain_id, &mock.name))?;
    let has_factor = mock.borrowed > 0.0 && pool.protocol != Protocol::LenderBV2.as_str();
    Some(PoolPositionBody {
        protocol: pool.protocol.clone(),
        market_address: checksummed(&pool.market_address),
        market: pool.market.clone(),
        chain_id: pool.chain_id,
        supplied: Usd(mock.supplied),
        borrowed: Usd(mock.borrowed),
        health_factor: has_factor.then(|| THRESHOLD * mock.supplied / mock.borrowed),
    })
}

fn checksummed(address: &str) -> String {
    parse_address(address).map_or_else(|_| address.to_owned(), |address| address.to_checksum(None))
}

/// The protocols of the API that have no pool in the report. A production report lists them as `not_covered`.
fn without_pool(mock: &MockReport) -> impl Iterator<Item = String> {
    let read: BTreeSet<&str> = mock.pools.iter().map(|pool| pool.protocol.as_str()).collect();
    let without = Protocol::OF_CONTRACT.into_iter().map(|protocol| protocol.as_str());
    without.filter(move |protocol| !read.contains(protocol)).map(str::to_owned)
}

fn pool(mock: MockPool) -> Pool {
    let EventCounts { supply, withdraw, borrow, repay, liquidation } = mock.counts;
    Pool {
        feeds_score: mock.feeds_score,
        market_address: checksummed(&mock.market_address),
        protocol: mock.protocol,
        market: mock.market,
        chain_id: mock.chain_id,
        coverage: mock.coverage,
        synced_to_block: mock.synced_to_block,
        counts: Counts { supply, withdraw, borrow, repay, liquidation },
        first_event_at: mock.first_event.map(|at| Moment(time_from_unix(at))),
        last_event_at: mock.last_event.map(|at| Moment(time_from_unix(at))),
    }
}
