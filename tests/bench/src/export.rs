//! A thousand borrowers as of a past block, by `assay features export` with an index, beside a plain loop of the calls
//! that nobody can avoid.

mod bare;

use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use assay_tests::{
    economy::Economy,
    proxy::{Call, Proxy},
    service::{KEY, Service, binary, plugins},
};
use tempfile::TempDir;
use tokio::{runtime, time::sleep};

use super::{
    Effort, Failure,
    table::{Row, Target, Unit},
};

const POLL: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(300);
/// Wallets that are read together.
const TOGETHER: usize = 100;
const MORE: f64 = 1.3;
/// The day of the economy as of which wallets are exported.
const DAY: u64 = 386;

/// The cost of an export or of its reference.
struct Cost {
    calls: usize,
    requests: usize,
    seconds: f64,
    words: String,
}

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(compare(if effort.quick { 200 } else { 1_000 }, effort.of(5)))
}

async fn compare(wallets: u64, rounds: usize) -> Result<Vec<Row>, Failure> {
    let economy = Economy::start(wallets, 1).await?;
    let proxy = Proxy::start(economy.chain.url()).await;
    let folder = indexed(&economy, &proxy).await?;
    let list: Vec<String> = economy.borrowers.iter().map(ToString::to_string).collect();
    std::fs::write(folder.path().join("addresses.txt"), list.join("\n"))?;
    let (mut exports, mut bares) = (Vec::new(), Vec::new());
    // In turn, because the machine may change meanwhile.
    for _ in 0..rounds {
        exports.push(export(&folder, &proxy).await?);
        bares.push(bare(&economy, &proxy).await?);
    }
    let fastest = |costs: Vec<Cost>| costs.into_iter().min_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let (export, bare) = fastest(exports).zip(fastest(bares)).ok_or("no round")?;
    let row = |unit: &str, target: Target, (measured, reference_value): (f64, f64), note: String| Row {
        what: format!("{wallets} wallets as of a past block: {unit}"),
        measured,
        reference: "a plain loop of the calls that this needs".to_owned(),
        reference_value,
        unit: Unit::Count,
        ratio: measured / reference_value,
        target,
        note,
    };
    Ok(vec![
        row(
            "calls",
            Target::AtMost(MORE),
            (export.calls as f64, bare.calls as f64),
            format!("{}; the loop {}", export.words, bare.words),
        ),
        row("requests", Target::None, (export.requests as f64, bare.requests as f64), String::new()),
        row(
            "seconds",
            Target::AtMost(MORE),
            (export.seconds, bare.seconds),
            format!("the fastest of {rounds} rounds each"),
        ),
    ])
}

/// A folder with a configuration at the proxy and the index of the market.
async fn indexed(economy: &Economy, proxy: &Proxy) -> Result<TempDir, Failure> {
    let config = economy.config_toml(&plugins(), KEY).replace(economy.chain.url(), &proxy.url);
    let service = Service::start(&config);
    let (api, started) = (service.keyed(), Instant::now());
    while !api.get("/metrics").await.text.lines().any(|line| line == "assay_index_behind_blocks{chain=\"1\"} 0") {
        if started.elapsed() > LONGEST {
            return Err(format!("the index is not in step: {}", service.log()).into());
        }
        sleep(POLL).await;
    }
    Ok(service.terminate_keeping().await)
}

async fn export(folder: &TempDir, proxy: &Proxy) -> Result<Cost, Failure> {
    let output = folder.path().join("features.jsonl");
    let _ = std::fs::remove_file(&output);
    let (as_of, at_once) = (Economy::day(DAY).to_string(), TOGETHER.to_string());
    let mut command = Command::new(binary());
    command.current_dir(folder.path()).stdout(Stdio::null());
    command.args(["features", "export", "--at-once", &at_once, "--from", "addresses.txt", "--as-of", &as_of, "-o"]);
    command.arg(&output);
    proxy.take();
    let started = Instant::now();
    let done = tokio::task::spawn_blocking(move || command.output()).await??;
    let seconds = started.elapsed().as_secs_f64();
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("features cannot be exported: {}", said.lines().last().unwrap_or_default()).into());
    }
    Ok(Cost::of(&proxy.take(), seconds))
}

async fn bare(economy: &Economy, proxy: &Proxy) -> Result<Cost, Failure> {
    proxy.take();
    let started = Instant::now();
    bare::read(economy, &proxy.url, Economy::day(DAY), TOGETHER).await?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Cost::of(&proxy.take(), seconds))
}

impl Cost {
    fn of(calls: &[Call], seconds: f64) -> Self {
        let mut methods: BTreeMap<&str, usize> = BTreeMap::new();
        calls.iter().for_each(|call| *methods.entry(&call.method).or_default() += 1);
        let words: Vec<String> = methods.iter().map(|(method, count)| format!("{count} {method}")).collect();
        let requests = calls.iter().map(|call| call.request).collect::<std::collections::BTreeSet<_>>().len();
        Self { calls: calls.len(), requests, seconds, words: words.join(", ") }
    }
}
