//! End-to-end tests of Assay with real parts: one binary, so that the chains start once.

mod agents;
mod authors;
mod backtest;
mod batches;
mod check_config;
mod clients;
mod conformance;
mod console;
mod contract;
mod crowd;
mod documentation;
mod dossier;
mod economy;
mod errors;
mod failover;
mod fleet;
mod generations;
mod hostile;
mod http;
mod identity;
mod index;
mod inference;
mod init;
mod inputs;
mod keys;
mod killed;
mod lenders;
mod limits;
mod many;
mod names;
mod newcomer;
mod past;
mod promotion;
mod replay;
mod reports;
mod reputation;
mod sandbox;
mod scenarios;
mod shadow;
mod shipping;
mod siege;
mod sources;
mod split;
mod statements;
mod status;
mod stopping;
mod submissions;
mod suite;
mod swap;
mod telemetry;
mod unread;
mod upgrade;
mod usage;
mod versions;
mod wallets;
mod watches;
mod what_if;
mod x402;

use std::sync::LazyLock;

use assay_tests::{
    devnet::Devnet,
    service::{KEY, Service, plugins},
};
use tokio::{runtime::Runtime, sync::OnceCell};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Runs a test on the runtime of all tests: the chains and their connections have its lifetime.
fn run(test: impl Future<Output = ()>) {
    RUNTIME.block_on(test);
}

/// An address where nobody listens. No test gets this port; a free port could belong to another test a moment later.
const NOWHERE: &str = "http://127.0.0.1:1";

/// The two chains that all tests here read and no test changes.
async fn devnet() -> &'static Devnet {
    static DEVNET: OnceCell<Devnet> = OnceCell::const_new();
    DEVNET.get_or_init(|| async { Devnet::start(|_| ()).await.expect("the devnet starts") }).await
}

/// The configuration of a server on the devnet, with `more` at its end.
async fn configured(shelf: &std::path::Path, more: &str) -> String {
    let config = devnet().await.config_toml("127.0.0.1:0", shelf, std::path::Path::new("{dir}/assay.redb"), KEY);
    format!("{config}\n{more}")
}

/// A server on the devnet, with `more` at the end of its configuration.
async fn on_devnet(shelf: &std::path::Path, more: &str) -> Service {
    Service::start(&configured(shelf, more).await)
}

/// A server on the devnet and the released shelf.
async fn released_on_devnet() -> Service {
    on_devnet(&plugins(), "").await
}
