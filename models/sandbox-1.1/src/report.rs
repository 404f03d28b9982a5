//! The report and the portfolio of a mock wallet, in the terms of production.

use crate::{ChainValue, MockReport, Pool, lending, tokens, wallet::Wallet};

/// The tokens are what the wallet holds itself. The deposits are its positions.
pub fn report(address: &[u8]) -> MockReport {
    let wallet = Wallet::of(address);
    let pools: Vec<Pool> = lending::pools(address, &wallet).into_iter().map(named).collect();
    MockReport {
        score: wallet.score,
        tokens: tokens::tokens(address, &wallet),
        nfts: tokens::nfts(address, &wallet),
        positions: lending::positions(&wallet, &pools),
        pools,
        first_transaction: wallet.first_transaction,
        total_transactions: wallet.transactions,
        active_chains: wallet.chains.iter().map(|chain| chain.id).collect(),
    }
}

/// The report's tokens and deposits by chain.
pub fn portfolio(address: &[u8]) -> Vec<ChainValue> {
    let MockReport { tokens, positions, active_chains, .. } = report(address);
    let value = |chain_id| {
        let held = tokens.iter().filter(|token| token.chain_id == chain_id).map(|token| token.value_usd);
        let supplied =
            positions.iter().filter(|position| position.chain_id == chain_id).map(|position| position.supplied);
        held.chain(supplied).sum()
    };
    active_chains.iter().map(|chain| ChainValue { chain_id: *chain, total_asset_usd: value(*chain) }).collect()
}

/// The name that production has for the market: none where the protocol has one market on the chain, and the base token
/// of a market that has one.
fn named(pool: Pool) -> Pool {
    let market = match (pool.protocol.as_str(), pool.chain_id) {
        ("lenderA_v3", 1) => Some("Core"),
        ("lenderB_v3", _) => Some("USDC"),
        _ => None,
    };
    Pool { market: market.map(Into::into), ..pool }
}
