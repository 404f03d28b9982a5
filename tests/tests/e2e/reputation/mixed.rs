//! Submissions and payments of one account, mixed, under everything at once: kills, a node that loses or doubles sends,
//! reorganisations, a chain without blocks, an empty account that is refilled. One transfer for each payment, one event
//! for each tag, none lost; on one host, on two with clocks apart and a Redis that is cut off, and on two whose Redis
//! fails over. `ASSAY_SOAK=1` raises the numbers to the promised ones.

use std::{collections::BTreeSet, path::Path, time::Duration};

use alloy::primitives::U256;
use assay_domain::Time;
use assay_tests::{
    devnet::Rpc,
    payment::{PRICE, Till, now},
    proxy::{Call, Proxy, Reply, Wire},
    redis::{self, DURABLE, Redis, Watched},
    service::{Caller, Service, try_answer},
    until::until,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{confirmed, fees::most_paid, subject};
use crate::{run, x402::with_gas};

const PATH: &str = "/api/v2/agents/1/reputation";

/// The numbers of submissions, of which every second is paid for by x402, and of kills; and the time without blocks.
fn numbers() -> (usize, usize, Duration) {
    match std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1") {
        true => (60, 40, Duration::from_secs(60)),
        false => (8, 4, Duration::from_secs(1)),
    }
}

/// Requests submission `n`, each with its own key or payment; `None` if there was no final answer.
async fn ask(api: Caller, n: usize, payment: Option<String>) -> Option<Value> {
    let body = json!({ "address": subject(n), "tags": ["creditScore", "sybilRisk"] });
    let request = api.request(reqwest::Method::POST, PATH).json(&body);
    let answer = match payment {
        Some(payment) => try_answer(request.header("x-payment", payment)).await.ok()?,
        None => try_answer(request.header("idempotency-key", format!("mixed {n}"))).await.ok()?,
    };
    (answer.status == 202).then(|| answer.json())
}

/// Every seventh send is lost before the node, of others every fifth is answered by an error after it arrived, and
/// every third arrives twice; some receipts are not answered.
fn faulty(seed: u64, node: Rpc) -> impl FnMut(&Call) -> Reply + Send {
    let mut calls = seed;
    let arrives = move |call: &Call| {
        let (node, params) = (node.clone(), call.params.clone());
        tokio::spawn(async move { node.request::<Value>("eth_sendRawTransaction", params).await.ok() });
    };
    move |call| {
        calls += 1;
        let mixed = calls.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        match call.method.as_str() {
            // Swallowed: the node never has it, and the answer says that it has.
            "eth_sendRawTransaction" if mixed.is_multiple_of(7) => Reply::Result(json!(format!("0x{:064x}", mixed))),
            "eth_sendRawTransaction" if mixed.is_multiple_of(5) => {
                arrives(call);
                Reply::Error { code: -32000, message: "the backend is away".into() }
            }
            "eth_sendRawTransaction" if mixed.is_multiple_of(3) => {
                arrives(call);
                Reply::Pass
            }
            "eth_getTransactionReceipt" | "eth_getTransactionByHash" if mixed.is_multiple_of(6) => {
                Reply::Result(Value::Null)
            }
            "eth_getTransactionCount" if mixed.is_multiple_of(11) => Reply::Status(503, None),
            _ => Reply::Pass,
        }
    }
}

/// A pseudorandom duration from 50 to 949 ms, by a seed.
fn moment(seed: usize) -> Duration {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    Duration::from_millis(50 + mixed % 900)
}

/// What happens around a kill: a reorganisation, a chain without blocks, an empty account.
async fn trouble(till: &Till, life: usize, kills: usize, silence: Duration) {
    match life {
        _ if life == kills / 2 => {
            till.world.mining(false).await;
            tokio::time::sleep(silence).await;
            till.world.mining(true).await;
        }
        _ if life == kills / 4 => {
            till.world.fund(U256::ZERO).await;
            tokio::time::sleep(silence / 4).await;
            till.world.fund(U256::from(10).pow(U256::from(20))).await;
        }
        _ if life % 3 == 1 => {
            till.world.mining(false).await;
            let depth = 1 + life as u64 % 2;
            till.world.rpc("anvil_rollback", json!([depth])).await;
            till.world.mining(true).await;
        }
        _ => {}
    }
}

/// A host that is killed and starts again.
struct Host {
    service: Option<Service>,
    config: String,
    variables: Vec<(&'static str, String)>,
}

impl Host {
    fn start(config: String, variables: Vec<(&'static str, String)>) -> Self {
        let mut host = Self { service: None, config, variables };
        host.start_in(tempfile::tempdir().expect("a temporary folder"));
        host
    }

    fn start_in(&mut self, dir: TempDir) {
        let variables: Vec<_> = self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.service = Some(Service::start_with(dir, &self.config, &[], &variables));
    }

    fn service(&self) -> &Service {
        self.service.as_ref().expect("it runs")
    }

    async fn restart(&mut self, asked: Vec<JoinHandle<Option<Value>>>) {
        let dir = self.service.take().expect("it runs").kill();
        for asked in asked {
            asked.await.expect("the caller is told");
        }
        self.start_in(dir);
    }
}

/// Makes half as many payments as submissions while `hosts` are killed in turn, then compares payments, submissions,
/// transfers and events. `beside` is more trouble in each life.
async fn survive(till: &Till, proxy: &Proxy, mut hosts: Vec<Host>, mut beside: impl AsyncFnMut(usize)) -> String {
    let (submissions, kills, silence) = numbers();
    // They are valid for as long as a slow machine takes.
    let payment = || {
        let mut order = till.order();
        order.authorization.valid_before = U256::from(now() + 3_600);
        order.header()
    };
    let payments: Vec<Option<String>> = (0..submissions).map(|n| (n % 2 == 1).then(payment)).collect();
    for life in 0..kills {
        proxy.rule(faulty(life as u64 * 1_000, till.world.chain.rpc.clone()));
        let mine = submissions * life / kills..submissions * (life + 1) / kills;
        let asked: Vec<_> = mine
            .map(|n| {
                let service = hosts[n % hosts.len()].service();
                let api = if payments[n].is_some() { service.anonymous() } else { service.keyed() };
                tokio::spawn(ask(api, n, payments[n].clone()))
            })
            .collect();
        trouble(till, life, kills, silence).await;
        beside(life).await;
        tokio::time::sleep(moment(life)).await;
        let at = life % hosts.len();
        hosts[at].restart(asked).await;
    }
    proxy.rule(|_| Reply::Pass);
    let (keyed, anonymous) = (hosts[0].service().keyed(), hosts[0].service().anonymous());
    let (mut ids, mut urls) = (BTreeSet::new(), Vec::new());
    for (n, payment) in payments.iter().enumerate() {
        let api = if payment.is_some() { &anonymous } else { &keyed };
        let answered = until(async || ask(api.clone(), n, payment.clone()).await, Option::is_some).await;
        let body = answered.expect("an answer");
        ids.insert(body["submission_id"].to_string());
        urls.push(body["status_url"].as_str().expect("a path").to_owned());
    }
    futures::future::join_all(urls.iter().map(|url| confirmed(&keyed, url))).await;
    let (paid, transfers) = (submissions / 2, till.transfers().await.len());
    let (held, most) = (till.world.held().await, most_paid(&till.world).await);
    let events = held.len();
    let tags: BTreeSet<_> = held.iter().map(|held| (&held.uri, &held.tag1)).collect();
    assert_eq!((ids.len(), transfers, till.balance().await), (submissions, paid, paid as u64 * PRICE));
    assert_eq!((events, tags.len()), (2 * submissions, 2 * submissions));
    assert!(most <= 3.0, "{most}");
    format!(
        "{submissions} submissions and payments mixed, {kills} kills: {} submissions, {transfers} transfers for {paid} \
         payments, {events} events, the most paid is {most:.2} times the market",
        ids.len()
    )
}

/// A chain behind a faulty node, and a host's configuration in which few transfers fit at a time.
async fn stage() -> (Till, Proxy, String) {
    let till = Till::start().await;
    let proxy = Proxy::start(till.world.chain.url()).await;
    let config = till.config(&proxy.url, "settle_ms = 29_000").replace("confirmations = 1", "confirmations = 3");
    let config = with_gas(&config, "accounts_usd = 0.05, feedback_usd = 0.2, period_seconds = 5");
    (till, proxy, config)
}

/// The environment of a process whose clock is this much ahead, and whether the library for it is installed.
fn ahead_by(seconds: u64) -> (Vec<(&'static str, String)>, bool) {
    let folders = ["/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime", "/usr/lib/faketime"];
    let library =
        folders.iter().map(|folder| format!("{folder}/libfaketimeMT.so.1")).find(|path| Path::new(path).exists());
    let Some(library) = library else { return (Vec::new(), false) };
    let clock =
        [("LD_PRELOAD", library), ("FAKETIME", format!("+{seconds}s")), ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into())];
    (clock.into(), true)
}

#[test]
fn whatever_happens_each_payment_is_one_transfer_and_each_tag_one_event() {
    run(async {
        let (till, proxy, config) = stage().await;
        println!("{}", survive(&till, &proxy, vec![Host::start(config, Vec::new())], async |_| {}).await);
    });
}

#[test]
fn on_two_hosts_with_clocks_apart_and_a_redis_that_is_cut_off_nothing_is_lost_or_doubled() {
    run(async {
        let (till, proxy, config) = stage().await;
        let redis = Redis::start(&DURABLE);
        let wire = Wire::to(redis.port).await;
        let config = redis::on(&config, &format!("redis://127.0.0.1:{}", wire.port), "mixed:");
        let (clock, is_apart) = ahead_by(90);
        let hosts = vec![Host::start(config.clone(), Vec::new()), Host::start(config, clock)];
        let time = async |host: &Host| {
            let status = host.service().keyed().get("/api/v2/admin/status").await.ok();
            status["timestamp"].as_str().and_then(|text| text.parse::<Time>().ok()).expect("a time")
        };
        let apart = (time(&hosts[1]).await - time(&hosts[0]).await).num_seconds();
        // Reduced by the time between the two answers.
        assert!(!is_apart || (30..=91).contains(&apart), "{apart} s apart");
        let beside = async |life: usize| {
            if life % 2 == 1 {
                wire.cut();
                tokio::time::sleep(moment(life + 1_000)).await;
                wire.mend();
            }
        };
        let said = survive(&till, &proxy, hosts, beside).await;
        println!("two hosts, clocks {apart} s apart, Redis cut off: {said}");
    });
}

#[test]
fn on_two_hosts_whose_redis_fails_over_nothing_is_lost_or_doubled() {
    run(async {
        let (till, proxy, config) = stage().await;
        let mut servers = Watched::start().await;
        let config = redis::on(&config, &servers.url, "mixed:").replace("[store]\n", "[store]\nwait_replicas = 1\n");
        let hosts = vec![Host::start(config.clone(), Vec::new()), Host::start(config, Vec::new())];
        let (middle, replica) = (numbers().1 / 2, servers.replica.port);
        let ports = servers.url.split([':', ',', '/']).filter_map(|part| part.parse::<u16>().ok());
        let sentinels: Vec<u16> = ports.collect();
        let (mut master, mut next) = (servers.master.take(), None);
        let beside = async |life: usize| {
            if life == middle {
                drop(master.take());
                until(async || redis::ask(replica, &["role"]), |said| said.starts_with("master")).await;
                // A host that starts while the sentinels do not agree ends at once.
                for sentinel in &sentinels {
                    let named = async || redis::ask(*sentinel, &["sentinel", "get-master-addr-by-name", "main"]);
                    until(named, |said| said.contains(&replica.to_string())).await;
                }
                // Writes wait for a replica of the new master.
                next = Some(Redis::replica_of(replica));
            }
        };
        println!("a Redis that fails over: {}", survive(&till, &proxy, hosts, beside).await);
    });
}
