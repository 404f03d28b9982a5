//! Markets and contracts that are new to an index.

use std::path::Path;
use std::sync::Arc;

use alloy::primitives::Bytes;
use assay::config::Config;
use assay_evm::config::Endpoints;
use assay_evm::{Client, endpoint};
use assay_lending::{Market, Scan, TermsCache, hints};
use assay_tests::devnet::{Devnet, ETHEREUM};
use assay_tests::proxy::{Call, Proxy, Reply};
use serde_json::json;

use super::super::{Reader, with};
use super::interrupted::undisturbed;
use super::{contents, indexed, opened};

/// Makes the index in `folder` one that was built before one of the market's tokens was known.
async fn before_a_token(config: &Config, folder: &Path) {
    let chain = &config.chains[0];
    let markets: Arc<[Market]> = chain.markets.iter().cloned().map(Market::new).collect();
    let endpoints = Endpoints { chain: ETHEREUM, rpc: chain.rpc.clone(), multicall: None, max_head_age: None };
    let client = Client::new(&endpoint::http(), &endpoints, &config.reading.rpc);
    let head = client.head().await.unwrap();
    let terms = TermsCache::default().current(&client, &markets, head).await.unwrap();
    let scan = Scan::new(markets.clone(), hints(&markets, Some(&terms)));
    let scan = scan.without(&scan.hint_contracts().into_iter().take(1).collect());
    let contracts = scan.hint_contracts().into_iter().flat_map(|contract| contract.0.0);
    let asked: Bytes = scan.asked(0).unwrap().0.into_iter().chain(contracts).collect::<Vec<u8>>().into();
    let index = opened(folder).await;
    let progress = index.progress(ETHEREUM).unwrap().unwrap();
    assert_eq!(progress.asked.len(), asked.len() + 20);
    index.widen(ETHEREUM, &progress.markets, &asked, Vec::new()).unwrap();
}

/// The calls of a reader that finds a token which its index does not have, through a node with this rule. The index
/// ends as one that always had it.
async fn with_a_new_token(devnet: &Devnet, rule: impl FnMut(&Call) -> Reply + Send + 'static) -> Vec<Call> {
    let whole = undisturbed(devnet).await;
    let proxy = Proxy::start(devnet.ethereum.url()).await;
    let mut reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(indexed).started().await;
    reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
    let (config, folder) = (reader.config.clone(), reader.folder.path().to_owned());
    reader
        .restart_after(async |_| {
            // Until nobody has it open.
            contents(&folder, ETHEREUM).await;
            before_a_token(&config, &folder).await;
            proxy.rule(rule);
            proxy.take();
        })
        .await;
    reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
    let calls = proxy.take();
    assert_eq!(reader.contents(ETHEREUM).await, whole);
    calls
}

#[test]
fn a_token_that_did_not_exist_yet_was_not_missed() {
    with(async |devnet| {
        let code = |call: &Call| match call.method.as_str() {
            "eth_getCode" => Reply::Result(json!("0x")),
            _ => Reply::Pass,
        };
        let calls = with_a_new_token(devnet, code).await;
        assert!(calls.iter().all(|call| call.method != "eth_getLogs"), "nothing is read again");
    });
}

#[test]
fn for_a_token_that_existed_the_chain_is_read_again() {
    with(async |devnet| {
        let calls = with_a_new_token(devnet, |_| Reply::Pass).await;
        let from = calls.iter().filter_map(Call::span).map(|(from, _)| from).min();
        assert_eq!(from, Some(devnet.ethereum.market.pool_block));
    });
}
