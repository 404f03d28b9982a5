//! Eight markets on each of twelve chains, read into the index at once, beside the same number of events on one chain.

use assay_tests::{
    service::Service,
    stub::{CHAIN, Market},
};

use super::{
    market::{configuration, in_step, size},
    node::Node,
};
use crate::{
    Effort, Failure,
    table::{Row, Target, Unit},
};

const CHAINS: u64 = 12;
const POOLS: u8 = 8;
/// Events of each chain.
const FULL: u64 = 250_000;
const QUICK: u64 = 25_000;
const WALLETS: u64 = 12_500;

/// What the index of some chains took.
struct Taken {
    seconds: f64,
    megabytes: f64,
    bytes: u64,
}

pub async fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let events = if effort.quick { QUICK } else { FULL };
    let alone = read(Market { events: events * CHAINS, wallets: WALLETS, pools: POOLS }, 1).await?;
    let many = read(Market { events, wallets: WALLETS, pools: POOLS }, CHAINS).await?;
    let (markets, all) = (CHAINS * u64::from(POOLS), events * CHAINS);
    let row = |what, measured, reference_value| Row {
        what: format!("index of {all} events of {markets} markets on {CHAINS} chains: {what}"),
        measured,
        reference: format!("as many of {POOLS} markets on one chain"),
        reference_value,
        unit: Unit::Count,
        ratio: measured / reference_value,
        target: Target::None,
        note: String::new(),
    };
    Ok(vec![
        row("seconds", many.seconds, alone.seconds),
        row("most resident memory of the server, MB", many.megabytes, alone.megabytes),
        row("bytes on disk for an event", many.bytes as f64 / all as f64, alone.bytes as f64 / all as f64),
    ])
}

/// Reads `market` on each of `chains`, which one stub serves.
async fn read(market: Market, chains: u64) -> Result<Taken, Failure> {
    let (node, folder) = (Node::start(market)?, tempfile::tempdir()?);
    let urls: Vec<_> = (CHAIN..CHAIN + chains).map(|id| (id, format!("{}/{id}", node.url))).collect();
    let service = Service::start(&configuration(&urls, market, folder.path()));
    let seconds = in_step(&service, urls.len(), market).await?;
    let megabytes = service.peak() as f64 / 1e6;
    service.terminate().await;
    Ok(Taken { seconds, megabytes, bytes: size(&folder.path().join("index"))? })
}
