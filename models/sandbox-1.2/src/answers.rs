//! The drawn report in the form of `wit/v2`.

use crate::{MockReport, Pool, Report, ReportedPool, types::Coverage};

/// Production collects no deposits of this protocol, and its pools do not feed the score.
const BARE: &str = "lenderB_v2";

pub fn report(address: &[u8]) -> Report {
    let MockReport { score, tokens, nfts, positions, pools, first_transaction, total_transactions, active_chains } =
        crate::report::report(address);
    let pools = pools.into_iter().map(pool).collect();
    Report { score, tokens, nfts, positions, pools, first_transaction, total_transactions, active_chains }
}

fn pool(drawn: Pool) -> ReportedPool {
    let collects_deposits = drawn.protocol != BARE;
    ReportedPool {
        protocol: drawn.protocol,
        market_address: drawn.market_address,
        market: drawn.market,
        chain_id: drawn.chain_id,
        coverage: Coverage::Complete,
        feeds_score: collects_deposits,
        synced_to_block: Some(drawn.synced_to_block),
        supply: collects_deposits.then_some(drawn.supply),
        withdraw: collects_deposits.then_some(drawn.withdraw),
        borrow: Some(drawn.borrow),
        repay: Some(drawn.repay),
        liquidation: Some(drawn.liquidation),
        first_event: drawn.first_event,
        last_event: drawn.last_event,
    }
}
