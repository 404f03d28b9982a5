//! Reports from the generator's.

use std::{cmp::Reverse, sync::Arc};

use super::{MockRequest, Sandbox, now};
use assay_chain::config::ReadOn;
use assay_domain::{
    Address, AssetSide, ChainId, EventCounts, EventKind, Nft, Position, PositionAsset, PriceSource, Protocol, U256,
    UnreadByChain, features::MOST_EVENTS, parse_address, time_from_unix,
};
use assay_registry::{MockNft, MockPool, MockPosition, MockReport, MockToken};
use assay_report::{
    ChainReport, Contents, Details, HeldToken, ProtocolTotal, Report, ReportedEvent, ReportedPool, ReportedPosition,
    sum,
};
use assay_rollout::Scored;
use assay_score::{NotScored, ScoringError};

use crate::{
    condition::Reading,
    features::{THRESHOLD, features},
};

/// The price of mock collateral in dollars.
const ETHER_USD: f64 = 2_000.0;
/// The decimals of mock amounts.
const DECIMALS: u8 = 6;
const UNIT: f64 = 1e6;

impl Sandbox {
    /// The report. A wallet without activity has one of zeros, and one that the model refuses has no score.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn report(&self, asked: &MockRequest) -> Result<Report, ScoringError> {
        asked.condition.require_reading()?;
        let mut mock = self.generator()?.report(&asked.address)?;
        let unread = asked.condition.change(&mut mock);
        let inactive = !has_activity(&mock) && !unread.iter().flatten().any(|(_, one)| one.part.can_show_activity());
        let scored = match self.score_of_report(asked, &mock, inactive) {
            Ok(scored) => Ok(Arc::new(scored)),
            Err(error) => Err(NotScored::of(&error).ok_or(error)?),
        };
        let fresh = scored.as_ref().map_or_else(|_| now(), |scored| scored.fresh);
        Ok(Report { scored, fresh, contents: contents(asked.address, mock, unread), inactive, cached: false })
    }

    /// The score in a report. Of a wallet without activity, it is what the credit model says of nothing.
    fn score_of_report(&self, asked: &MockRequest, mock: &MockReport, inactive: bool) -> Result<Scored, ScoringError> {
        if inactive && asked.condition.reading == Reading::Inactive {
            let as_of = chrono::Utc::now().timestamp().unsigned_abs();
            let nothing = features(mock, as_of);
            let score = self.credit()?.score_uncounted(&nothing).0?.score;
            return self.scored_as(asked, self.on_scale(score)?, Vec::new());
        }
        asked.condition.require_score()?;
        let (score, _) = self.assessed(asked, mock.score, false)?;
        self.scored_as(asked, self.on_scale(score)?, Vec::new())
    }

    /// The part of the report that concerns one chain.
    ///
    /// # Errors
    /// As [`Sandbox::score`], and `ScoringError::ChainDown` if the condition makes the chain unreadable.
    pub fn chain_report(&self, asked: &MockRequest, chain: ChainId) -> Result<ChainReport, ScoringError> {
        asked.condition.require_reading()?;
        asked.condition.require(chain)?;
        let mut mock = self.generator()?.report(&asked.address)?;
        let mut unread = asked.condition.change(&mut mock);
        unread.iter_mut().for_each(|unread| unread.retain(|(id, _)| *id == chain));
        let transactions = mock.transactions().find(|(active, _)| *active == chain).map(|(_, count)| count);
        mock.tokens.retain(|token| token.chain_id == chain);
        mock.nfts.retain(|nft| nft.chain_id == chain);
        mock.positions.retain(|position| position.chain_id == chain);
        let whole = contents(asked.address, mock, unread);
        let first_transaction = whole.first_transaction.filter(|_| transactions.is_some());
        let contents = Contents { first_transaction, transactions: transactions.unwrap_or(0), ..whole };
        Ok(ChainReport { contents, cached: false, fresh: now() })
    }
}

/// As `ChainSnapshot::has_activity` in production: a transaction, a holding, or a lending history.
fn has_activity(mock: &MockReport) -> bool {
    mock.total_transactions > 0
        || mock.tokens.iter().any(|token| token.value_usd > 0.0 || token.balance.parse() != Ok(0.0))
        || !mock.nfts.is_empty()
        || mock.positions.iter().any(|position| position.supplied > 0.0 || position.borrowed > 0.0)
        || mock.pools.iter().any(|pool| pool.first_event.is_some())
}

/// The mock report of `address`.
fn contents(address: Address, mock: MockReport, unread: Option<UnreadByChain>) -> Contents {
    let mut read_on: ReadOn = mock.active_chains.iter().map(|chain| (*chain, Default::default())).collect();
    for pool in &mock.pools {
        read_on.entry(pool.chain_id).or_default().insert(pool.protocol.clone());
    }
    let details = details(&mock);
    let held = mock.tokens.iter().map(|token| token.value_usd);
    Contents {
        address,
        as_of: chrono::Utc::now(),
        // As in production: deposits are part of the assets, and no tokens.
        assets_usd: sum(held.chain(mock.positions.iter().map(|position| position.supplied))),
        tokens: mock.tokens.into_iter().map(held_token).collect(),
        nfts: mock.nfts.into_iter().map(nft).collect(),
        protocols: mock.positions.into_iter().map(protocol_total).collect(),
        first_transaction: (mock.total_transactions > 0).then(|| time_from_unix(mock.first_transaction)),
        transactions: mock.total_transactions,
        active_chains: mock.active_chains,
        pools: mock.pools.into_iter().map(reported_pool).collect(),
        details,
        remarks: Vec::new(),
        read_on,
        unread,
    }
}

fn nft(MockNft { name, collection, chain_id }: MockNft) -> Nft {
    Nft { chain_id, name, collection }
}

/// The events and positions. A generator states only counts and the first and last time of a pool: they are made from
/// these.
fn details(mock: &MockReport) -> Details {
    let mut events: Vec<_> = mock.pools.iter().flat_map(events).collect();
    events.sort_by_key(|event| Reverse(event.at));
    let liquidations = events.iter().filter(|event| event.kind == EventKind::Liquidation);
    let last_liquidation_at = liquidations.map(|event| event.at).max();
    events.truncate(MOST_EVENTS);
    let positions: Vec<_> = mock.positions.iter().filter_map(|one| position(one, &mock.pools)).collect();
    let positions = positions.iter().map(|one| ReportedPosition::of(one, std::slice::from_ref(one))).collect();
    Details { events, positions, last_liquidation_at }
}

/// None for a protocol that is unknown in production.
fn protocol(name: &str) -> Option<Protocol> {
    Protocol::ALL.into_iter().find(|protocol| protocol.as_str() == name)
}

/// The events of a pool, evenly from its first event to its last. A liquidation is never followed by another kind.
pub(crate) fn events(pool: &MockPool) -> Vec<ReportedEvent> {
    let EventCounts { supply, withdraw, borrow, repay, liquidation } = pool.counts;
    let (Some(protocol), Some(first), Some(last)) = (protocol(&pool.protocol), pool.first_event, pool.last_event)
    else {
        return Vec::new();
    };
    // How late in its share of the time an event of each kind is.
    let kinds = [
        (EventKind::Supply, supply, 0.0),
        (EventKind::Borrow, borrow, 0.2),
        (EventKind::Repay, repay, 0.6),
        (EventKind::Withdraw, withdraw, 0.9),
        (EventKind::Liquidation, liquidation, 1.0),
    ];
    let mut order: Vec<(f64, EventKind)> = Vec::new();
    for (kind, count, late) in kinds {
        let count = count.unwrap_or(0).min(MOST_EVENTS as u64);
        order.extend((0..count).map(|at| ((at as f64 + late) / count as f64, kind)));
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let newest = order.len().saturating_sub(1);
    let step = last.saturating_sub(first) as f64 / newest.max(1) as f64;
    let event = |(at, (_, kind)): (usize, (f64, EventKind))| ReportedEvent {
        chain_id: pool.chain_id,
        protocol,
        market_address: parse_address(&pool.market_address).unwrap_or_default(),
        at: time_from_unix(if at == newest { last } else { first + (step * at as f64) as u64 }),
        kind,
        usd: matches!(kind, EventKind::Borrow | EventKind::Repay).then(|| 500.0 * (1 + at % 4) as f64),
    };
    order.into_iter().enumerate().map(event).collect()
}

/// A position in the pool of its protocol and chain, with its collateral in ether and its debt in dollars; `None`
/// without such a pool.
fn position(mock: &MockPosition, pools: &[MockPool]) -> Option<Position> {
    let pool = pools.iter().find(|pool| (pool.chain_id, &pool.protocol) == (mock.chain_id, &mock.name))?;
    let market_address = parse_address(&pool.market_address).unwrap_or_default();
    let asset = |symbol: &str, side, usd: f64, price: f64| PositionAsset {
        token: assay_chain::known::token_address(pool.chain_id, symbol),
        symbol: Some(symbol.to_owned()),
        side,
        amount: U256::from((usd / price * UNIT).round().max(0.0) as u64),
        decimals: DECIMALS,
        usd,
        liquidation_threshold: (side == AssetSide::Collateral).then_some(THRESHOLD),
        price_usd: Some(price),
        account: market_address.into_word(),
    };
    let assets = [
        asset("WETH", AssetSide::Collateral, mock.supplied, ETHER_USD),
        asset("USDC", AssetSide::Debt, mock.borrowed, 1.0),
    ];
    Some(Position {
        chain_id: pool.chain_id,
        protocol: protocol(&pool.protocol)?,
        market_address,
        market: pool.market.clone(),
        supplied_usd: mock.supplied,
        borrowed_usd: mock.borrowed,
        supplied_assets: 1,
        assets: assets.into_iter().filter(|asset| !asset.amount.is_zero()).collect(),
        health_factor: (mock.borrowed > 0.0).then(|| THRESHOLD * mock.supplied / mock.borrowed),
        mode: None,
        delegations: Some(Vec::new()),
    })
}

fn held_token(MockToken { symbol, name, balance, value_usd, chain_id }: MockToken) -> HeldToken {
    let contract = assay_chain::known::token_address(chain_id, &symbol);
    let price_source = (value_usd > 0.0).then_some(PriceSource::Feed);
    HeldToken { chain_id, contract, symbol, name, balance, value_usd, price_source }
}

fn protocol_total(MockPosition { name, supplied, borrowed, chain_id }: MockPosition) -> ProtocolTotal {
    ProtocolTotal { chain_id, name, supplied_usd: supplied, borrowed_usd: borrowed }
}

fn reported_pool(pool: MockPool) -> ReportedPool {
    ReportedPool {
        chain_id: pool.chain_id,
        protocol: pool.protocol,
        // The registry accepts no other text.
        market_address: parse_address(&pool.market_address).unwrap_or_default(),
        market: pool.market,
        feeds_score: pool.feeds_score,
        coverage: pool.coverage,
        synced_to_block: pool.synced_to_block,
        counts: pool.counts,
        first_event_at: pool.first_event.map(time_from_unix),
        last_event_at: pool.last_event.map(time_from_unix),
    }
}
