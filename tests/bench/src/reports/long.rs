//! A first report of a wallet with a very long lending history, compared with the log queries that return the history.
//! The reference makes them over HTTP without a client library, and reads the bodies without decoding.

use std::path::Path;

use alloy::primitives::{Address, keccak256};
use assay_tests::{
    lenders::{
        Small, busy,
        config::{CHAIN, Setup, price_feed},
    },
    proxy::{Call, Proxy},
    service::{KEY, Service, plugins},
};
use futures::future::try_join_all;
use serde_json::json;
use tokio::time::Instant;

use super::{LIVES, milliseconds, read};
use crate::{
    Effort, Failure,
    clock::median,
    table::{Row, Target, Unit},
};

const LOGS: &str = "eth_getLogs";
const RECEIPT: &str = "eth_getTransactionReceipt";
/// Rounds of four events and eight logs of tokens. More logs than these are more than one answer may hold.
const ROUNDS: u64 = 2_500;

/// One row.
pub async fn measure(effort: Effort) -> Result<Row, Failure> {
    let mut chain = Small::start(CHAIN).await?;
    let native_feed = price_feed(&mut chain, 2_500.0);
    let pool = busy::deploy(&mut chain).await?;
    let wallets: Vec<Address> =
        (0..=effort.of(9)).map(|n| Address::from_word(keccak256(format!("busy {n}")))).collect();
    for wallet in &wallets {
        busy::live(&mut chain, pool, *wallet, ROUNDS).await?;
    }
    for _ in 0..20 {
        chain.mine().await?;
    }
    let setup = Setup { native_feed, markets: vec![("lenderA_v3", "Busy", pool)], ..Setup::default() };
    let config = |url: &str| format!("{}{LIVES}", setup.toml(url, &plugins(), Path::new("{dir}/assay.redb"), KEY));
    let proxy = Proxy::start(chain.url()).await;
    let (measured, watched) = (Service::start(&config(chain.url())), Service::start(&config(&proxy.url)));
    let (api, watched_api) = (measured.keyed(), watched.keyed());
    let http = reqwest::Client::builder().no_proxy().build()?;
    let (mut reports, mut bares, mut queries, mut bytes) = (Vec::new(), Vec::new(), [0; 2], 0);
    for (round, wallet) in wallets.iter().enumerate() {
        let path = format!("/api/v2/report/address/{wallet}");
        proxy.take();
        read(&watched_api, &path).await?;
        let asked: Vec<Call> = proxy.take().into_iter().filter(|call| of(call, LOGS) || of(call, RECEIPT)).collect();
        let reference = async {
            let started = Instant::now();
            let bodies = try_join_all(asked.iter().map(|call| bare(&http, chain.url(), call))).await?;
            Ok::<_, Failure>((milliseconds(started), bodies.iter().sum::<usize>()))
        };
        let (report, (took, size)) = if round % 2 == 0 {
            let report = read(&api, &path).await?;
            (report, reference.await?)
        } else {
            let reference = reference.await?;
            (read(&api, &path).await?, reference)
        };
        // The first round opens connections and reads the market.
        if round > 0 {
            reports.push(report);
            bares.push(took);
            (queries, bytes) =
                ([LOGS, RECEIPT].map(|method| asked.iter().filter(|call| of(call, method)).count()), size);
        }
    }
    let [logs, receipts] = queries;
    Ok(Row {
        what: format!("first report of a wallet with {} lending events ({} wallets)", 4 * ROUNDS, reports.len()),
        measured: median(reports.clone()),
        reference: format!("its {logs} eth_getLogs and {receipts} receipts, {:.1} MB", bytes as f64 / 1e6),
        reference_value: median(bares.clone()),
        unit: Unit::Milliseconds,
        ratio: median(reports.iter().zip(&bares).map(|(report, bare)| report / bare).collect()),
        target: Target::AtMost(1.5),
        note:
            "a stub of a pool and its tokens emits 30,000 logs, 3,000 to a transaction; the reference sends the same \
               queries side by side and reads the bodies"
                .to_owned(),
    })
}

fn of(call: &Call, method: &str) -> bool {
    call.method == method
}

/// Size of the response, in bytes.
async fn bare(http: &reqwest::Client, url: &str, call: &Call) -> Result<usize, Failure> {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": call.method, "params": call.params });
    Ok(http.post(url).json(&request).send().await?.bytes().await?.len())
}
