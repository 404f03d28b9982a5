//! A thousand new wallets, by ten requests for a hundred scores each and by `assay features export`, at an endpoint
//! that answers logs for a hundred blocks: with an index in step, and without one.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use alloy::primitives::Address;
use assay_tests::{
    devnet::{Devnet, ETHEREUM},
    proxy::{Call, Proxy, Reply},
    service::{KEY, Service, binary, plugins},
};
use tokio::time::sleep;

use crate::{
    Effort, Failure,
    table::{Row, Target, Unit},
};

/// Wallets of one request.
const TOGETHER: usize = 100;
/// Blocks of one log query.
const RANGE: u64 = 100;
const POLL: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(300);

/// What the wallets cost.
struct Cost {
    requests: usize,
    log_queries: usize,
    seconds: f64,
}

pub async fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let devnet = Devnet::start(|_| {}).await?;
    let wallets = wallets(&devnet, if effort.quick { 200 } else { 1_000 });
    let proxy = Proxy::start(devnet.ethereum.url()).await;
    proxy.rule(limited);
    let mut rows = Vec::new();
    let (without, indexed) =
        (scores(&devnet, &proxy, "off", &wallets).await?, scores(&devnet, &proxy, "on", &wallets).await?);
    rows.extend(compared("scores", &wallets, &devnet, &without, &indexed));
    let (without, indexed) =
        (export(&devnet, &proxy, "off", &wallets).await?, export(&devnet, &proxy, "on", &wallets).await?);
    rows.extend(compared("features export", &wallets, &devnet, &without, &indexed));
    Ok(rows)
}

/// The wallets of the devnet, and others without history.
fn wallets(devnet: &Devnet, count: usize) -> Vec<Address> {
    let stranger = |n: u64| Address::left_padding_from(&(0x00c0_1d00_0000_0000 + n).to_be_bytes());
    devnet.wallets.iter().map(|wallet| wallet.address).chain((1..).map(stranger)).take(count).collect()
}

fn limited(call: &Call) -> Reply {
    match call.span() {
        Some((from, to)) if to - from >= RANGE => {
            Reply::Error { code: -32600, message: format!("query exceeds max block range {RANGE}") }
        }
        _ => Reply::Pass,
    }
}

/// A configuration of chain 1 alone, at the proxy.
fn configuration(devnet: &Devnet, proxy: &Proxy, index: &str) -> String {
    let toml = devnet.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY);
    let one = toml.split("\n[[chains]]\n").take(2).collect::<Vec<_>>().join("\n[[chains]]\n");
    let one = one.replace(devnet.ethereum.url(), &proxy.url);
    format!("{one}\n[reading]\nindex = \"{index}\"\nindex_path = \"{{dir}}/index\"\nindex_per_second = 0\n")
}

async fn scores(devnet: &Devnet, proxy: &Proxy, index: &str, wallets: &[Address]) -> Result<Cost, Failure> {
    let service = started(devnet, proxy, index).await?;
    let (api, started) = (service.keyed(), Instant::now());
    for part in wallets.chunks(TOGETHER) {
        let list: Vec<String> = part.iter().map(Address::to_string).collect();
        let answer = api.get(&format!("/api/v2/score/batch/?address={}", list.join(","))).await;
        if !matches!(answer.status.as_u16(), 200 | 404) {
            return Err(format!("scores cannot be read: {} {}", answer.status, answer.text).into());
        }
    }
    Ok(Cost::of(&proxy.take(), started))
}

async fn export(devnet: &Devnet, proxy: &Proxy, index: &str, wallets: &[Address]) -> Result<Cost, Failure> {
    // The index is read by a server before, and is there when the export begins.
    let folder = started(devnet, proxy, index).await?.terminate_keeping().await;
    let list: Vec<String> = wallets.iter().map(Address::to_string).collect();
    let (addresses, config) = (folder.path().join("addresses.txt"), folder.path().join("assay.toml"));
    std::fs::write(&addresses, list.join("\n"))?;
    proxy.take();
    let started = Instant::now();
    let mut command = Command::new(binary());
    command.args(["features", "export", "--at-once", "100", "--from"]).arg(&addresses).arg("-o");
    command.arg(folder.path().join("features.jsonl")).arg("--config").arg(&config).stdout(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("features cannot be exported: {}", said.lines().last().unwrap_or_default()).into());
    }
    Ok(Cost::of(&proxy.take(), started))
}

/// A server that has read one wallet and, where it has an index, all markets.
async fn started(devnet: &Devnet, proxy: &Proxy, index: &str) -> Result<Service, Failure> {
    let service = Service::start(&configuration(devnet, proxy, index));
    let (api, started) = (service.keyed(), Instant::now());
    api.get(&format!("/api/v2/score/address/{}", Address::repeat_byte(0xee))).await;
    let behind = format!("assay_index_behind_blocks{{chain=\"{ETHEREUM}\"}} 0");
    while index == "on" && !api.get("/metrics").await.text.lines().any(|line| line == behind) {
        if started.elapsed() > LONGEST {
            return Err(format!("the index is not in step: {}", service.log()).into());
        }
        sleep(POLL).await;
    }
    proxy.take();
    Ok(service)
}

impl Cost {
    fn of(calls: &[Call], started: Instant) -> Self {
        Self {
            requests: calls.iter().map(|call| call.request).collect::<BTreeSet<_>>().len(),
            log_queries: calls.iter().filter(|call| call.method == "eth_getLogs").count(),
            seconds: started.elapsed().as_secs_f64(),
        }
    }
}

fn compared(what: &str, wallets: &[Address], devnet: &Devnet, without: &Cost, indexed: &Cost) -> [Row; 2] {
    let row = |unit: &str, measured: f64, reference_value: f64, note: String| Row {
        what: format!("{} new wallets, {what}: {unit}", wallets.len()),
        measured,
        reference: "without an index".to_owned(),
        reference_value,
        unit: Unit::Count,
        ratio: measured / reference_value,
        target: Target::None,
        note,
    };
    let note = format!(
        "{} log queries with an index and {} without; {} wallets have a history; the endpoint answers logs for {RANGE} \
         blocks",
        indexed.log_queries,
        without.log_queries,
        devnet.wallets.len()
    );
    [
        row("requests", indexed.requests as f64, without.requests as f64, note),
        row("seconds", indexed.seconds, without.seconds, String::new()),
    ]
}
