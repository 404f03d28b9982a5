//! A made-up market of ten million events of 500,000 wallets, read into the index by the real server.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant},
};

use assay::config::{self, Config};
use assay_evm::{Client, Span, endpoint, logs::LogQuery};
use assay_index::Index;
use assay_tests::{
    service::{KEY, Service, plugins},
    stub::{CHAIN, FINALITY, FROM, LOGS, MULTICALL, Market, pool, wallet},
};
use tokio::time::sleep;

use super::{
    bare::{self, Bare},
    node::Node,
};
use crate::{
    Effort, Failure,
    table::{Row, Target, Unit},
};

const FULL: u64 = 10_000_000;
const QUICK: u64 = 500_000;
/// Events of a wallet.
const EACH: u64 = 20;
/// Histories whose 99th percentile is measured.
const HISTORIES: u64 = 1_000;
/// Blocks of the log query beside them.
const RANGE: u64 = 10_000;
const POLL: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(3_600);

const SLOWER: f64 = 1.3;
const BYTES: f64 = 40.0;
const MEGABYTES: f64 = 400.0;

pub async fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let events = effort.events.map_or(if effort.quick { QUICK } else { FULL }, |millions| millions * 1_000_000);
    let market = Market { events, wallets: events / EACH, pools: 1 };
    let node = Node::start(market)?;
    let folder = tempfile::tempdir()?;
    let text = configuration(&[(CHAIN, node.url.clone())], market, folder.path());
    let file = folder.path().join("bare.toml");
    fs::write(&file, &text)?;
    let config = config::load(Some(&file))?;
    // One before and one after, because the machine may change meanwhile.
    let before = bare::read(&config, LOGS).await?;
    let service = Service::start(&text);
    let seconds = in_step(&service, 1, market).await?;
    let peak = service.peak();
    service.terminate().await;
    let after = bare::read(&config, LOGS).await?;
    let reference = Bare { seconds: f64::midpoint(before.seconds, after.seconds), logs: before.logs };
    let mut rows = vec![
        time(market, seconds, &reference, [before.seconds, after.seconds]),
        bytes(market, size(&folder.path().join("index"))?),
        memory(peak),
    ];
    rows.push(history(market, &config, &folder.path().join("index")).await?);
    Ok(rows)
}

/// The configuration of a server that reads the pools of `market` on each of `chains`, by their ids and URLs.
pub(super) fn configuration(chains: &[(u64, String)], market: Market, folder: &Path) -> String {
    let (shelf, index) = (plugins(), folder.join("index"));
    let of_pool = |number| {
        let pool = pool(number);
        format!("[[chains.markets]]\nprotocol = \"lenderA_v3\"\naddress = \"{pool}\"\nfrom_block = {FROM}\n")
    };
    let pools: String = (0..market.pools).map(of_pool).collect();
    let of_chain = |(id, url): &(u64, String)| {
        format!(
            "[[chains]]\nid = {id}\nname = \"Stub {id}\"\nrpc = [{url:?}]\nfinality = {FINALITY}\nmulticall = \
             \"{MULTICALL}\"\nnative = {{ symbol = \"ETH\" }}\ntokens = []\n{pools}"
        )
    };
    let chains: String = chains.iter().map(of_chain).collect();
    format!(
        "listen = \"127.0.0.1:0\"\n[models]\nshelf = {shelf:?}\n[store]\npath = \
         \"{{dir}}/assay.redb\"\n[access]\ndefault_rate = 0\naddress_rate = 0\n\
         [[access.keys]]\nname = \"bench\"\nkey = \"{KEY}\"\nscopes = [\"read\", \"submit\", \"admin\"]\n\
         [reading]\nindex = \"on\"\nindex_path = {index:?}\nindex_per_second = 0\n\
         {chains}"
    )
}

/// Waits until the index has all events of this many chains. Seconds since the start.
pub(super) async fn in_step(service: &Service, chains: usize, market: Market) -> Result<f64, Failure> {
    let (started, api) = (Instant::now(), service.keyed());
    let last = (market.head() - FINALITY).to_string();
    while started.elapsed() < LONGEST {
        let metrics = api.get("/metrics").await.text;
        let through = metrics.lines().filter(|line| line.starts_with("assay_index_through_block"));
        if through.filter(|line| line.rsplit(' ').next() == Some(last.as_str())).count() == chains {
            return Ok(started.elapsed().as_secs_f64());
        }
        sleep(POLL).await;
    }
    Err(format!("the index is not in step after {} s; the server says: {}", LONGEST.as_secs(), service.log()).into())
}

fn time(market: Market, seconds: f64, bare: &Bare, [before, after]: [f64; 2]) -> Row {
    Row {
        what: format!("index of {} events: seconds", market.events),
        measured: seconds,
        reference: "download and decoding of the same logs".to_owned(),
        reference_value: bare.seconds,
        unit: Unit::Count,
        ratio: seconds / bare.seconds,
        target: Target::AtMost(SLOWER),
        note: format!(
            "{} logs of {} wallets by a stub of a node, whose rate is not limited; the reference, one task on one \
             thread, took {before:.1} s before and {after:.1} s after; the index reads each range in a task of its \
             own",
            bare.logs, market.wallets
        ),
    }
}

fn bytes(market: Market, size: u64) -> Row {
    Row {
        what: "index: bytes on disk for an event".to_owned(),
        measured: size as f64 / market.events as f64,
        reference: String::new(),
        reference_value: f64::NAN,
        unit: Unit::Count,
        ratio: f64::NAN,
        target: Target::Within(BYTES),
        note: format!("{:.1} MB after the server has stopped", size as f64 / 1e6),
    }
}

fn memory(peak: u64) -> Row {
    Row {
        what: "index: most resident memory of the server, MB".to_owned(),
        measured: peak as f64 / 1e6,
        reference: String::new(),
        reference_value: f64::NAN,
        unit: Unit::Count,
        ratio: f64::NAN,
        target: Target::Within(MEGABYTES),
        note: String::new(),
    }
}

/// The slowest of many histories, beside the slowest of as many log queries for one wallet.
async fn history(market: Market, config: &Config, folder: &Path) -> Result<Row, Failure> {
    let index = Index::open(folder)?;
    let chain = config.chains.first().ok_or("no chain")?;
    let client = Client::new(&endpoint::http(), &chain.endpoints(), &config.reading.rpc);
    let (mut histories, mut queries, mut entries) = (Vec::new(), Vec::new(), 0);
    for number in (0..HISTORIES).map(|n| n * 7_919 % market.wallets) {
        let started = Instant::now();
        let history = index.history(CHAIN, wallet(number))?.ok_or("nothing is indexed")?;
        histories.push(started.elapsed().as_secs_f64() * 1e3);
        entries += history.entries.iter().map(Vec::len).sum::<usize>();
        let mut query = LogQuery { addresses: vec![pool(0)], ..LogQuery::default() };
        if let Some(topic) = query.topics.get_mut(2) {
            topic.push(wallet(number).into_word());
        }
        let started = Instant::now();
        client.believed_logs(&query, Span { from: FROM, to: FROM + RANGE - 1 }).await?;
        queries.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let (measured, reference_value) = (slowest(histories), slowest(queries));
    Ok(Row {
        what: "a wallet's history from the index, p99".to_owned(),
        measured,
        reference: "one eth_getLogs of 10,000 blocks at the stub, p99".to_owned(),
        reference_value,
        unit: Unit::Milliseconds,
        ratio: measured / reference_value,
        target: Target::None,
        note: format!("{HISTORIES} wallets with {:.1} entries each", entries as f64 / HISTORIES as f64),
    })
}

/// The 99th percentile.
fn slowest(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() * 99 / 100).copied().unwrap_or(f64::NAN)
}

pub(super) fn size(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A journal reserves more bytes than it uses.
        bytes += if entry.file_type()?.is_dir() { size(&entry.path())? } else { entry.metadata()?.blocks() * 512 };
    }
    Ok(bytes)
}
