//! The table of faults: wallets read through endpoints that misbehave in one way, with and without an index. A snapshot
//! that is final is the true one. The whole table, over all wallets, is printed where `ASSAY_SOAK` is set.

use std::fmt;
use std::time::{Duration, Instant};

use assay::config::Config;
use assay_domain::{Secret, Snapshot};
use assay_tests::devnet::{Devnet, Wallet};
use assay_tests::proxy::distant::{Counted, Distant, Limit, Manner, Meter, Node};
use assay_tests::proxy::{Call, Fault, Proxy, Reply};
use futures::future::join_all;
use serde_json::json;

use super::heads::{self, asks_head};
use super::hidden::{falsehood, is_final};
use super::index::indexed;
use super::{PATIENCE, Reader, remembering, with};

/// Reads of a wallet while the fault lasts.
const READS: usize = 4;
/// Wallets of the short form.
const FEW: usize = 4;

/// What an endpoint does to a call, given the number of its request and a block far below the head.
type Rule = fn(u64, u64, &Call) -> Reply;

struct Row {
    what: &'static str,
    rule: Rule,
    /// A good endpoint is listed after the bad one.
    second: bool,
    /// It is in the short form.
    short: bool,
    /// It leaves logs out. Credit is not compared then: nothing else tells of it, and no score uses it.
    hides_logs: bool,
}

const ROW: Row = Row { what: "no fault", rule: |_, _, _| Reply::Pass, second: false, short: false, hides_logs: false };
const TABLE: [Row; 13] = [
    ROW,
    Row { what: "503 for 5 % of requests", rule: |n, _, _| some(n, Reply::Status(503, None)), ..ROW },
    Row { what: "HTML for 5 %", rule: |n, _, _| some(n, Reply::Spoil(Fault::Page)), short: true, ..ROW },
    Row { what: "5 % truncated", rule: |n, _, _| some(n, Reply::Spoil(Fault::Half)), ..ROW },
    Row { what: "5 % of connections reset", rule: |n, _, _| some(n, Reply::Spoil(Fault::Reset)), ..ROW },
    Row { what: "another id for 5 %", rule: |n, _, _| some(n, Reply::Spoil(Fault::OtherId)), ..ROW },
    Row { what: "5 % of batches in part", rule: |n, _, _| some(n, Reply::Spoil(Fault::Partly)), ..ROW },
    Row { what: "far behind", rule: |_, block, call| behind(block, call), short: true, ..ROW },
    Row { what: "far behind, with another", rule: |_, block, call| behind(block, call), second: true, ..ROW },
    Row { what: "far behind every other time", rule: flapping, short: true, ..ROW },
    Row { what: "no logs for every third query", rule: |n, _, call| lost(n, call), hides_logs: true, ..ROW },
    Row {
        what: "no logs, with another",
        rule: |_, _, call| lost(0, call),
        second: true,
        short: true,
        hides_logs: true,
    },
    Row { what: "refuses all, with another", rule: |_, _, _| Reply::Status(503, None), second: true, ..ROW },
];

/// One request in twenty is answered so.
fn some(number: u64, reply: Reply) -> Reply {
    if number.is_multiple_of(20) { reply } else { Reply::Pass }
}

fn behind(block: u64, call: &Call) -> Reply {
    if asks_head(call) { Reply::Instead(json!([format!("{block:#x}"), false])) } else { Reply::Pass }
}

fn flapping(number: u64, block: u64, call: &Call) -> Reply {
    if number.is_multiple_of(2) { behind(block, call) } else { Reply::Pass }
}

fn lost(number: u64, call: &Call) -> Reply {
    if call.span().is_some() && number.is_multiple_of(3) { Reply::Result(json!([])) } else { Reply::Pass }
}

/// What came of a fault.
#[derive(Default)]
struct Outcome {
    reads: usize,
    finals: usize,
    wrong: Vec<String>,
    /// From the first read of each wallet to its first final and right one; `None` without one.
    right: Vec<Option<Duration>>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let right = self.right.iter().flatten();
        write!(
            f,
            "{} reads, {} final, {} wrong and final; {} of {} wallets right, after at most {:.1?}",
            self.reads,
            self.finals,
            self.wrong.len(),
            right.clone().count(),
            self.right.len(),
            right.max().copied().unwrap_or_default()
        )
    }
}

fn uncached(config: &mut Config) {
    (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = (Duration::ZERO, Duration::ZERO);
    config.scoring.read_budget = PATIENCE;
}

/// The snapshot without the credit that the wallet gave or received.
fn without_credit(snapshot: &Snapshot) -> Snapshot {
    let mut own = snapshot.clone();
    for chain in &mut own.chains {
        chain.positions.iter_mut().for_each(|position| position.delegations = None);
        chain.positions.retain(|position| !position.assets.is_empty());
    }
    own
}

/// Reads each wallet [`READS`] times.
async fn read(reader: &Reader, truths: &[(&Wallet, std::sync::Arc<Snapshot>)], hides_logs: bool) -> Outcome {
    let of_each = truths.iter().map(async |(wallet, truth)| {
        let (started, mut outcome) = (Instant::now(), Outcome::default());
        let mut right = None;
        for _ in 0..READS {
            let read = reader.read(wallet.address).await;
            outcome.reads += 1;
            if is_final(&read) {
                outcome.finals += 1;
                let found = if hides_logs {
                    falsehood(&without_credit(truth), &without_credit(&read))
                } else {
                    falsehood(truth, &read)
                };
                match found {
                    Some(parts) => outcome.wrong.push(format!("{}: {parts}", wallet.name)),
                    None => right = right.or_else(|| Some(started.elapsed())),
                }
            }
        }
        outcome.right.push(right);
        outcome
    });
    join_all(of_each).await.into_iter().fold(Outcome::default(), |mut all, one| {
        (all.reads, all.finals) = (all.reads + one.reads, all.finals + one.finals);
        all.wrong.extend(one.wrong);
        all.right.extend(one.right);
        all
    })
}

async fn truths(devnet: &Devnet, wallets: usize) -> Vec<(&Wallet, std::sync::Arc<Snapshot>)> {
    let reader = Reader::of(devnet).ethereum().started().await;
    let wallets: Vec<&Wallet> = devnet.wallets.iter().take(wallets).collect();
    let reads = join_all(wallets.iter().map(|wallet| reader.read(wallet.address))).await;
    wallets.into_iter().zip(reads).collect()
}

/// A reader of the devnet that has seen the head before the endpoint misbehaves.
async fn misled(devnet: &Devnet, row: &Row, index: bool, proxies: [&Proxy; 2]) -> Reader {
    let endpoints = if row.second { &proxies[..] } else { &proxies[..1] };
    // Neither block is too old, but one is far behind the other.
    let (block, age) = heads::behind(devnet).await;
    let reader = Reader::of(devnet).ethereum().through(endpoints).with(uncached).with(heads::bounded(2 * age));
    let reader = if index { reader.with(indexed) } else { reader }.started().await;
    if index {
        reader.in_step(devnet.ethereum.id, &devnet.ethereum.rpc).await;
    }
    reader.read(devnet.wallet("saver").address).await;
    let rule = row.rule;
    proxies[0].rule(move |call| rule(call.request, block, call));
    reader
}

#[test]
fn no_fault_makes_a_snapshot_that_is_final_and_wrong() {
    with(async |devnet| {
        let is_soak = std::env::var_os("ASSAY_SOAK").is_some();
        let truths = truths(devnet, if is_soak { usize::MAX } else { FEW }).await;
        let mut wrong = Vec::new();
        for row in TABLE.iter().filter(|row| is_soak || row.short) {
            for index in [false, true] {
                let (bad, good) = (remembering(&devnet.ethereum).await, remembering(&devnet.ethereum).await);
                let reader = misled(devnet, row, index, [&bad, &good]).await;
                let outcome = read(&reader, &truths, row.hides_logs).await;
                println!("{}{}: {outcome}", row.what, if index { ", index" } else { "" });
                wrong.extend(outcome.wrong.iter().map(|wrong| format!("{}, index {index}: {wrong}", row.what)));
            }
        }
        assert!(wrong.is_empty(), "final and wrong:\n{}", wrong.join("\n"));
    });
}

/// Asserts that five wallets, read at once through an endpoint with this delay and limit and without multicall, are
/// right in the end.
async fn five_at_once(devnet: &Devnet, what: &str, delay: Duration, limit: Option<Limit>) {
    let truths = truths(devnet, 5).await;
    let (meter, manner) = (Meter::default(), Manner { delay, limit, ..Manner::spread(1) });
    let endpoint = Distant::start(Node::new(devnet.ethereum.url()), manner, &meter).await;
    let there = vec![Secret::new(&endpoint.url)];
    let bare = |config: &mut Config| (config.chains[0].rpc, config.chains[0].multicall) = (there, None);
    let reader = Reader::of(devnet).ethereum().with(uncached).with(bare).started().await;
    let outcome = read(&reader, &truths, false).await;
    println!("{what}: {outcome}; {:?}", meter.take());
    assert!(outcome.wrong.is_empty(), "{:?}", outcome.wrong);
    assert!(outcome.right.iter().all(Option::is_some), "{what}: {outcome}");
}

#[test]
fn five_wallets_at_once_are_right_at_ten_calls_a_second() {
    let limit = Limit { counted: Counted::Calls, per_second: 10, retry_after: Some(1) };
    with(async |devnet| {
        five_at_once(devnet, "10 calls a second, no multicall", Duration::from_millis(50), Some(limit)).await;
    });
}

#[test]
fn five_wallets_at_once_are_right_at_750_milliseconds_a_request() {
    with(async |devnet| five_at_once(devnet, "750 ms a request", Duration::from_millis(750), None).await);
}
