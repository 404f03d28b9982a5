//! The report and the portfolio of a mock wallet.

use crate::{ChainValue, MockReport, lending, tokens, wallet::Wallet};

pub fn report(address: &[u8]) -> MockReport {
    let wallet = Wallet::of(address);
    let pools = lending::pools(address, &wallet);
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

/// The report's tokens by chain.
pub fn portfolio(address: &[u8]) -> Vec<ChainValue> {
    let wallet = Wallet::of(address);
    let tokens = tokens::tokens(address, &wallet);
    let value = |chain_id| tokens.iter().filter(|token| token.chain_id == chain_id).map(|token| token.value_usd).sum();
    wallet.chains.iter().map(|chain| ChainValue { chain_id: chain.id, total_asset_usd: value(chain.id) }).collect()
}
