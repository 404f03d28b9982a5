//! The reference: a script that reads the same facts with viem, as one writes it without Assay.

use std::{path::Path, process::Stdio};

use alloy::primitives::Address;
use assay_tests::{
    devnet::receipts::{lending_events, sent},
    proxy::distant::{Distant, Meter},
};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{
    cost::Cost,
    world::{STRANGERS, World},
};
use crate::Failure;

/// Wider than the chain: the endpoints answer the whole history at once.
const SPAN: u64 = 1_000_000_000;

/// Reads all chains at `endpoints`, and checks what it found.
pub async fn read(world: &World, endpoints: &[Distant], meter: &Meter, wallet: Address) -> Result<Cost, Failure> {
    let (found, cost) = run(world, endpoints, meter, json!({ "wallet": wallet })).await?;
    let (lent, sent) = (lending_events(world.chain(), wallet).await?, sent(world.chain(), wallet).await?);
    for chain in found["chains"].as_array().into_iter().flatten() {
        let right = chain["unread"] == 0
            && (&chain["events"], &chain["transactions"]) == (&json!(lent.total()), &json!(sent.transactions))
            && chain["first"].as_u64() == sent.first.map(|first| first.time)
            && chain["lastEvent"].as_u64() == lent.last;
        if !right {
            return Err(format!("the script found {chain} about {wallet}, and the receipts {lent:?} {sent:?}").into());
        }
    }
    Ok(cost)
}

/// Finds the address of a stranger's name.
pub async fn resolve(world: &World, endpoints: &[Distant], meter: &Meter) -> Result<Cost, Failure> {
    let what = json!({ "name": format!("{}.eth", STRANGERS[0]), "resolveOnly": true });
    let (found, cost) = run(world, endpoints, meter, what).await?;
    let wallet: Address = serde_json::from_value(found["wallet"].clone())?;
    if wallet != world.wallet(STRANGERS[0]) {
        return Err(format!("the script found {wallet} behind a name").into());
    }
    Ok(cost)
}

async fn run(world: &World, endpoints: &[Distant], meter: &Meter, mut what: Value) -> Result<(Value, Cost), Failure> {
    let market = &world.chain().market;
    let of = |keep: fn(&assay_tests::devnet::Token) -> bool| market.tokens.iter().filter(move |token| keep(token));
    let reserves: Vec<Address> = of(|token| token.asset.reserve).map(|token| token.address).collect();
    let feeds = of(|token| !token.asset.reserve).filter_map(|token| token.feed).chain([market.native_feed]);
    let (tokens, feeds): (Vec<_>, Vec<_>) = (of(|_| true).map(|token| token.address).collect(), feeds.collect());
    let chain = |endpoint: &Distant| {
        json!({
            "url": endpoint.url, "multicall": market.multicall, "pool": market.pool, "oracle": market.oracle,
            "data": market.data_provider, "fromBlock": market.pool_block * world.spread,
            "tokens": tokens, "reserves": reserves, "feeds": feeds,
        })
    };
    what["chains"] = endpoints.iter().map(chain).collect();
    what["span"] = json!(SPAN);
    what["registry"] = json!(world.names.registry);
    meter.take();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/read.mjs");
    let output = Command::new("node").arg(script).arg(what.to_string()).stderr(Stdio::inherit()).output().await?;
    let found: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("clients/read.mjs: {error}"))?;
    let milliseconds = found["milliseconds"].as_f64().ok_or("the script names no time")?;
    Ok((found, Cost { traffic: meter.take(), milliseconds, later: 0, is_final: true }))
}
