//! The host that processes the submissions dies while some are open: another host continues them.

use std::time::{Duration, Instant};

use assay_tests::{
    redis::{DURABLE, Redis},
    reputation::World,
    service::{Caller, Service},
};
use serde_json::json;

use super::{on, run, soak, until};
use crate::reputation;

/// Open submissions when the host dies.
const OPEN: usize = 4;

async fn submit(api: &Caller, n: usize) -> String {
    let body = api.post("/api/v2/agents/1/reputation", &json!({ "address": reputation::subject(n) })).await.expect(202);
    body["status_url"].as_str().expect("a path").to_owned()
}

#[test]
fn another_host_takes_over_the_submissions_of_one_that_died() {
    run(async {
        let rounds: u64 = if soak() { 8 } else { 2 };
        let world = World::start().await;
        let server = Redis::start(&DURABLE);
        let config = on(server.port, &world.config(world.chain.url(), ""));
        // The only host, so it is the one that processes submissions.
        let mut worker = Service::start(&config);
        let mut paths = vec![submit(&worker.keyed(), 0).await];
        reputation::confirmed(&worker.keyed(), &paths[0]).await;
        let mut took = Vec::new();
        for round in 0..rounds {
            let other = Service::start(&config);
            let api = other.keyed();
            world.mining(false).await;
            let first = paths.len();
            for n in first..first + OPEN {
                paths.push(submit(&api, n).await);
            }
            // Some of its transactions are sent and not yet mined.
            until(&api, &paths[first], |answer| answer.ok()["status"] == "submitting").await;
            // Leases are renewed every few seconds, so the pause varies the time since the last renewal.
            tokio::time::sleep(Duration::from_millis(700 * round)).await;
            let dir = worker.kill();
            let died = Instant::now();
            world.mining(true).await;
            reputation::confirmed(&api, &paths[first]).await;
            took.push(died.elapsed().as_secs_f64());
            for path in &paths[first..] {
                reputation::confirmed(&api, path).await;
            }
            drop(dir);
            worker = other;
        }
        let held = world.held().await;
        for path in &paths {
            let status = worker.keyed().get(path).await.ok();
            reputation::check(&world, &held, &status, &reputation::ALL);
        }
        assert_eq!(held.len(), paths.len() * reputation::ALL.len());
        let most = took.iter().copied().fold(0.0, f64::max);
        println!(
            "{rounds} workers killed with {OPEN} submissions open: the first confirmed {took:.1?} s later, {most:.1} \
             at most"
        );
    });
}
