//! Three hosts on one Redis behind the shipped proxy. All requests go to the proxy, while hosts are killed in turn,
//! Redis is restarted, and one host loses its connections to Redis and the chain.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use assay_tests::{
    nginx::Nginx,
    proxy::Wire,
    redis::{DURABLE, Redis},
    reputation::World,
    service::{Caller, Service, try_answer},
    until::PATIENCE,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{METERED, SANDBOX, metered, on, proxied::TRUSTING, run, soak, until};
use crate::reputation;

const HOSTS: usize = 3;
/// Submissions before each kill, and before Redis is restarted.
const AT_ONCE: usize = 3;
const READERS: usize = 4;
/// The most failed requests while hosts are killed, in percent.
const BOUND: f64 = 1.0;
/// The least reads after each kill: so the share that fails does not depend on the speed of the machine.
const BETWEEN: u64 = 500;

/// The current fault. A request that sees several counts for the worst one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// One host after another is killed and started again.
    Kills,
    /// Redis is restarted; lasts until every host is ready again.
    Restart,
    Cut,
}

/// The number of requests of one kind in each phase, and of those that failed.
#[derive(Default)]
struct Tally([(AtomicU64, AtomicU64); 3]);

impl Tally {
    fn count(&self, phases: [usize; 2], failed: bool) {
        let (asked, refused) = &self.0[phases[0].max(phases[1])];
        asked.fetch_add(1, Relaxed);
        refused.fetch_add(u64::from(failed), Relaxed);
    }

    fn of(&self, phase: Phase) -> (u64, u64) {
        let (asked, failed) = &self.0[phase as usize];
        (asked.load(Relaxed), failed.load(Relaxed))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (phase, name) in [(Phase::Kills, "kills"), (Phase::Restart, "restart of Redis"), (Phase::Cut, "cut")] {
            let (asked, failed) = self.of(phase);
            write!(f, "; {name}: {failed} of {asked} failed ({:.2} %)", 100.0 * failed as f64 / asked.max(1) as f64)?;
        }
        Ok(())
    }
}

/// The callers of the proxy.
struct Crowd {
    proxy: Caller,
    phase: AtomicUsize,
    reads: Tally,
    posts: Tally,
    /// The status paths of accepted submissions.
    accepted: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl Crowd {
    fn enter(&self, phase: Phase) {
        self.phase.store(phase as usize, Relaxed);
    }

    fn now(&self) -> usize {
        self.phase.load(Relaxed)
    }

    /// Waits until the callers have read [`BETWEEN`] times.
    async fn read_on(&self) {
        let reads = async || self.reads.of(Phase::Kills).0;
        let before = reads().await;
        assay_tests::until::until(reads, |reads| *reads >= before + BETWEEN).await;
    }

    /// Makes submission `n`, repeats it until it is accepted, and returns its id.
    async fn submit(self: Arc<Self>, n: usize) -> Value {
        let started = Instant::now();
        loop {
            let request = self.proxy.request(Method::POST, "/api/v2/agents/1/reputation");
            let request = request
                .header("idempotency-key", format!("fleet {n}"))
                .json(&json!({ "address": reputation::subject(n) }));
            let before = self.now();
            let answer = try_answer(request.timeout(Duration::from_secs(10))).await;
            let failed = !matches!(&answer, Ok(answer) if answer.status == 202);
            self.posts.count([before, self.now()], failed);
            if let Ok(answer) = &answer {
                assert!(
                    !failed || [502, 503, 504].contains(&answer.status.as_u16()),
                    "{} {}",
                    answer.status,
                    answer.text
                );
                if !failed {
                    let body = answer.json();
                    let path = body["status_url"].as_str().expect("a path").to_owned();
                    self.accepted.lock().unwrap_or_else(PoisonError::into_inner).push(path);
                    return body["submission_id"].clone();
                }
            }
            assert!(started.elapsed() < PATIENCE, "nobody accepts the submission {n}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Reads in turn what needs no store and what only the store has, until `stop`.
    async fn read(self: Arc<Self>) {
        for n in 0.. {
            if self.stop.load(Relaxed) {
                return;
            }
            let path = {
                let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
                accepted.get(n % (2 * accepted.len().max(1))).cloned().unwrap_or_else(|| SANDBOX.to_owned())
            };
            let before = self.now();
            let answer = try_answer(self.proxy.request(Method::GET, &path).timeout(Duration::from_secs(10))).await;
            let failed = !matches!(&answer, Ok(answer) if answer.status == 200);
            if let Ok(answer) = &answer
                && failed
            {
                assert!([502, 503, 504].contains(&answer.status.as_u16()), "{path}: {} {}", answer.status, answer.text);
            }
            self.reads.count([before, self.now()], failed);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A host that is killed and starts again at the same address.
struct Host {
    service: Option<Service>,
    config: String,
    address: SocketAddr,
    /// Its connections: to the store and to the chain.
    wires: [Wire; 2],
}

impl Host {
    /// Host `n` has its own address, so that no outgoing connection takes its port while it is dead.
    async fn start(n: usize, world: &World, redis: u16, more: &str) -> Self {
        let chain = world.chain.url().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let wires = [Wire::to(redis).await, Wire::to(chain).await];
        let config = world.config(&format!("http://127.0.0.1:{}", wires[1].port), "") + more;
        let config = on(wires[0].port, &config).replace("127.0.0.1:0", &format!("127.0.1.{}:0", n + 1));
        let service = Service::start(&config);
        let address = service.address();
        let config = config.replace(&format!("{}:0", address.ip()), &address.to_string());
        Self { service: Some(service), config, address, wires }
    }

    fn restart(&mut self) {
        let dir = self.service.take().expect("it runs").kill();
        self.service = Some(Service::start_in(dir, &self.config, &[]));
    }

    fn caller(&self) -> Caller {
        self.service.as_ref().expect("it runs").with_key(METERED)
    }

    async fn ready(&self) {
        until(&self.caller(), "/readyz", |answer| answer.status == 200).await;
    }
}

#[test]
fn whoever_is_killed_or_cut_off_each_submission_is_on_the_chain_once() {
    run(async {
        let (kills, while_cut, cut) =
            if soak() { (20, 24, Duration::from_secs(30)) } else { (3, 3, Duration::from_secs(3)) };
        let submissions = (kills + 1) * AT_ONCE + while_cut;
        let world = World::start().await;
        let mut server = Redis::start(&DURABLE);
        let mut hosts = Vec::new();
        for n in 0..HOSTS {
            hosts.push(Host::start(n, &world, server.port, &(metered(submissions * 10) + TRUSTING)).await);
        }
        let proxy = Nginx::start(&hosts.iter().map(|host| host.address).collect::<Vec<_>>());
        let crowd = Arc::new(Crowd {
            proxy: Caller::at(&proxy.base, METERED),
            phase: AtomicUsize::new(Phase::Kills as usize),
            reads: Tally::default(),
            posts: Tally::default(),
            accepted: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let readers: Vec<_> = (0..READERS).map(|_| tokio::spawn(crowd.clone().read())).collect();

        let mut asked = Vec::new();
        let mut submit = |count: usize| {
            for _ in 0..count {
                asked.push(tokio::spawn(crowd.clone().submit(asked.len())));
            }
        };
        for life in 0..kills {
            submit(AT_ONCE);
            // The test kills at many moments; this is the next one.
            tokio::time::sleep(Duration::from_millis(150 + 331 * life as u64 % 900)).await;
            hosts[life % HOSTS].restart();
            if life == kills / 2 {
                crowd.enter(Phase::Restart);
                submit(AT_ONCE);
                let (dir, port) = server.kill();
                server = Redis::start_in(dir, port, &DURABLE).expect("Redis comes back with its file");
                for host in &hosts {
                    host.ready().await;
                }
                crowd.enter(Phase::Kills);
            }
            if life == kills * 2 / 3 {
                crowd.enter(Phase::Cut);
                hosts[0].wires.iter().for_each(Wire::cut);
                for _ in 0..while_cut {
                    submit(1);
                    tokio::time::sleep(cut / while_cut as u32).await;
                }
                hosts[0].wires.iter().for_each(Wire::mend);
                hosts[0].ready().await;
                crowd.enter(Phase::Kills);
            }
            crowd.read_on().await;
        }
        let mut ids = Vec::new();
        for asked in asked {
            ids.push(asked.await.expect("it was accepted"));
        }
        crowd.stop.store(true, Relaxed);
        for reader in readers {
            reader.await.expect("what was accepted is found");
        }

        let (reads, posts) = (crowd.reads.of(Phase::Kills), crowd.posts.of(Phase::Kills));
        println!(
            "{submissions} submissions, {kills} kills, Redis restarted, one host cut off for {cut:?}\nreads{}\nposts, \
             each repeated until accepted{}",
            crowd.reads, crowd.posts
        );
        let failed = 100.0 * (reads.1 + posts.1) as f64 / (reads.0 + posts.0) as f64;
        assert!(failed < BOUND, "{failed:.2} % failed while hosts were killed; the proxy says\n{}", proxy.log());

        let callers: Vec<_> = hosts.iter().map(Host::caller).collect();
        let mut paths = Vec::new();
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(crowd.clone().submit(n).await, *id, "the same key is the same submission");
            paths.push(format!("/api/v2/agents/1/reputation/status/{}", id.as_str().expect("an id")));
        }
        let statuses =
            futures::future::join_all(paths.iter().map(|path| reputation::confirmed(&callers[0], path))).await;
        let held = world.held().await;
        for (path, status) in paths.iter().zip(&statuses) {
            reputation::check(&world, &held, status, &reputation::ALL);
            for caller in &callers {
                assert_eq!(caller.get(path).await.ok(), *status);
            }
        }
        assert_eq!(held.len(), submissions * reputation::ALL.len());
        let left = format!("has 0 of {} left", submissions * 10);
        for caller in &callers {
            let refused = caller
                .post("/api/v2/agents/1/reputation", &json!({ "address": reputation::subject(0) }))
                .await
                .expect(429);
            assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains(&left)), "{refused}");
            assert_eq!(caller.get(SANDBOX).await.ok()["score"], callers[0].get(SANDBOX).await.ok()["score"]);
        }
    });
}
