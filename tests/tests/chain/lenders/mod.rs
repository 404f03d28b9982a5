//! The lenders that the devnet does not have, each on a small chain of its own.

mod aave_v2;
mod busy;
mod comet;
mod ctoken;
mod forks;
mod maker;
mod morpho;
mod together;
mod venus;

use std::path::Path;

use alloy::primitives::Address;
use assay_domain::{ChainSnapshot, PoolHistory, Position};
use assay_tests::devnet::Error;
use assay_tests::lenders::Small;
use assay_tests::lenders::config::Setup;

use super::Reader;

pub(super) fn reader(setup: &Setup, chain: &Small) -> Reader {
    Reader::configured(|store| setup.toml(chain.url(), Path::new("plugins"), store, "a-key-for-tests"))
}

fn pool(read: &ChainSnapshot, market: Address) -> &PoolHistory {
    read.pools.iter().find(|pool| pool.market_address == market).unwrap()
}

fn position(read: &ChainSnapshot, market: Address) -> Option<&Position> {
    read.positions.iter().find(|position| position.market_address == market)
}

type Done = Result<(), Error>;
