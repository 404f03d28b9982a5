//! Events held against positions: what a wallet has must have come from somewhere. An endpoint that leaves logs out, and debt that
//! no log tells of, are found by this.

use crate::domain::{Coverage, PoolHistory, Position, Protocol};

/// Lowers the coverage of every complete history that cannot have led to the position beside it.
pub(in crate::chain) fn cross_check(pools: &mut [PoolHistory], positions: &[Position]) {
    for pool in pools.iter_mut().filter(|pool| pool.coverage == Coverage::Complete) {
        let same = |position: &&Position| position.protocol == pool.protocol && position.market_address == pool.market_address;
        let Some(position) = positions.iter().find(same) else { continue };
        let debt = position.borrowed_usd > 0.0 && pool.counts.borrow == Some(0);
        // Where positions move as plain tokens, supply without an event is nothing odd.
        let supply = position.supplied_usd > 0.0 && pool.counts.supply == Some(0) && pool.protocol == Protocol::LenderBV3;
        if debt || supply {
            let (chain, market) = (pool.chain_id, pool.market_address);
            tracing::warn!(chain, %market, debt, supply, "a position has no event that explains it; the history counts as partial");
            pool.coverage = Coverage::Partial;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chain::lending::failed_pool,
        config::MarketConfig,
        domain::{Address, EventCounts},
    };

    fn checked(protocol: Protocol, supplied_usd: f64, borrowed_usd: f64, supply: u64, borrow: u64) -> Coverage {
        let address = Address::repeat_byte(1);
        let market = MarketConfig { protocol, market: None, address, from_block: 0 };
        let counts = EventCounts { supply: Some(supply), borrow: Some(borrow), ..EventCounts::ZERO };
        let mut pools = [PoolHistory { coverage: Coverage::Complete, counts, ..failed_pool(1, &market) }];
        let position =
            Position { chain_id: 1, protocol, market_address: address, market: None, supplied_usd, borrowed_usd, supplied_assets: 1 };
        cross_check(&mut pools, &[position]);
        pools[0].coverage
    }

    #[test]
    fn what_no_event_explains_is_partial() {
        for protocol in [Protocol::LenderAV3, Protocol::LenderBV3] {
            assert_eq!(checked(protocol, 0.0, 5.0, 1, 0), Coverage::Partial);
            assert_eq!(checked(protocol, 5.0, 5.0, 1, 1), Coverage::Complete);
            assert_eq!(checked(protocol, 0.0, 0.0, 0, 0), Coverage::Complete);
        }
        assert_eq!(checked(Protocol::LenderBV3, 5.0, 0.0, 0, 0), Coverage::Partial);
        assert_eq!(checked(Protocol::LenderAV3, 5.0, 0.0, 0, 0), Coverage::Complete);
    }
}
