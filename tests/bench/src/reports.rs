//! Reports that are read from two real chain nodes, compared with the RPC calls that a report needs.

mod bare;
mod long;

use std::{path::Path, time::Duration};

use alloy::{primitives::Address, rpc::client::RpcClient};
use assay_tests::{
    devnet::{Chain, Devnet},
    proxy::Proxy,
    service::{Caller, KEY, Service, plugins},
};
use futures::future::try_join_all;
use tokio::{
    runtime,
    time::{Instant, sleep},
};

use super::{
    Effort, Failure,
    clock::median,
    table::{Row, Target, Unit},
};
use bare::Bare;

/// A report is cached for a millisecond, so that every request reads the chains.
const LIVES: &str = "\n[scoring]\ncache_ms = 1\nincomplete_cache_ms = 1\n";
/// Longer than a report is cached.
const PAUSE: Duration = Duration::from_millis(5);
/// Read first, so that the data that all wallets share is cached: markets, oracles, prices.
const PRIMER: &str = "saver";
/// The wallets of first reports.
const STRANGERS: [&str; 12] = [
    "collector",
    "leaver",
    "liquidated",
    "liquidated-twin",
    "liquidated-on-base",
    "sponsor",
    "delegator",
    "holder",
    "dormant",
    "base-only",
    "both-chains",
    "ordinary-one",
];

/// The chains, a server that reads them, and a second server that reads them through proxies, which record its calls.
struct Scene {
    devnet: Devnet,
    _servers: [Service; 2],
    proxies: Vec<Proxy>,
    /// The clients of the reference, one for each chain.
    clients: Vec<RpcClient>,
    api: Caller,
    watched_api: Caller,
}

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let scene = Scene::start().await?;
        let mut rows = Vec::new();
        rows.push(scene.warm("borrower", effort.of(301), Target::AtMost(1.3)).await?);
        rows.push(scene.warm("busy", effort.of(101), Target::None).await?);
        rows.push(scene.cold(&STRANGERS[..effort.of(STRANGERS.len())]).await?);
        for wallets in [10, 100] {
            rows.push(scene.crowd(wallets).await?);
        }
        drop(scene);
        rows.push(long::measure(effort).await?);
        Ok(rows)
    })
}

impl Scene {
    async fn start() -> Result<Self, Failure> {
        let devnet = Devnet::start(|_| {}).await?;
        let config =
            format!("{}{LIVES}", devnet.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY));
        let mut through = config.clone();
        let (mut proxies, mut clients) = (Vec::new(), Vec::new());
        for chain in devnet.chains() {
            let proxy = Proxy::start(chain.url()).await;
            through = through.replace(chain.url(), &proxy.url);
            proxies.push(proxy);
            clients.push(RpcClient::new_http(chain.url().parse()?));
        }
        let (measured, watched) = (Service::start(&config), Service::start(&through));
        let (api, watched_api) = (measured.keyed(), watched.keyed());
        let scene = Self { devnet, _servers: [measured, watched], proxies, clients, api, watched_api };
        for api in [&scene.api, &scene.watched_api] {
            read(api, &scene.path(PRIMER)).await?;
        }
        Ok(scene)
    }

    fn path(&self, wallet: &str) -> String {
        format!("/api/v2/report/address/{}", self.devnet.wallet(wallet).address)
    }

    /// The calls that a report of `wallet` makes now.
    async fn calls(&self, wallet: &str) -> Result<Vec<Bare>, Failure> {
        for proxy in &self.proxies {
            proxy.take();
        }
        sleep(PAUSE).await;
        read(&self.watched_api, &self.path(wallet)).await?;
        Ok(self.clients.iter().zip(&self.proxies).map(|(client, proxy)| Bare::of(client, &proxy.take())).collect())
    }

    /// Mines a block: after the lifetime of a report, real chains have new blocks too.
    async fn move_on(&self) -> Result<(), Failure> {
        for chain in self.devnet.chains() {
            Chain::mine(chain, 1).await?;
        }
        sleep(PAUSE).await;
        Ok(())
    }

    async fn warm(&self, wallet: &str, rounds: usize, target: Target) -> Result<Row, Failure> {
        let path = self.path(wallet);
        // The second read checks what the first one stored.
        for _ in 0..2 {
            read(&self.api, &path).await?;
            read(&self.watched_api, &path).await?;
            self.move_on().await?;
        }
        let bare = self.calls(wallet).await?;
        let (mut reports, mut bares) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let (report, reference) = self.pair(&path, &bare, round % 2 == 0).await?;
            // The first round opens connections.
            if round > 0 {
                reports.push(report);
                bares.push(reference);
            }
        }
        Ok(row(format!("report of a known wallet ({wallet}), cache expired"), &reports, &bares, target, &bare))
    }

    async fn cold(&self, wallets: &[&str]) -> Result<Row, Failure> {
        let (mut reports, mut bares, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for (round, wallet) in wallets.iter().enumerate() {
            last = self.calls(wallet).await?;
            let (report, reference) = self.pair(&self.path(wallet), &last, round % 2 == 0).await?;
            reports.push(report);
            bares.push(reference);
        }
        Ok(row(format!("first report of a wallet ({} wallets)", wallets.len()), &reports, &bares, Target::None, &last))
    }

    /// The calls for each of `count` known wallets that are read at once, compared with those of one alone.
    async fn crowd(&self, count: u8) -> Result<Row, Failure> {
        let paths: Vec<String> =
            (1..=count).map(|wallet| format!("/api/v2/report/address/{}", Address::repeat_byte(wallet))).collect();
        let mut calls = Vec::new();
        for at_once in [1, paths.len()] {
            let paths = paths.iter().take(at_once);
            for _ in 0..3 {
                self.move_on().await?;
                self.proxies.iter().for_each(|proxy| drop(proxy.take()));
                try_join_all(paths.clone().map(|path| read(&self.watched_api, path))).await?;
            }
            let made: usize = self.proxies.iter().map(|proxy| proxy.take().len()).sum();
            calls.push(made as f64 / at_once as f64);
        }
        let (alone, each) = (calls.first().copied().unwrap_or(f64::NAN), calls.last().copied().unwrap_or(f64::NAN));
        Ok(Row {
            what: format!("calls for each of {count} known wallets read at once"),
            measured: each,
            reference: "for one alone".into(),
            reference_value: alone,
            unit: Unit::Count,
            ratio: each / alone,
            target: Target::None,
            note: String::new(),
        })
    }

    /// Milliseconds of a report and of the calls alone, each at a new block.
    async fn pair(&self, path: &str, bare: &[Bare], report_first: bool) -> Result<(f64, f64), Failure> {
        let report = async {
            self.move_on().await?;
            read(&self.api, path).await
        };
        let reference = async {
            self.move_on().await?;
            let started = Instant::now();
            try_join_all(bare.iter().map(Bare::run)).await?;
            Ok::<_, Failure>(milliseconds(started))
        };
        if report_first {
            let report = report.await?;
            Ok((report, reference.await?))
        } else {
            let reference = reference.await?;
            Ok((report.await?, reference))
        }
    }
}

fn row(what: String, reports: &[f64], bares: &[f64], target: Target, calls: &[Bare]) -> Row {
    let sum = |of: fn(&Bare) -> usize| calls.iter().map(of).sum::<usize>();
    Row {
        what,
        measured: median(reports.to_vec()),
        reference: format!("{} bare calls of the {} made", sum(Bare::needed), sum(Bare::made)),
        reference_value: median(bares.to_vec()),
        unit: Unit::Milliseconds,
        ratio: median(reports.iter().zip(bares).map(|(report, bare)| report / bare).collect()),
        target,
        note: format!(
            "the reference asks both chains at once for the head and then, side by side, for {}; the server also asks \
             whether earlier blocks still stand, unless its heads say so",
            calls.first().map(Bare::words).unwrap_or_default(),
        ),
    }
}

/// Milliseconds of a report that is complete and not from the cache.
async fn read(api: &Caller, path: &str) -> Result<f64, Failure> {
    let started = Instant::now();
    let answer = api.get(path).await;
    let took = milliseconds(started);
    let body = answer.json();
    if !answer.status.is_success() || body["cached"] != false || body["credit_events"]["coverage"] != "complete" {
        return Err(format!("{path} is no complete report read anew: {} {}", answer.status, answer.text).into());
    }
    Ok(took)
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
