//! The market index of a server that is killed.

use std::path::Path;

use alloy::primitives::B256;
use assay_domain::Address;
use assay_index::Index;
use assay_lending::Entry;
use assay_tests::{
    proxy::{Call, Proxy, Reply},
    service::{KEY, Service, plugins},
};

use super::{agents, devnet, run};

/// Blocks below the head that are final on the devnet.
const FINALITY: u64 = 16;

/// The node answers queries of at most four blocks.
fn narrow(call: &Call) -> Reply {
    match call.span() {
        Some((from, to)) if to - from >= 4 => {
            Reply::Error { code: -32602, message: "range 1 exceeds limit of 4".into() }
        }
        _ => Reply::Pass,
    }
}

/// The entries of each wallet, by market.
type Entries = Vec<(Address, Address, Vec<Entry>)>;

/// The last block of the index, and what it has of each wallet, by market.
fn contents(folder: &Path) -> (u64, B256, Entries) {
    let index = Index::open(&folder.join("index")).expect("nobody holds it");
    let progress = index.progress(1).expect("it can be read").expect("it has chain 1");
    let mut wallets = Vec::new();
    for (place, market) in progress.markets.iter().enumerate() {
        for wallet in index.wallets(1, place).expect("it can be read") {
            let wallet = wallet.expect("it can be read");
            wallets.push((market.address, wallet.wallet, wallet.entries));
        }
    }
    let through = progress.through().expect("it has blocks");
    (through.number, through.hash, wallets)
}

/// Completes once the index of a chain goes through at least this block.
pub(super) async fn through(service: &Service, chain: u64, block: u64) {
    let line = format!("assay_index_through_block{{chain=\"{chain}\"}}");
    agents::metric_reaches(&service.keyed(), &line, block as f64).await;
}

async fn config_on(url: &str) -> String {
    let config = devnet().await.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY);
    let reading = "\n[reading]\nindex = \"on\"\nindex_path = \"{dir}/index\"\nindex_per_second = 0\n";
    format!("{}{reading}", config.replace(devnet().await.ethereum.url(), url))
}

#[test]
fn an_index_that_has_stopped_shows_in_the_metrics() {
    run(async {
        let proxy = Proxy::start(devnet().await.ethereum.url()).await;
        proxy.rule(|call| match call.method.as_str() {
            "eth_getLogs" => Reply::Error { code: -32000, message: "the backend is away".into() },
            _ => Reply::Pass,
        });
        let service = Service::start(&config_on(&proxy.url).await);
        let api = service.keyed();
        for line in ["assay_index_stopped{chain=\"1\"}", "assay_index_bytes"] {
            agents::metric_reaches(&api, line, 1.0).await;
        }
        // The other chain goes on.
        agents::metric_reaches(&api, "assay_index_through_block{chain=\"8453\"}", 1.0).await;
        let text = api.get("/metrics").await.text;
        assert!(text.contains("assay_index_stopped{chain=\"8453\"} 0"), "{text}");
        assert!(text.contains("assay_index_set_aside 0"), "{text}");
    });
}

#[test]
fn a_killed_server_ends_with_the_index_of_one_that_was_not() {
    run(async {
        let chain = &devnet().await.ethereum;
        let proxy = Proxy::start(chain.url()).await;
        proxy.rule(narrow);
        let config = config_on(&proxy.url).await;
        let last = chain.head().await.expect("the chain answers").0 - FINALITY;
        let first = chain.market.pool_block;

        let whole = Service::start(&config);
        through(&whole, 1, last).await;
        let whole = contents(whole.kill().path());
        assert_eq!(whole.0, last);

        let mut service = Service::start(&config);
        let kills = if std::env::var_os("ASSAY_SOAK").is_some() { 50 } else { 5 };
        for kill in 0..kills {
            // At any moment after as many blocks.
            through(&service, 1, first + (last - first) * kill / kills).await;
            service = Service::start_in(service.kill(), &config, &[]);
        }
        through(&service, 1, last).await;
        assert_eq!(contents(service.kill().path()), whole);
    });
}
