//! The stub of a node, as a process of its own.

use std::{env, process::Command};

use assay_tests::{
    process::{End, Guarded, Lines},
    stub::{self, Market},
};

use crate::Failure;

/// A running stub.
pub struct Node {
    pub url: String,
    _process: Guarded,
}

impl Node {
    pub fn start(market: Market) -> Result<Self, Failure> {
        let mut command = Command::new(env::current_exe()?);
        let Market { events, wallets, pools } = market;
        command.arg("stub").args([events.to_string(), wallets.to_string(), pools.to_string()]);
        let (process, url) = Guarded::start(&command, End::Kill, Lines::Keep, |line| {
            line.strip_prefix("stub of a node at ").map(str::to_owned)
        })?;
        Ok(Self { url, _process: process })
    }
}

/// Serves a market until the process ends.
pub fn serve(market: Market, limited: bool) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(stub::serve(market, limited, |at| println!("stub of a node at http://{at}")))?;
    Ok(())
}
