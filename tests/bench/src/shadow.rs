//! Scores from two real chain nodes, not from the cache: with a challenger that computes all of them too, and with a
//! split whose second version answers half of the wallets, each compared with the champion alone.

use std::{path::Path, time::Duration};

use assay_tests::{
    devnet::Devnet,
    service::{Caller, KEY, Service, plugins},
};
use futures::{StreamExt, stream};
use serde_json::json;
use tokio::{
    runtime,
    time::{Instant, sleep},
};

use super::{
    Effort, Failure,
    clock::median,
    table::{Row, Target, Unit},
};

/// A score is cached for a millisecond, so that every request computes one. The shadow engine runs for all of them.
const SETTINGS: &str = "\n[scoring]\ncache_ms = 1\nincomplete_cache_ms = 1\nshadow_share = 1.0\n";
const WALLETS: [&str; 6] = ["saver", "borrower", "liquidated", "holder", "collector", "ordinary-one"];
/// Requests in flight, so that the shadow work of one request can slow others down.
const AT_ONCE: usize = 4;
/// Requests in one block. Blocks with and without a challenger alternate.
const BLOCK: usize = 240;
/// Blocks of each kind in one round: 24 requests are above the 99th percentile. With fewer, noise of the machine
/// decides it.
const BLOCKS: usize = 10;
/// Pause before and after a block, in which the shadow engine finishes its work.
const PAUSE: Duration = Duration::from_millis(60);

/// What other versions do beside the champion.
#[derive(Debug, Clone, Copy)]
enum Beside {
    Challenger,
    Split,
}

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    Ok(vec![compared(Beside::Challenger, effort)?, compared(Beside::Split, effort)?])
}

fn compared(beside: Beside, effort: Effort) -> Result<Row, Failure> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let devnet = Devnet::start(|_| {}).await?;
        let config = devnet.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY);
        let service = Service::start(&format!("{config}{SETTINGS}"));
        let api = service.keyed();
        let paths: Vec<String> =
            WALLETS.iter().map(|wallet| format!("/api/v2/score/address/{}", devnet.wallet(wallet).address)).collect();
        for shadowed in [true, false] {
            beside.switch(&api, shadowed).await?;
            block(&api, &paths).await?;
        }
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for _ in 0..effort.of(12) {
            let (mut with, mut without) = (Vec::new(), Vec::new());
            for turn in 0..2 * BLOCKS {
                // With, without, without, with: a drift of the machine affects both equally.
                let shadowed = turn % 4 == 0 || turn % 4 == 3;
                beside.switch(&api, shadowed).await?;
                let took = block(&api, &paths).await?;
                if shadowed { with.extend(took) } else { without.extend(took) }
            }
            together.push(with);
            alone.push(without);
        }
        let report = api.get("/api/v2/models/credit/report").await.json();
        let pair = &report["pairs"][0];
        let of = |rounds: &[Vec<f64>], p: f64| rounds.iter().map(|round| quantile(round, p)).collect::<Vec<_>>();
        let (p99, p99_alone) = (of(&together, 0.99), of(&alone, 0.99));
        let (what, reference) = match beside {
            Beside::Challenger => ("a challenger beside it", "the same without a challenger"),
            Beside::Split => ("half of the wallets answered by a split", "the same without a split"),
        };
        Ok(Row {
            what: format!("p99 of a computed score, {what}"),
            measured: median(p99.clone()),
            reference: reference.to_owned(),
            reference_value: median(p99_alone.clone()),
            unit: Unit::Milliseconds,
            ratio: median(p99.iter().zip(&p99_alone).map(|(p99, alone)| p99 / alone).collect()),
            target: Target::AtMost(1.05),
            note: format!(
                "rounds of {} requests each, {AT_ONCE} at a time; medians {:.2} and {:.2} ms; the shadow saw {}, \
                 scored {} and dropped {}",
                BLOCK * BLOCKS,
                median(of(&together, 0.5)),
                median(of(&alone, 0.5)),
                pair["seen"],
                pair["scored"],
                pair["dropped"],
            ),
        })
    })
}

impl Beside {
    /// Version 1.0 takes its role, or loses it.
    async fn switch(self, api: &Caller, on: bool) -> Result<(), Failure> {
        sleep(PAUSE).await;
        let (role, body) = match self {
            Self::Challenger => ("challengers", json!({ "versions": if on { vec!["1.0"] } else { vec![] } })),
            Self::Split => {
                let share = json!({ "version": "1.0", "percent": 50 });
                let shares = if on { vec![share] } else { vec![] };
                ("split", json!({ "shares": shares, "force": true, "why": "to measure it" }))
            }
        };
        let answer = api.put(&format!("/api/v2/admin/models/credit/{role}"), &body).await;
        sleep(PAUSE).await;
        if answer.status.is_success() { Ok(()) } else { Err(answer.text.into()) }
    }
}

/// Milliseconds of each request.
async fn block(api: &Caller, paths: &[String]) -> Result<Vec<f64>, Failure> {
    let ask = |n: usize| {
        let (api, path) = (api.clone(), paths[n % paths.len()].clone());
        async move {
            let started = Instant::now();
            let answer = api.get(&path).await;
            let took = started.elapsed().as_secs_f64() * 1e3;
            if answer.status.is_success() { Ok(took) } else { Err(answer.text) }
        }
    };
    let all: Vec<Result<f64, String>> = stream::iter((0..BLOCK).map(ask)).buffer_unordered(AT_ONCE).collect().await;
    Ok(all.into_iter().collect::<Result<_, _>>()?)
}

fn quantile(values: &[f64], p: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * p) as usize).copied().unwrap_or(f64::NAN)
}
