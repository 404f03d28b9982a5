//! Each submission is written exactly once, whenever the process is killed: at random moments, and deliberately at
//! every step. `ASSAY_SOAK=1` raises the numbers to the promised ones (`make soak`).

use std::{collections::BTreeSet, time::Duration};

use assay_tests::{
    proxy::{Proxy, Reply, hold_at},
    reputation::World,
    service::{Caller, Service, try_answer},
};
use serde_json::{Value, json};

use super::{ALL, check, confirmed, subject, submit};
use crate::run;

const METERED: &str = "assay_reputation_counted";

/// The numbers of submissions and kills.
fn numbers() -> (usize, usize) {
    if std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1") { (60, 40) } else { (8, 8) }
}

fn key(units: usize) -> String {
    format!(
        "[[access.keys]]\nname = \"counted\"\nkey = \"{METERED}\"\nscopes = [\"read\", \"submit\"]\nunits = {units}\n"
    )
}

/// Makes submission `n` with its own `Idempotency-Key`; `None` if the server ended before it answered.
async fn try_submit(api: Caller, n: usize) -> Option<Value> {
    let request = api.request(reqwest::Method::POST, "/api/v2/agents/1/reputation");
    let request = request.header("idempotency-key", format!("submission {n}")).json(&json!({ "address": subject(n) }));
    Some(try_answer(request).await.ok()?.expect(202))
}

/// A pseudorandom duration from 20 to 719 ms, by a seed.
fn moment(seed: usize) -> Duration {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    Duration::from_millis(20 + mixed % 700)
}

#[test]
fn whenever_it_is_killed_each_submission_is_on_the_chain_once() {
    run(async {
        let (submissions, kills) = numbers();
        let world = World::start().await;
        let config = world.config(world.chain.url(), "") + &key(submissions * 10);
        let mut service = Service::start(&config);
        let mut known = vec![None; submissions];
        for life in 0..kills {
            let api = service.with_key(METERED);
            let mine = submissions * life / kills..submissions * (life + 1) / kills;
            let asked: Vec<_> = mine.clone().map(|n| tokio::spawn(try_submit(api.clone(), n))).collect();
            // The test kills at many moments; this is the next one.
            tokio::time::sleep(moment(life)).await;
            let dir = service.kill();
            for (n, asked) in mine.zip(asked) {
                known[n] = asked.await.expect("the caller is told").map(|body| body["submission_id"].clone());
            }
            service = Service::start_in(dir, &config, &[]);
        }
        let api = service.with_key(METERED);
        let mut ids = BTreeSet::new();
        let mut ends = Vec::new();
        for (n, known) in known.iter().enumerate() {
            let body = try_submit(api.clone(), n).await.expect("nobody kills it any more");
            assert!(known.as_ref().is_none_or(|known| *known == body["submission_id"]), "{known:?} {body}");
            ids.insert(body["submission_id"].to_string());
            ends.push(body["status_url"].as_str().expect("a path").to_owned());
        }
        assert_eq!(ids.len(), submissions);
        let statuses = futures::future::join_all(ends.iter().map(|url| confirmed(&api, url))).await;
        let held = world.held().await;
        for status in &statuses {
            check(&world, &held, status, &ALL);
        }
        assert_eq!(held.len(), submissions * ALL.len());
        // Every unit was charged once: no unit is left.
        let refused = api.post("/api/v2/agents/1/reputation", &json!({ "address": subject(0) })).await.expect(429);
        let left = format!("has 0 of {} left", submissions * 10);
        assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains(&left)), "{refused}");
        println!("{submissions} submissions, {kills} kills, {} feedbacks on the chain", held.len());
    });
}

/// The moment when the process is killed.
#[derive(Debug, Clone, Copy)]
enum Boundary {
    /// Directly after it has accepted the submission.
    Accepted,
    /// During the upload of the document to IPFS.
    Upload,
    /// At the nth call of a method, before the call reaches the node.
    At(&'static str, usize),
    /// At the first call after that one, so the process has not seen its effect.
    After(&'static str, usize),
}

const BOUNDARIES: [Boundary; 11] = [
    Boundary::Accepted,
    Boundary::Upload,
    Boundary::At("eth_feeHistory", 1),
    Boundary::At("eth_estimateGas", 1),
    Boundary::At("eth_sendRawTransaction", 1),
    Boundary::After("eth_sendRawTransaction", 1),
    Boundary::At("eth_sendRawTransaction", 2),
    Boundary::After("eth_sendRawTransaction", 3),
    Boundary::At("eth_getTransactionReceipt", 1),
    Boundary::After("eth_getTransactionReceipt", 1),
    // Each of the three receipts is requested at least once; further requests depend on the number of blocks between
    // two checks.
    Boundary::At("eth_getTransactionReceipt", 3),
];

#[test]
fn killed_at_every_step_it_goes_on_where_it_was() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let config = world.config(&proxy.url, "") + &key(BOUNDARIES.len() * 10);
        let mut service = Service::start(&config);
        let mut statuses = Vec::new();
        for (n, boundary) in BOUNDARIES.into_iter().enumerate() {
            let api = service.with_key(METERED);
            if matches!(boundary, Boundary::Upload) {
                world.ipfs.be(assay_tests::ipfs::Mood::Holding);
            }
            // The work of the last submission is done, so only calls for this one are counted.
            match boundary {
                Boundary::At(method, nth) => proxy.rule(hold_at(method, nth, false)),
                Boundary::After(method, nth) => proxy.rule(hold_at(method, nth, true)),
                Boundary::Accepted | Boundary::Upload => {}
            }
            let status_url = submit(&api, n).await;
            match boundary {
                Boundary::Accepted => {}
                Boundary::Upload => world.ipfs.held().await,
                Boundary::At(..) | Boundary::After(..) => {
                    tokio::time::timeout(super::PATIENCE, proxy.held())
                        .await
                        .unwrap_or_else(|_| panic!("{boundary:?} is never reached"));
                }
            }
            let dir = service.kill();
            proxy.rule(|_| Reply::Pass);
            proxy.release(usize::from(matches!(boundary, Boundary::At(..) | Boundary::After(..))));
            world.ipfs.be(assay_tests::ipfs::Mood::Well);
            world.ipfs.release(usize::from(matches!(boundary, Boundary::Upload)));
            service = Service::start_in(dir, &config, &[]);
            statuses.push(confirmed(&service.with_key(METERED), &status_url).await);
        }
        let held = world.held().await;
        for status in &statuses {
            check(&world, &held, status, &ALL);
        }
        assert_eq!(held.len(), BOUNDARIES.len() * ALL.len());
        let api = service.with_key(METERED);
        api.post("/api/v2/agents/1/reputation", &json!({ "address": subject(0) })).await.expect(429);
    });
}
