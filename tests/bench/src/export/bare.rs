//! The reference: a loop over the same wallets that asks what no reader can do without. Of each wallet the nonce, the
//! code, the balances and the position at the block; the first and the last transaction, by halving the blocks; and
//! once the block of the moment and the prices. Histories are in the index, and cost no call.

use std::collections::BTreeSet;

use alloy::{
    primitives::{Address, B256, Bytes, U64},
    providers::bindings::IMulticall3::{Call3, aggregate3Call, getEthBalanceCall},
    sol,
    sol_types::SolCall,
};
use assay_tests::{
    devnet::{Market, Rpc},
    economy::Economy,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Failure;

sol! {
    function balanceOf(address owner) external view returns (uint256);
    function getUserAccountData(address user) external view returns (uint256);
    function getUserReserveData(address asset, address user) external view returns (uint256);
    function getAssetPrice(address asset) external view returns (uint256);
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Block {
    hash: B256,
    number: U64,
    timestamp: U64,
}

/// Asks everything, `together` wallets at one time in two groups, as the export does.
pub async fn read(economy: &Economy, url: &str, moment: u64, together: usize) -> Result<(), Failure> {
    let (rpc, market) = (&Rpc::new(url)?, &economy.chain.market);
    let at = last_before(rpc, moment).await?;
    ask(rpc, market, prices(market), at).await?;
    let groups = economy.borrowers.chunks(together.div_ceil(2)).map(|wallets| group(rpc, market, wallets, at));
    stream::iter(groups).buffered(2).try_collect::<Vec<()>>().await.map(drop)
}

/// The last block before a moment.
async fn last_before(rpc: &Rpc, moment: u64) -> Result<Block, Failure> {
    let block = async |named: Value| rpc.request::<Block>("eth_getBlockByNumber", json!([named, false])).await;
    let head = block(json!("latest")).await?;
    let (mut low, mut high) = (block(json!("0x0")).await?, head.number.to::<u64>());
    while high - low.number.to::<u64>() > 1 {
        let middle = block(json!(U64::from(low.number.to::<u64>().midpoint(high)))).await?;
        if middle.timestamp.to::<u64>() < moment { low = middle } else { high = middle.number.to() }
    }
    Ok(low)
}

async fn group(rpc: &Rpc, market: &Market, wallets: &[Address], at: Block) -> Result<(), Failure> {
    let of = |method, wallet: &Address| (method, json!([wallet, at.number]));
    let codes = wallets.iter().map(|wallet| of("eth_getCode", wallet));
    let asked: Vec<_> = wallets.iter().map(|wallet| of("eth_getTransactionCount", wallet)).chain(codes).collect();
    let states = wallets.iter().flat_map(|wallet| state(market, *wallet)).collect();
    let (answers, ()) = tokio::try_join!(batch(rpc, &asked), ask(rpc, market, states, at))?;
    let nonces = answers.iter().take(wallets.len()).map(quantity);
    let blocks = transactions(rpc, wallets, nonces.collect(), at.number.to()).await?;
    let headers: Vec<_> =
        blocks.iter().map(|block| ("eth_getBlockByNumber", json!([U64::from(*block), false]))).collect();
    batch(rpc, &headers).await.map(drop)
}

/// The balances and the position of a wallet.
fn state(market: &Market, wallet: Address) -> Vec<Call3> {
    let call = |target, data: Vec<u8>| Call3 { target, allowFailure: true, callData: data.into() };
    let mut calls = vec![
        call(market.multicall, getEthBalanceCall { addr: wallet }.abi_encode()),
        call(market.pool, getUserAccountDataCall { user: wallet }.abi_encode()),
    ];
    for token in &market.tokens {
        calls.push(call(token.address, balanceOfCall { owner: wallet }.abi_encode()));
        if token.asset.reserve {
            let data = getUserReserveDataCall { asset: token.address, user: wallet }.abi_encode();
            calls.push(call(market.data_provider, data));
        }
    }
    calls
}

fn prices(market: &Market) -> Vec<Call3> {
    let reserves = market.tokens.iter().filter(|token| token.asset.reserve);
    let price = |asset| Bytes::from(getAssetPriceCall { asset }.abi_encode());
    reserves.map(|t| Call3 { target: market.oracle, allowFailure: true, callData: price(t.address) }).collect()
}

async fn ask(rpc: &Rpc, market: &Market, calls: Vec<Call3>, at: Block) -> Result<(), Failure> {
    let data = Bytes::from(aggregate3Call { calls }.abi_encode());
    let call = json!([{ "to": market.multicall, "data": data }, { "blockHash": at.hash }]);
    rpc.request::<Bytes>("eth_call", call).await?;
    Ok(())
}

/// The blocks of the first and the last transactions of wallets with these nonces at block `top`.
async fn transactions(rpc: &Rpc, wallets: &[Address], nonces: Vec<u64>, top: u64) -> Result<BTreeSet<u64>, Failure> {
    // The wallet, the nonce that is looked for, and the blocks after and through which it is reached.
    let both = wallets.iter().zip(nonces).flat_map(|(wallet, nonce)| [(*wallet, 1, nonce), (*wallet, nonce, nonce)]);
    let distinct: BTreeSet<_> =
        both.filter(|(_, _, nonce)| *nonce > 0).map(|(wallet, wanted, _)| (wallet, wanted)).collect();
    let mut searches: Vec<_> = distinct.into_iter().map(|(wallet, wanted)| (wallet, wanted, 0, top)).collect();
    loop {
        let open: Vec<_> = searches.iter_mut().filter(|(_, _, low, high)| high - *low > 1).collect();
        if open.is_empty() {
            return Ok(searches.iter().map(|(_, _, _, high)| *high).collect());
        }
        let asked: Vec<_> = open
            .iter()
            .map(|(wallet, _, low, high)| ("eth_getTransactionCount", json!([wallet, U64::from(low.midpoint(*high))])))
            .collect();
        for ((_, wanted, low, high), answer) in open.into_iter().zip(batch(rpc, &asked).await?) {
            let middle = low.midpoint(*high);
            if quantity(&answer) < *wanted { *low = middle } else { *high = middle }
        }
    }
}

async fn batch(rpc: &Rpc, asked: &[(&'static str, Value)]) -> Result<Vec<Value>, Failure> {
    Ok(rpc.batch(asked).await?)
}

fn quantity(answer: &Value) -> u64 {
    answer.as_str().and_then(|hex| u64::from_str_radix(hex.trim_start_matches("0x"), 16).ok()).unwrap_or_default()
}
