//! Reads wallets through a provider that refuses, and again once it answers everything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy::rpc::json_rpc::ErrorPayload;
use assay::config::Config;
use assay_domain::{Address, ChainSnapshot, Coverage, Snapshot};
use assay_evm::Fault;
use assay_tests::devnet::Devnet;
use assay_tests::proxy::{Call, Proxy, Refusal, Reply};
use futures::StreamExt;
use futures::future::join_all;
use futures::stream;

use super::super::index::indexed;
use super::super::{PATIENCE, Reader, remembering};
use super::outcome::{Cost, Outcome, Wrong};
use super::scene::{Scene, refusal};
use super::table::{Reaction, Row};
use super::{SETTINGS, Setting, report};

/// Rows at once: most time is spent waiting.
const AT_ONCE: usize = 12;
/// Rows from one to the next.
const STRIDE: usize = 17;
/// Reads until the answer is right.
const READS: usize = 2;
/// Undisturbed reads in which what was learned is forgotten.
const RECOVERY: usize = 6;
/// Reads while an endpoint rests after failures, and the pause between them.
const RESTING: (usize, Duration) = (200, Duration::from_millis(50));
/// The longest read.
const BUDGET: Duration = Duration::from_secs(20);
/// Wallets in one batch.
pub(super) const TOGETHER: usize = 3;

/// The snapshots of several wallets, and what each cost.
type Reads = Vec<(Arc<Snapshot>, Cost)>;

pub(super) struct Bench<'a> {
    devnet: &'a Devnet,
    scene: Scene,
    /// The first is read through the disturbance, the others after it.
    wallets: Vec<Address>,
    /// Undisturbed snapshots and costs, by setting and by whether a contract fails.
    undisturbed: BTreeMap<(Setting, bool), Reads>,
}

/// A reader, and the proxies before its endpoints.
struct Met {
    reader: Reader,
    proxies: Vec<Proxy>,
}

impl Met {
    fn taken(&self) -> Cost {
        Cost::take(&self.proxies.iter().collect::<Vec<_>>())
    }

    fn pass(&self) {
        self.proxies.iter().for_each(|proxy| proxy.rule(|_| Reply::Pass));
    }
}

fn eager(config: &mut Config) {
    (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = (Duration::ZERO, Duration::ZERO);
    config.scoring.read_budget = BUDGET;
}

impl<'a> Bench<'a> {
    pub(super) async fn of(devnet: &'a Devnet) -> Self {
        let borrower = devnet.wallet("borrower").address;
        let others = devnet.wallets.iter().map(|wallet| wallet.address).filter(|wallet| *wallet != borrower);
        let wallets = [borrower].into_iter().chain(others).take(1 + RECOVERY.max(TOGETHER)).collect();
        let scene = Scene::of(devnet).await;
        let mut bench = Self { devnet, scene, wallets, undisturbed: BTreeMap::new() };
        for setting in SETTINGS {
            for is_contract in [false, true] {
                let reads = bench.undisturbed(setting, is_contract).await;
                bench.undisturbed.insert((setting, is_contract), reads);
            }
        }
        bench
    }

    pub(super) fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The wallets one after the other, without a disturbance other than a contract that fails.
    async fn undisturbed(&self, setting: Setting, is_contract: bool) -> Vec<(Arc<Snapshot>, Cost)> {
        let met = self.meet(setting, is_contract, self.contract_fails(is_contract)).await;
        if setting == Setting::Index {
            met.reader.in_step(self.devnet.ethereum.id, &self.devnet.ethereum.rpc).await;
            met.taken();
        }
        let mut reads = Vec::new();
        // Nothing is learned from a contract that fails.
        for at in 0..if is_contract { 1 } else { self.wallets.len() } {
            let read = self.read(&met.reader, setting, at).await;
            reads.push((read, met.taken()));
        }
        reads
    }

    /// The rule of a node on which a contract reverts.
    fn contract_fails(&self, is_contract: bool) -> impl FnMut(&Call) -> Reply + Send + 'static {
        let contract = self.scene.contract.to_string();
        let reverted = Refusal::new(3, "execution reverted");
        move |call| match call.params[0]["to"].as_str() {
            Some(to) if is_contract && to.eq_ignore_ascii_case(&contract) => Reply::Refuse(reverted.clone()),
            _ => Reply::Pass,
        }
    }

    async fn meet(
        &self,
        setting: Setting,
        is_contract: bool,
        rule: impl FnMut(&Call) -> Reply + Send + 'static,
    ) -> Met {
        let mut proxies = vec![remembering(&self.devnet.ethereum).await];
        proxies[0].rule(rule);
        if setting == Setting::Two {
            proxies.push(remembering(&self.devnet.ethereum).await);
            proxies[1].rule(self.contract_fails(is_contract));
        }
        let bare = is_contract || setting == Setting::Batch;
        let reader = Reader::of(self.devnet)
            .ethereum()
            .through(&proxies.iter().collect::<Vec<_>>())
            .with(eager)
            .with(|config| config.chains[0].multicall = config.chains[0].multicall.filter(|_| !bare));
        let reader = if setting == Setting::Index { reader.with(indexed) } else { reader };
        Met { reader: reader.started().await, proxies }
    }

    /// The snapshot of the wallet at a place, with that of others at the same time if batches are shared.
    async fn read(&self, reader: &Reader, setting: Setting, at: usize) -> Arc<Snapshot> {
        if setting != Setting::Batch || at > 0 {
            return reader.read(self.wallets[at]).await;
        }
        let chains = reader.chains().together();
        let reads = join_all(self.wallets.iter().take(TOGETHER).map(|wallet| chains.snapshot(*wallet))).await;
        reads.into_iter().next().unwrap().snapshot
    }

    /// The outcome of each row in each setting; with `recovery`, also of reads after the disturbance. Then each outcome
    /// is printed once it is known.
    pub(super) async fn run(&self, rows: &[Row], settings: &[Setting], recovery: bool) -> Vec<Outcome> {
        // A run that is cut short has some of every kind.
        let strided = (0..STRIDE).flat_map(|at| rows.iter().skip(at).step_by(STRIDE));
        let runs = strided.flat_map(|row| settings.iter().map(move |setting| (row, *setting)));
        let runs = runs.map(|(row, setting)| {
            let rule = self.scene.rule(row, setting);
            self.disturbed(row, setting, said(row), rule, recovery)
        });
        if recovery {
            println!("{}", report::COLUMNS);
        }
        let outcomes = stream::iter(runs).buffer_unordered(AT_ONCE);
        let outcomes = outcomes.inspect(|outcome| {
            if recovery {
                println!("{}", report::tsv(outcome));
            }
        });
        let mut outcomes: Vec<Outcome> = outcomes.collect().await;
        outcomes.sort_by_key(|outcome| (outcome.row.line, outcome.setting));
        outcomes
    }

    /// The outcome of a disturbance.
    pub(super) async fn disturbed(
        &self,
        row: &Row,
        setting: Setting,
        fault: String,
        rule: impl FnMut(&Call) -> Reply + Send + 'static,
        recovery: bool,
    ) -> Outcome {
        let is_contract = row.reaction == Reaction::Final;
        let undisturbed = &self.undisturbed[&(setting, is_contract)];
        let mut outcome = Outcome {
            row: *row,
            setting,
            fault,
            is_final: false,
            reads: 0,
            cost: Cost::default(),
            recovered: 0,
            time: Duration::ZERO,
            wrong_finals: Vec::new(),
            problems: Vec::new(),
        };
        let began = Instant::now();
        let met = self.meet(setting, is_contract, rule).await;
        let (truth, cost) = &undisturbed[0];
        let (mut read, mut is_true);
        loop {
            read = self.read(&met.reader, setting, 0).await;
            is_true = outcome.add(truth, &read);
            if is_contract {
                // Not final undisturbed either: the contract's part is missing.
                is_true = read.chains == truth.chains;
            }
            outcome.cost = outcome.cost + met.taken();
            // On a busy machine a read can outlast its budget. It then continues after its answer.
            let is_late = !outcome.ends_unread() && is_pending(&read) && began.elapsed() < PATIENCE;
            if is_true || (outcome.reads >= READS && !is_late) {
                break;
            }
        }
        outcome.time = began.elapsed();
        let index_cost =
            if setting == Setting::Index { self.undisturbed[&(Setting::One, is_contract)][0].1 } else { *cost };
        outcome.judge(is_true, &read, index_cost.max(*cost));
        if recovery && !is_contract && !outcome.is_named_limit() {
            self.recover(&met, setting, &mut outcome).await;
        }
        outcome
    }

    /// Reads wallets after the disturbance, until one costs what it costs without.
    async fn recover(&self, met: &Met, setting: Setting, outcome: &mut Outcome) {
        met.pass();
        met.taken();
        let setting = if setting == Setting::Index { Setting::One } else { setting };
        let undisturbed = &self.undisturbed[&(setting, false)];
        let mut last = Cost::default();
        for (at, (truth, cost)) in undisturbed.iter().enumerate().skip(1) {
            for _ in 0..RESTING.0 {
                met.taken();
                let read = met.reader.read(self.wallets[at]).await;
                last = met.taken();
                if outcome.check(truth, &read) {
                    break;
                }
                tokio::time::sleep(RESTING.1).await;
            }
            if last.is_about(*cost) {
                outcome.recovered = at;
                return;
            }
        }
        let expected = undisturbed.last().map(|(_, cost)| *cost).unwrap_or_default();
        outcome.problems.push((Wrong::Lasting, format!("{last:?} instead of {expected:?}")));
    }
}

fn is_pending(read: &Snapshot) -> bool {
    let pending = |chain: &ChainSnapshot| {
        chain.coverage == Coverage::Pending || chain.pools.iter().any(|pool| pool.coverage == Coverage::Pending)
    };
    read.chains.iter().any(pending)
}

/// The fault that this server makes of a row.
pub(super) fn said(row: &Row) -> String {
    let refusal = refusal(row);
    match serde_json::from_value::<ErrorPayload>(refusal.error) {
        Ok(payload) => {
            let method = if row.method.starts_with("eth_") { row.method } else { "eth_getTransactionCount" };
            format!("{:?}", Fault::of(method, &payload))
        }
        Err(_) => "a page".to_owned(),
    }
}
