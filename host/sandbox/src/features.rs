//! The features behind a mock report, so that changes can be tried on a sandbox. A generator states only sums: the
//! collateral counts as native and the debt as a stablecoin.

use assay_domain::{
    AssetClass, Coverage, ExposureClass, Protocol,
    features::{ChainFeatures, Dollars, Exposure, Features, Holding, MarketFeatures, PositionFeatures},
};
use assay_registry::{MockPool, MockPosition, MockReport};

/// The liquidation threshold of mock collateral.
pub(crate) const THRESHOLD: f64 = 0.8;

/// The features of `mock` at `as_of`, in Unix seconds.
pub(crate) fn features(mock: &MockReport, as_of: u64) -> Features {
    let markets: Vec<_> = mock.pools.iter().enumerate().map(|(at, pool)| market(mock, at, pool)).collect();
    let chains = mock.transactions().map(|(chain_id, transactions)| {
        let here = || markets.iter().filter(|market| market.chain_id == chain_id);
        ChainFeatures {
            chain_id,
            coverage: Coverage::Complete,
            first_transaction: (mock.total_transactions > 0).then_some(mock.first_transaction),
            last_transaction: None,
            transactions,
            transfers: None,
            counterparties: None,
            active_days: None,
            active_hours: None,
            median_gap: None,
            assets_usd: mock
                .tokens
                .iter()
                .filter(|token| token.chain_id == chain_id)
                .map(|token| token.value_usd)
                .sum(),
            supplied_usd: here().map(|market| market.supplied_usd).sum(),
            borrowed_usd: here().map(|market| market.borrowed_usd).sum(),
        }
    });
    let holding = |class, usd: f64, assets| Holding { class, usd, assets };
    let count = |many: usize| u32::try_from(many).unwrap_or(u32::MAX);
    let supplied = markets.iter().filter(|market| market.supplied_usd > 0.0);
    let holdings = [
        holding(AssetClass::Token, mock.tokens.iter().map(|token| token.value_usd).sum(), count(mock.tokens.len())),
        holding(
            AssetClass::Collateral,
            supplied.clone().map(|market| market.supplied_usd).sum(),
            count(supplied.count()),
        ),
    ];
    let holdings = holdings.into_iter().filter(|holding| holding.assets > 0).collect();
    Features { as_of, chains: chains.collect(), holdings, identity: Vec::new(), markets }
}

fn market(mock: &MockReport, at: usize, pool: &MockPool) -> MarketFeatures {
    // As in the report: a position belongs to the first pool of its protocol and chain.
    let is_first = |position: &MockPosition| {
        let own = |pool: &MockPool| (pool.chain_id, &pool.protocol) == (position.chain_id, &position.name);
        mock.pools.iter().position(own) == Some(at)
    };
    let here = || mock.positions.iter().filter(|position| is_first(position));
    let supplied_usd = here().map(|position| position.supplied).sum();
    let borrowed_usd = here().map(|position| position.borrowed).sum();
    MarketFeatures {
        chain_id: pool.chain_id,
        protocol: pool.protocol.clone(),
        market: pool.market.clone(),
        coverage: pool.coverage,
        feeds_score: pool.feeds_score,
        supply: pool.counts.supply,
        withdraw: pool.counts.withdraw,
        borrow: pool.counts.borrow,
        repay: pool.counts.repay,
        liquidation: pool.counts.liquidation,
        first_event: pool.first_event,
        last_event: pool.last_event,
        last_liquidation: pool.last_event.filter(|_| pool.counts.liquidation.is_some_and(|count| count > 0)),
        supplied_usd,
        borrowed_usd,
        events_coverage: Coverage::Failed,
        events: Vec::new(),
        dollars: Dollars::UNREAD,
        liquidation_days: None,
        position: (pool.protocol != Protocol::LenderBV2.as_str()).then(|| position(supplied_usd, borrowed_usd)),
    }
}

fn position(supplied: f64, borrowed: f64) -> PositionFeatures {
    let exposure = |class, usd: f64| if usd > 0.0 { vec![Exposure { class, usd }] } else { Vec::new() };
    PositionFeatures {
        coverage: Coverage::Complete,
        collateral: exposure(ExposureClass::Native, supplied),
        debt: exposure(ExposureClass::Stablecoin, borrowed),
        liquidation_threshold: (supplied > 0.0).then_some(THRESHOLD),
        health_factor: (borrowed > 0.0).then(|| THRESHOLD * supplied / borrowed),
        utilisation: (supplied > 0.0).then(|| borrowed / supplied),
    }
}
