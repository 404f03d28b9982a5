//! Histories that show what was left of a debt and not how it came about: the borrowing is one of those that nothing points at.

use crate::domain::{Coverage, PoolHistory, Protocol};

/// Lowers the coverage of every complete history of a cToken in which something was repaid or liquidated that was never borrowed.
pub(in crate::chain) fn doubt_unborrowed(pools: &mut [PoolHistory]) {
    for pool in pools.iter_mut().filter(|pool| pool.protocol == Protocol::LenderBV2 && pool.coverage == Coverage::Complete) {
        let counts = pool.counts;
        if counts.borrow == Some(0) && counts.repay.max(counts.liquidation) > Some(0) {
            let (chain, market) = (pool.chain_id, pool.market_address);
            tracing::warn!(chain, %market, "a debt was repaid that no log tells of; the history counts as partial");
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

    fn doubted(protocol: Protocol, borrow: u64, repay: u64, liquidation: u64) -> Coverage {
        let market = MarketConfig { protocol, market: None, address: Address::repeat_byte(1), from_block: 0 };
        let counts = EventCounts { borrow: Some(borrow), repay: Some(repay), liquidation: Some(liquidation), ..EventCounts::default() };
        let mut pools = [PoolHistory { coverage: Coverage::Complete, counts, ..failed_pool(1, &market) }];
        doubt_unborrowed(&mut pools);
        pools[0].coverage
    }

    #[test]
    fn what_was_repaid_was_borrowed() {
        let ctoken = |borrow, repay, liquidation| doubted(Protocol::LenderBV2, borrow, repay, liquidation);
        assert_eq!((ctoken(0, 1, 0), ctoken(0, 0, 1)), (Coverage::Partial, Coverage::Partial));
        assert_eq!((ctoken(0, 0, 0), ctoken(1, 3, 1)), (Coverage::Complete, Coverage::Complete));
        // Others tell their borrowings themselves.
        assert_eq!(doubted(Protocol::LenderAV3, 0, 1, 0), Coverage::Complete);
    }

    #[test]
    fn a_history_that_was_not_read_stays_so() {
        let market = MarketConfig { protocol: Protocol::LenderBV2, market: None, address: Address::ZERO, from_block: 0 };
        let mut pools = [failed_pool(1, &market)];
        doubt_unborrowed(&mut pools);
        assert_eq!(pools[0].coverage, Coverage::Failed);
    }
}
