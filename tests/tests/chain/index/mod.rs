//! The markets of a chain read once for all wallets: what wallets read from it, and what becomes of it.

mod asked;
mod histories;
mod interrupted;
mod left_out;
mod replaced;
mod trouble;

use std::path::Path;
use std::time::Duration;

use alloy::primitives::B256;
use assay::config::{Config, IndexMode};
use assay_chain::IndexState;
use assay_domain::Address;
use assay_index::Index;
use assay_lending::Entry;
use assay_tests::devnet::Rpc;
use assay_tests::lenders::Small;
use assay_tests::lenders::config::Setup;
use assay_tests::proxy::{Call, Proxy, Reply};
use tempfile::TempDir;
use tokio::time::timeout;

use super::{PATIENCE, Reader};

/// Blocks below the head that are final, in the configurations of tests.
pub(super) const FINALITY: u64 = 16;

/// Reads the markets for all wallets as fast as the node answers.
pub(super) fn indexed(config: &mut Config) {
    (config.reading.index, config.reading.index_per_second) = (IndexMode::On, 0);
}

/// The node answers queries of at most so many blocks.
fn narrow(most: u64) -> impl FnMut(&Call) -> Reply + Send + 'static {
    move |call| match call.span() {
        Some((from, to)) if to - from >= most => {
            Reply::Error { code: -32602, message: format!("range 1 exceeds limit of {most}") }
        }
        _ => Reply::Pass,
    }
}

pub(super) fn log_queries(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.method == "eth_getLogs").count()
}

impl Reader {
    /// Completes once the index of a chain is as `wanted`.
    async fn index(&self, chain: u64, wanted: impl FnMut(&IndexState) -> bool) -> IndexState {
        let mut states = self.chains().index(chain).unwrap();
        let state = timeout(PATIENCE, states.wait_for(wanted)).await;
        state.unwrap_or_else(|_| panic!("{:?}", self.chains().index(chain).unwrap().borrow())).unwrap().clone()
    }

    /// Completes once the index of a chain has all final blocks.
    pub(super) async fn in_step(&self, chain: u64, rpc: &Rpc) -> IndexState {
        let head: alloy::primitives::U64 = rpc.request("eth_blockNumber", serde_json::json!([])).await.unwrap();
        let last = head.to::<u64>() - FINALITY;
        let state = self.index(chain, |state| state.through == Some(last)).await;
        assert!(state.is_in_step());
        state
    }

    /// Everything in the index of a chain, after the reader has ended.
    async fn contents(self, chain: u64) -> Contents {
        self.kept(chain).await.0
    }

    /// The same, with the folder.
    pub(super) async fn kept(mut self, chain: u64) -> (Contents, TempDir) {
        let running = self.running.take().unwrap();
        running.stop.cancel();
        drop(running);
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        (contents(folder.path(), chain).await, folder)
    }
}

/// The hash of the last block, and the entries of each wallet, by market.
#[derive(Debug, PartialEq)]
pub(super) struct Contents {
    through: (u64, B256),
    wallets: Vec<(Address, Address, Vec<Entry>)>,
}

/// The index that a server that has ended left in `folder`.
pub(super) async fn opened(folder: &Path) -> Index {
    let folder = folder.join("index");
    loop {
        // The folder is free when the last task that uses it has ended, and each process that was started meanwhile
        // executes its program.
        match Index::open(&folder) {
            Ok(index) => break index,
            Err(assay_index::IndexError::Locked { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What a server that has ended left in `folder`.
async fn contents(folder: &Path, chain: u64) -> Contents {
    let index = opened(folder).await;
    let progress = index.progress(chain).unwrap().unwrap();
    let mut wallets = Vec::new();
    for (place, market) in progress.markets.iter().enumerate() {
        for wallet in index.wallets(chain, place).unwrap() {
            let wallet = wallet.unwrap();
            wallets.push((market.address, wallet.wallet, wallet.entries));
        }
    }
    let through = progress.through().unwrap();
    Contents { through: (through.number, through.hash), wallets }
}

/// Asserts that on a small chain, behind a node with narrow ranges, what is read from the index is what is read without
/// one, with at most two log queries for each wallet. A market is no wallet of the index: it is read from the node.
pub(super) async fn agrees(setup: &Setup, chain: &Small, wallets: &[Address]) {
    agrees_within(2, setup, chain, wallets).await;
}

/// As [`agrees`], with at most so many log queries a wallet.
pub(super) async fn agrees_within(most: usize, setup: &Setup, chain: &Small, wallets: &[Address]) {
    let proxy = Proxy::start(chain.url()).await;
    let reader = || super::lenders::reader(setup, chain);
    let (plain, of_index) = (reader().started().await, reader().through(&[&proxy]).with(indexed));
    proxy.rule(narrow(20));
    let of_index = of_index.started().await;
    of_index.in_step(1, &chain.rpc).await;
    for wallet in wallets {
        proxy.take();
        let read = of_index.read(*wallet).await;
        let queries = log_queries(&proxy.take());
        let is_market = of_index.config.chains[0].markets.iter().any(|market| market.address == *wallet);
        assert!(queries <= most || is_market, "{wallet}: {queries} log queries");
        assert_eq!(read.chains, plain.read(*wallet).await.chains, "{wallet}");
    }
}
