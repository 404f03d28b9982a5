//! Each log of each wallet left out of every answer, one at a time, by the only endpoint or by one beside an honest
//! one, also of its receipts, with and without an index, in a first read or in one that goes on, and all logs of each
//! transaction: a history that is complete is the true one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use alloy::primitives::B256;
use assay::config::Config;
use assay_domain::{Address, Coverage, EventCounts, Snapshot, Time};
use assay_tests::devnet::Rpc;
use assay_tests::proxy::{Call, Memory, Proxy, Reply};
use futures::future::join_all;
use serde_json::{Value, json};

use super::index::indexed;
use super::lies::topic;
use super::{Reader, with};

/// Reads of a wallet while a log is left out, until its history is complete: a later one may know more.
const READS: usize = 3;

/// The largest number of logs of one wallet that are left out, each in its own round. A wallet of the devnet has
/// thousands.
const LOGS: usize = 40;
/// Rounds of the short form.
const FEW_ROUNDS: usize = 2;

/// A chain, and the wallets on it whose logs are left out.
pub(super) struct World<'a> {
    pub reader: &'a dyn Fn() -> Reader,
    pub url: &'a str,
    pub rpc: &'a Rpc,
    pub chain: u64,
    pub wallets: Vec<(&'static str, Address)>,
}

/// Who answers, and how histories are read.
#[derive(Debug, Clone, Copy)]
struct Setting {
    endpoints: usize,
    index: bool,
    /// Whether receipts lack the log, too.
    receipts: bool,
    /// Whether all logs of its transaction are left out with it.
    whole: bool,
    /// Whether the wallets were read before the block of the log.
    goes_on: bool,
    /// Whether the other endpoint answers no log query before the last read.
    refuses: bool,
}

const ONE: Setting =
    Setting { endpoints: 1, index: false, receipts: false, whole: false, goes_on: false, refuses: false };
const SETTINGS: [Setting; 12] = [
    ONE,
    Setting { endpoints: 2, goes_on: true, ..ONE },
    Setting { endpoints: 2, goes_on: true, refuses: true, ..ONE },
    Setting { endpoints: 2, refuses: true, ..ONE },
    Setting { goes_on: true, ..ONE },
    Setting { endpoints: 2, ..ONE },
    Setting { index: true, ..ONE },
    Setting { endpoints: 2, index: true, ..ONE },
    Setting { receipts: true, ..ONE },
    Setting { endpoints: 2, receipts: true, ..ONE },
    Setting { whole: true, ..ONE },
    Setting { endpoints: 2, whole: true, ..ONE },
];

impl Setting {
    fn is_of_soak(self) -> bool {
        self.receipts || self.whole || (self.goes_on != self.refuses)
    }
}

/// What the histories of a wallet are in every market.
type Histories = Vec<(Coverage, EventCounts, [Option<Time>; 3])>;
/// The transaction and the index of a log.
type Place = (String, String);

/// A log, or all logs of a transaction, that the endpoint hides while a wallet is read.
#[derive(Clone)]
struct Hidden {
    places: BTreeSet<Place>,
    block: u64,
    /// The words in their topics.
    names: BTreeSet<B256>,
    /// The cases whose wallet they name or whose reader was given one: a log of a new market or of a vault names none.
    concerns: BTreeSet<usize>,
}

impl Hidden {
    fn of(log: &Value) -> Self {
        let names = (1..4).filter_map(|at| topic(log, at)).collect();
        let block = log["blockNumber"].as_str().unwrap_or_default().trim_start_matches("0x");
        let block = u64::from_str_radix(block, 16).unwrap_or_default();
        Self { places: BTreeSet::from([place(log)]), block, names, concerns: BTreeSet::new() }
    }
}

/// A wallet with its true histories and its logs that are yet to be left out.
struct Case {
    name: &'static str,
    wallet: Address,
    truth: Histories,
    left: Vec<Hidden>,
}

/// What came of leaving logs out.
#[derive(Default)]
struct Outcome {
    hidden: usize,
    /// Complete in the first, and in the last read.
    first: usize,
    last: usize,
    wrong: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hidden, first, last, wrong } = self;
        write!(
            f,
            "{hidden} left out: {first} final at once, {last} after {READS} reads, {} wrong and final",
            wrong.len()
        )
    }
}

fn uncached(config: &mut Config) {
    (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = (Duration::ZERO, Duration::ZERO);
}

fn histories(read: &Snapshot) -> Histories {
    let pools = read.chains.iter().flat_map(|chain| &chain.pools);
    pools.map(|p| (p.coverage, p.counts, [p.first_event_at, p.last_event_at, p.last_liquidation_at])).collect()
}

fn is_complete(histories: &Histories) -> bool {
    histories.iter().all(|(coverage, ..)| *coverage == Coverage::Complete)
}

fn place(log: &Value) -> Place {
    let text = |key: &str| log[key].as_str().unwrap_or_default().to_owned();
    (text("transactionHash"), text("logIndex"))
}

/// The true histories of each wallet, and every log that a reader of them is given.
async fn cases(world: &World<'_>, said: &Memory) -> Vec<Case> {
    let cases = world.wallets.iter().map(async |(name, wallet)| {
        let proxy = Proxy::remembering(world.url, said).await;
        let given = Arc::new(Mutex::new(BTreeMap::<Place, Hidden>::new()));
        let seen = given.clone();
        proxy.forget(move |log| {
            seen.lock().unwrap().entry(place(log)).or_insert_with(|| Hidden::of(log));
            false
        });
        let reader = (world.reader)().through(&[&proxy]).with(uncached).started().await;
        let mut truth = histories(&*reader.read(*wallet).await);
        for _ in 1..READS {
            if !is_complete(&truth) {
                truth = histories(&*reader.read(*wallet).await);
            }
        }
        assert!(is_complete(&truth), "{name}: {truth:?}");
        let mut left: Vec<Hidden> = given.lock().unwrap().values().cloned().collect();
        // A limited number of logs, spread over the whole history.
        left.sort_by_cached_key(|hidden| alloy::primitives::keccak256(format!("{:?}", hidden.places)));
        Case { name, wallet: *wallet, truth, left }
    });
    let mut cases = join_all(cases).await;
    let known: Vec<_> = cases.iter().map(|case| (case.wallet.into_word(), places(&case.left))).collect();
    for hidden in cases.iter_mut().flat_map(|case| &mut case.left) {
        let concerned = known.iter().enumerate().filter(|(_, (wallet, given))| {
            hidden.names.contains(wallet) || hidden.places.iter().any(|place| given.contains(place))
        });
        hidden.concerns = concerned.map(|(index, _)| index).collect();
    }
    cases
}

fn places<'a>(hidden: impl IntoIterator<Item = &'a Hidden>) -> HashSet<Place> {
    hidden.into_iter().flat_map(|hidden| &hidden.places).cloned().collect()
}

/// Joins the logs of each transaction, of all wallets.
fn join_transactions(cases: &mut [Case]) {
    let transaction = |hidden: &Hidden| hidden.places.first().map(|(transaction, _)| transaction.clone());
    let mut joined = BTreeMap::<Option<String>, Hidden>::new();
    for hidden in cases.iter().flat_map(|case| &case.left) {
        let all = joined.entry(transaction(hidden)).or_insert_with(|| hidden.clone());
        all.places.extend(hidden.places.iter().cloned());
        all.concerns.extend(&hidden.concerns);
    }
    for case in cases {
        let own: BTreeSet<_> = case.left.iter().map(transaction).collect();
        case.left = own.iter().filter_map(|transaction| joined.get(transaction)).cloned().collect();
    }
}

/// Takes a log of each wallet, so that no wallet lacks two.
fn next_round(cases: &mut [Case]) -> Vec<(usize, Hidden)> {
    let (mut taken, mut round) = (BTreeSet::new(), Vec::new());
    for (index, case) in cases.iter_mut().enumerate() {
        let is_free = |hidden: &Hidden| hidden.concerns.is_disjoint(&taken);
        if let Some(place) = case.left.iter().position(is_free) {
            let hidden = case.left.remove(place);
            taken.extend(&hidden.concerns);
            round.push((index, hidden));
        }
    }
    round
}

/// The node's newest block is an earlier one.
fn at_block(number: u64) -> impl FnMut(&Call) -> Reply + Send + 'static {
    move |call| match (call.method.as_str(), call.params[0].as_str()) {
        ("eth_getBlockByNumber", Some("latest")) => Reply::Instead(json!([format!("{number:#x}"), call.params[1]])),
        _ => Reply::Pass,
    }
}

/// Reads the wallets of one round, each without a log. The proxies share the node's answers in `said`.
async fn read(
    world: &World<'_>,
    said: &Memory,
    setting: Setting,
    cases: &[Case],
    round: &[(usize, Hidden)],
    outcome: &mut Outcome,
) {
    let places = places(round.iter().map(|(_, hidden)| hidden));
    let (lying, honest) = (Proxy::remembering(world.url, said).await, Proxy::remembering(world.url, said).await);
    let hides = move |log: &Value| places.contains(&place(log));
    if setting.receipts {
        lying.forget_wholly(hides)
    } else {
        lying.forget(hides)
    }
    let both = [&lying, &honest];
    let reader = (world.reader)().through(&both[..setting.endpoints]).with(uncached);
    let reader = if setting.index { reader.with(indexed) } else { reader }.started().await;
    if setting.index {
        reader.in_step(world.chain, world.rpc).await;
    }
    if setting.goes_on {
        let before = round.iter().map(|(_, hidden)| hidden.block).min().unwrap_or_default().saturating_sub(1);
        both.iter().for_each(|proxy| proxy.rule(at_block(before)));
        join_all(round.iter().map(|(index, _)| reader.read(cases[*index].wallet))).await;
        both.iter().for_each(|proxy| proxy.rule(|_| Reply::Pass));
    }
    if setting.refuses {
        honest.rule(|call| match call.method.as_str() {
            "eth_getLogs" => Reply::Error { code: -32601, message: "the method eth_getLogs is not available".into() },
            _ => Reply::Pass,
        });
    }
    let mut last = vec![false; round.len()];
    let mut wrong = BTreeSet::new();
    for time in 0..READS {
        if time + 1 == READS {
            honest.rule(|_| Reply::Pass);
        }
        let open: Vec<_> = round.iter().enumerate().filter(|(at, _)| !last[*at]).collect();
        let reads = open.iter().map(|(_, (index, _))| reader.read(cases[*index].wallet));
        for ((at, (index, hidden)), read) in open.iter().copied().zip(join_all(reads).await) {
            let (case, histories) = (&cases[*index], histories(&read));
            last[at] = is_complete(&histories);
            outcome.first += usize::from(time == 0 && last[at]);
            let differs = |(told, truth): (&(Coverage, EventCounts, _), &(Coverage, EventCounts, _))| {
                told.0 == Coverage::Complete && told != truth
            };
            if histories.iter().zip(&case.truth).any(differs) && wrong.insert(at) {
                outcome.wrong.push(format!("{} without {:?}, in read {time}: {histories:?}", case.name, hidden.places));
            }
        }
    }
    outcome.hidden += round.len();
    outcome.last += last.iter().filter(|last| **last).count();
}

/// Asserts that no wallet of `world` has a wrong history that is complete, whichever of its logs is left out.
pub(super) async fn none_is_wrong(what: &str, world: World<'_>) {
    let (mut wrong, said) = (Vec::new(), Memory::default());
    let is_soak = std::env::var_os("ASSAY_SOAK").is_some();
    for setting in SETTINGS.into_iter().filter(|setting| is_soak || !setting.is_of_soak()) {
        let (mut cases, mut outcome, began) = (cases(&world, &said).await, Outcome::default(), Instant::now());
        if setting.whole {
            join_transactions(&mut cases);
        }
        let all: usize = cases.iter().map(|case| case.left.len()).sum();
        cases.iter_mut().for_each(|case| case.left.truncate(LOGS));
        for _ in 0..if is_soak { usize::MAX } else { FEW_ROUNDS } {
            let round = next_round(&mut cases);
            if round.is_empty() {
                break;
            }
            read(&world, &said, setting, &cases, &round, &mut outcome).await;
        }
        println!("{what}, {setting:?}: of {all} logs {outcome}, {:.0?}", began.elapsed());
        wrong.extend(outcome.wrong.iter().map(|wrong| format!("{setting:?}: {wrong}")));
    }
    assert!(wrong.is_empty(), "{} complete and wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |devnet| {
        let wallets = devnet.wallets.iter().map(|wallet| (wallet.name, wallet.address)).collect();
        let reader = || Reader::of(devnet).ethereum();
        let on = &devnet.ethereum;
        none_is_wrong("devnet", World { reader: &reader, url: on.url(), rpc: &on.rpc, chain: on.id, wallets }).await;
    });
}
