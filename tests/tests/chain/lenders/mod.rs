//! The lenders that the devnet does not have, each on a small chain of its own.

mod aave_v2;
mod busy;
mod comet;
mod credit;
mod ctoken;
mod euler;
mod forks;
mod health;
mod maker;
mod morpho;
mod risk;
mod together;
mod venus;

use std::{path::Path, sync::Arc};

use alloy::primitives::Address;

use assay_chain::Chains;
use assay_domain::{ChainSnapshot, PoolHistory, Position, Snapshot};
use assay_store::Store;
use assay_tasks::Tracker;
use assay_tests::devnet::Error;
use assay_tests::lenders::Small;
use assay_tests::lenders::config::Setup;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{RUNTIME, Reader};

/// Runs a test in a world that the tests of a file share. The first test starts it.
fn once<W>(world: &'static OnceCell<W>, start: impl AsyncFnOnce() -> Result<W, Error>, test: impl AsyncFnOnce(&W)) {
    RUNTIME.block_on(async { test(world.get_or_init(async || start().await.unwrap()).await).await });
}

pub(super) fn reader(setup: &Setup, chain: &Small) -> Reader {
    Reader::configured(|store| setup.toml(chain.url(), Path::new("plugins"), store, "a-key-for-tests"))
}

fn pool(read: &ChainSnapshot, market: Address) -> &PoolHistory {
    read.pools.iter().find(|pool| pool.market_address == market).unwrap()
}

fn position(read: &ChainSnapshot, market: Address) -> Option<&Position> {
    read.positions.iter().find(|position| position.market_address == market)
}

/// Reads `wallets` as the chain was after a block of this number and time.
async fn read_after(reader: &Reader, (block, time): (u64, u64), wallets: &[Address]) -> Vec<Arc<Snapshot>> {
    let config = &reader.config;
    let store = Store::open(&config.store).await.unwrap();
    let mut settings = config.reads();
    settings.snapshots.past = Some(time + 1);
    let (tasks, stop) = (Tracker::new(), CancellationToken::new());
    let chains = Chains::connect(&settings, &store, &tasks, &stop);
    assert_eq!(chains.go_back().await.unwrap()[0].block.number, block);
    let mut read = Vec::new();
    for wallet in wallets {
        read.push(chains.snapshot(*wallet).await.snapshot);
    }
    stop.cancel();
    read
}

type Done = Result<(), Error>;
