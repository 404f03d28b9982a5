//! The index of a chain with synthetic events: how it is built, and what wallets read from it.

mod node;

use std::{path::Path, sync::Arc, time::Duration};

use futures::FutureExt;
use tempfile::TempDir;
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{Budget, FollowState, Indexer, LazyIndex};
use crate::{
    Check, Checked, Index, IndexError, WalletEntries,
    config::IndexMode,
    tests::full::{limit, limited, run_limited},
};
use assay_domain::{Address, PoolHistory, Protocol, Secret};
use assay_evm::{
    Client, Span,
    config::{Endpoints, LogLimits, RpcLimits},
    endpoint,
};
use assay_lending::{Jobs, Market, Reader, Recent, Scan, config::MarketConfig, hints};
use assay_store::{Store, config::Store as StoreConfig};
use assay_tasks::Tracker;
use node::{Chain, Node, POOL, wallet};

const FINALITY: u64 = 16;
const FIRST: u64 = 20;
/// Longer than anything takes, also after rounds that failed and their pauses.
const PATIENCE: Duration = Duration::from_secs(600);
const LIMITS: LogLimits = LogLimits { range: 1_000, concurrency: 4 };

/// A running indexer. Dropping it ends it at once.
struct Running {
    state: Arc<FollowState>,
    task: JoinHandle<()>,
    client: Client,
    markets: Arc<[Market]>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn client(nodes: &[&Node]) -> Client {
    let limits = RpcLimits { timeout: PATIENCE, concurrency: 16, per_second: 0, retries: 2, traceparent: false };
    let rpc = nodes.iter().map(|node| Secret::new(&node.url)).collect();
    Client::new(&endpoint::http(), &Endpoints { chain: 1, rpc, multicall: None, max_head_age: None }, &limits)
}

fn indexer(nodes: &[&Node], folder: &Path) -> Indexer {
    let config = MarketConfig {
        protocol: Protocol::LenderAV3,
        market: None,
        address: POOL,
        from_block: FIRST,
        feeds_score: None,
        dialect: None,
        chainlog: None,
        lending_factory: None,
        evc: None,
    };
    Indexer {
        chain: 1,
        client: client(nodes),
        markets: [Market::new(config)].into(),
        terms: Arc::default(),
        finality: FINALITY,
        logs: LIMITS,
        mode: IndexMode::On,
        follows: true,
        budget: Budget::new(0),
        is_scoped: Default::default(),
        folder: Arc::new(LazyIndex::new(folder.join("index"))),
        state: FollowState::new(1),
    }
}

fn start(nodes: &[&Node], folder: &Path) -> Running {
    let indexer = indexer(nodes, folder);
    let (client, state, markets) = (indexer.client.clone(), indexer.state.clone(), indexer.markets.clone());
    let indexer = Arc::new(Indexer { client: client.behind(), ..indexer });
    Running { state, task: tokio::spawn(indexer.run()), client, markets }
}

impl Running {
    async fn reaches(&self, through: u64) {
        let mut states = self.state.watch();
        let reached = timeout(PATIENCE, states.wait_for(|state| state.through == Some(through))).await;
        assert!(reached.is_ok(), "{:?}", self.state.watch().borrow());
    }

    /// The history of `wallet`, from the index if `indexed`.
    async fn history(&self, wallet: Address, indexed: bool) -> Vec<PoolHistory> {
        let folder = tempfile::tempdir().unwrap();
        let config = StoreConfig::embedded(folder.path().join("assay.redb"));
        let (client, markets) = (self.client.clone(), self.markets.clone());
        let reader = Reader {
            chain: 1,
            client: client.clone(),
            markets: markets.clone(),
            terms: Arc::default(),
            store: Store::open(&config).await.unwrap(),
            tasks: Tracker::new(),
            logs: LIMITS,
            finality: FINALITY,
            index: indexed.then(|| self.state.clone() as Arc<dyn assay_lending::Index>),
            whole: None,
            recent: Recent::default(),
        };
        let jobs = Jobs::new(reader, Tracker::new(), CancellationToken::new());
        let (head, stored) = (client.head().await.unwrap(), jobs.stored(wallet).await);
        let (anchors, blocks) = (jobs.anchors(&stored, head), client.clone());
        let blocks = async move { blocks.stand(head, anchors).await }.boxed();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let history = jobs.history(wallet, stored, jobs.terms(head), blocks, head, deadline).await;
        history.markets.into_iter().map(|market| market.pool).collect()
    }

    /// What the index has, once it is closed.
    async fn contents(self, folder: &Path) -> (Vec<WalletEntries>, Checked) {
        self.task.abort();
        drop(self);
        let index = loop {
            match Index::open(&folder.join("index")) {
                Ok(index) => break index,
                Err(IndexError::Locked { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => panic!("{error}"),
            }
        };
        let wallets = index.wallets(1, 0).unwrap().map(Result::unwrap);
        (wallets.collect(), index.progress(1).unwrap().unwrap().checked)
    }
}

async fn node(head: u64) -> Node {
    Node::start(Arc::new(std::sync::Mutex::new(Chain { head, ..Chain::default() }))).await
}

/// What an index of `node` has that was built in one go.
async fn undisturbed(node: &Node) -> Vec<WalletEntries> {
    let folder = tempfile::tempdir().unwrap();
    let head = node.chain.lock().unwrap().head;
    let running = start(&[node], folder.path());
    running.reaches(head - FINALITY).await;
    running.contents(folder.path()).await.0
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_is_what_it_is_without_an_index_for_two_queries() {
    let (node, folder) = (node(2_000).await, folder());
    let running = start(&[&node], folder.path());
    running.reaches(2_000 - FINALITY).await;
    for number in (0..40).step_by(5).chain([41, 1_000]) {
        node.set(|chain| chain.queries = 0);
        let indexed = running.history(wallet(number), true).await;
        let queries = node.chain.lock().unwrap().queries;
        assert!(queries <= 2, "{number}: {queries}");
        let plain = running.history(wallet(number), false).await;
        assert_eq!(indexed, plain, "{number}");
        assert!(number >= 40 || plain[0].counts.supply > Some(20) && plain[0].counts.withdraw > Some(5), "{plain:?}");
    }
    // The pool is no wallet of the index.
    assert_eq!(running.history(POOL, true).await, running.history(POOL, false).await);
}

/// Stops the index once `node` has answered `most` queries, or once nothing is left to read.
async fn stopped_after(most: usize, node: &Node, running: Running) {
    while node.chain.lock().unwrap().queries < most && !running.state.watch().borrow().is_in_step() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_stopped_at_any_moment_ends_as_one_that_was_not() {
    let (node, folder) = (node(6_000).await, folder());
    let whole = undisturbed(&node).await;
    for stop in 0..10 {
        let most = node.chain.lock().unwrap().queries + 1 + stop * 7;
        stopped_after(most, &node, start(&[&node], folder.path())).await;
    }
    let running = start(&[&node], folder.path());
    running.reaches(6_000 - FINALITY).await;
    drop(running);
    // New blocks, and a stop after each of some requests.
    for stop in 1..6 {
        node.set(|chain| chain.head += 40);
        let most = node.chain.lock().unwrap().queries + usize::from(stop % 2 == 0);
        stopped_after(most, &node, start(&[&node], folder.path())).await;
    }
    let running = start(&[&node], folder.path());
    running.reaches(6_200 - FINALITY).await;
    let (contents, _) = running.contents(folder.path()).await;
    assert_eq!(contents, undisturbed(&node).await);
    assert!(contents.len() == whole.len() && contents != whole);
}

const FULL: &str = "follow::tests::a_failed_append_leaves_no_hole";

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_append_leaves_no_hole() {
    let Some(folder) = limited() else { return run_limited(FULL) };
    // The disk is full from the checkpoint of the first append until that of the second.
    fn disk(asked: usize) {
        match asked {
            1 => limit(Some(0)),
            2 => limit(None),
            _ => {}
        }
    }
    // Blocks of three appends.
    let node = node(13_000).await;
    node.set(|chain| {
        chain.timed = true;
        chain.on_asked = Some(disk);
    });
    let running = start(&[&node], &folder);
    let mut states = running.state.watch();
    let trouble = timeout(PATIENCE, states.wait_for(|state| state.trouble.is_some())).await.unwrap().unwrap();
    println!("{:?}", trouble.trouble);
    drop(trouble);
    assert_eq!(node.chain.lock().unwrap().asked, 2, "the disk has space again");
    running.reaches(13_000 - FINALITY).await;
    let (contents, _) = running.contents(&folder).await;
    node.set(|chain| chain.on_asked = None);
    assert_eq!(contents, undisturbed(&node).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_chain_is_undone() {
    let (node, folder) = (node(3_000).await, folder());
    let running = start(&[&node], folder.path());
    running.reaches(3_000 - FINALITY).await;
    node.set(|chain| chain.head = 3_040);
    running.reaches(3_040 - FINALITY).await;
    // The new blocks begin below the end of the index and above its checkpoint before the last.
    node.set(|chain| (chain.replaced, chain.head) = (Some(3_010), 3_100));
    running.reaches(3_100 - FINALITY).await;
    let (contents, _) = running.contents(folder.path()).await;
    assert_eq!(contents, undisturbed(&node).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_endpoint_has_the_logs_that_one_leaves_out() {
    let whole = undisturbed(&node(4_000).await).await;
    for first in [true, false] {
        let (good, bad, folder) = (node(4_000).await, node(4_000).await, folder());
        bad.set(|chain| chain.forgets = 20);
        let order = if first { [&bad, &good] } else { [&good, &bad] };
        let running = start(&order, folder.path());
        running.reaches(4_000 - FINALITY).await;
        let (contents, checked) = running.contents(folder.path()).await;
        assert_eq!(contents, whole, "{first}");
        assert_eq!((checked.unchecked, checked.by_bloom), (0, 0));
        let receipts = |node: &Node| node.chain.lock().unwrap().receipts;
        assert!(receipts(&good) + receipts(&bad) > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_endpoint_is_never_the_one_that_answered() {
    let (good, bad, folder) = (node(100).await, node(100).await, folder());
    bad.set(|chain| chain.forgets = 1);
    let indexer = indexer(&[&bad, &good], folder.path());
    let head = indexer.client.head().await.unwrap();
    let terms = indexer.terms.current(&indexer.client, &indexer.markets, head).await.unwrap();
    let scan = Scan::new(indexer.markets.clone(), hints(&indexer.markets, Some(&terms)));
    let span = Span { from: FIRST, to: 80 };
    let answered = indexer.answered(&scan, span).await.unwrap();
    assert!(answered.logs.is_empty());
    // Another request in between is answered by the good endpoint, which is now the last one used.
    bad.set(|chain| chain.fails = true);
    let host = || indexer.client.endpoint().unwrap();
    let before = host();
    indexer.client.head().await.unwrap();
    assert_ne!(before, host());
    bad.set(|chain| chain.fails = false);
    let (logs, check) = indexer.checked(&scan, span, answered, false).await.unwrap();
    assert_eq!(check, Check::Endpoint);
    assert!(!logs.is_empty(), "the other endpoint has them");
}

#[tokio::test(flavor = "multi_thread")]
async fn real_logs_without_a_receipt_are_kept_unchecked() {
    let (good, bad, folder) = (node(2_000).await, node(2_000).await, folder());
    good.set(|chain| chain.pruned = true);
    bad.set(|chain| (chain.pruned, chain.forgets) = (true, 20));
    let running = start(&[&good, &bad], folder.path());
    running.reaches(2_000 - FINALITY).await;
    let (contents, checked) = running.contents(folder.path()).await;
    assert_eq!(contents, undisturbed(&good).await);
    assert!(checked.unchecked > 0 && bad.chain.lock().unwrap().receipts > 0, "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn blooms_show_logs_that_the_only_endpoint_leaves_out() {
    let (node, folder) = (node(1_000).await, folder());
    let running = start(&[&node], folder.path());
    running.reaches(1_000 - FINALITY).await;
    // Every second answer has no logs.
    node.set(|chain| (chain.forgets, chain.head, chain.queries) = (2, 1_050, 1));
    running.reaches(1_050 - FINALITY).await;
    node.set(|chain| chain.forgets = 0);
    let (contents, checked) = running.contents(folder.path()).await;
    assert_eq!(contents, undisturbed(&node).await);
    assert_eq!(checked.by_bloom, 50);
    assert!(checked.unchecked > 900 && node.chain.lock().unwrap().receipts > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_that_the_only_endpoint_leaves_out_each_time_are_unchecked() {
    let (node, folder) = (node(1_000).await, folder());
    let running = start(&[&node], folder.path());
    running.reaches(1_000 - FINALITY).await;
    node.set(|chain| (chain.forgets, chain.head) = (1, 1_050));
    running.reaches(1_050 - FINALITY).await;
    let (_, checked) = running.contents(folder.path()).await;
    assert_eq!(checked.by_bloom, 0, "the blooms tell of logs that no answer has");
}
