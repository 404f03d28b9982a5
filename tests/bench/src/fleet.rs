//! One, two and three hosts on this machine that share one Redis, with the CPU time of each process. Hosts, Redis and
//! the load generator share the same cores, so another host adds no core.

use std::{net::SocketAddr, ops::Range, path::Path, time::Duration};

use assay_tests::{
    devnet::Devnet,
    redis::{self, DURABLE, Redis},
    service::{KEY, Service, plugins},
};
use tokio::runtime;

use super::{
    Effort, Failure,
    clock::{Rounds, median},
    cores,
    load::{CONNECTIONS, rate},
    table::{Row, Target, Unit},
};

const HOSTS: usize = 3;
const STRETCH: Duration = Duration::from_millis(1_500);
const METERED: &str = "bench_key_with_more_units_than_are_asked_for";
/// One read is enough: then every score comes from the host's cache.
const SETTINGS: &str = "\n[scoring]\ncache_ms = 86_400_000\n";
/// Share of the time above which a process or the machine counts as saturated.
const BUSY: f64 = 0.9;

/// CPU use of one case, in cores.
#[derive(Default)]
struct Busy {
    load: Vec<f64>,
    hosts: Vec<f64>,
    redis: Vec<f64>,
    /// Idle cores.
    idle: Vec<f64>,
}

/// A Redis that flushes its file once a second, as most are configured.
const EVERY_SECOND: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "everysec"];

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let (server, lazy) = (Redis::start(&DURABLE), Redis::start(&EVERY_SECOND));
    // The chains must keep running while the load generator blocks this thread.
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    let devnet = runtime.block_on(Devnet::start(|_| {}))?;
    let key = format!(
        "\n[[access.keys]]\nname = \"metered\"\nkey = \"{METERED}\"\nscopes = [\"read\"]\nunits = 1_000_000_000\n"
    );
    let config = devnet.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY);
    let host = |server: &Redis| Service::start(&(redis::on(&config, &server.url(), "bench:") + &key + SETTINGS));
    // The last one has the other Redis.
    let hosts: Vec<Service> = std::iter::repeat_n(&server, HOSTS).chain([&lazy]).map(host).collect();
    let path = format!("/api/v2/score/address/{}", devnet.wallet("saver").address);
    for host in &hosts {
        runtime.block_on(host.keyed().get(&path)).ok();
    }

    let addresses: Vec<SocketAddr> = hosts.iter().map(Service::address).collect();
    let shared = |key| (1..=HOSTS).map(move |count| (key, 0..count));
    let single = [KEY, METERED].map(|key| (key, HOSTS..HOSTS + 1));
    let cases: Vec<(&str, Range<usize>)> = shared(KEY).chain(shared(METERED)).chain(single).collect();
    let mut busy: Vec<Busy> = cases.iter().map(|_| Busy::default()).collect();
    let mut failure = None;
    let mut ask = |case: usize, warming: bool| {
        let (key, asked) = cases[case].clone();
        let redis = if asked.start == 0 { server.pid() } else { lazy.pid() };
        let used =
            || [hosts.iter().map(|host| cores::busy(host.pid())).sum::<u64>(), cores::busy(redis), cores::idle()];
        let before = used();
        match rate(None, &addresses[asked], &path, key, STRETCH) {
            Ok(load) => {
                let after = used();
                let share = |nanoseconds: u64| nanoseconds as f64 / load.took.as_nanos() as f64;
                let [of_hosts, of_redis, idle] = std::array::from_fn(|n| share(after[n] - before[n]));
                if !warming {
                    busy[case].load.push(share(load.busy));
                    busy[case].hosts.push(of_hosts);
                    busy[case].redis.push(of_redis);
                    busy[case].idle.push(idle);
                }
                load.rate
            }
            Err(error) => {
                failure = Some(error);
                f64::NAN
            }
        }
    };
    for case in 0..cases.len() {
        ask(case, true);
    }
    let rounds = Rounds::measured(effort.of(9), cases.len(), |case| ask(case, false));
    if let Some(failure) = failure {
        return Err(failure);
    }
    let row = |what: String, case: usize, reference: &str, against: usize| Row {
        what,
        measured: rounds.median(case),
        reference: reference.to_owned(),
        reference_value: rounds.median(against),
        unit: Unit::PerSecond,
        ratio: rounds.ratio(case, against),
        target: Target::None,
        note: busy[case].note(rounds.median(case)),
    };
    let mut rows = Vec::new();
    for (first, what) in [(0, "a score from its cache"), (HOSTS, "a score from its cache, metered")] {
        for more in 1..HOSTS {
            rows.push(row(
                format!("{what}: {} hosts on one Redis", more + 1),
                first + more,
                "the same of one host",
                first,
            ));
        }
    }
    rows.push(row(
        "a score from its cache, metered: 1 host on one Redis".to_owned(),
        HOSTS,
        "the same without units",
        0,
    ));
    rows.push(row(
        "a score from its cache, metered: 1 host on a Redis that flushes once a second".to_owned(),
        2 * HOSTS + 1,
        "the same without units",
        2 * HOSTS,
    ));
    Ok(rows)
}

impl Busy {
    /// The CPU use of each process, the CPU time per response, and the bottleneck that follows.
    fn note(&self, rate: f64) -> String {
        let there = cores::available().len() as f64;
        let parts = [("the load", &self.load), ("the hosts", &self.hosts), ("Redis", &self.redis)];
        let shares = parts.map(|(name, shares)| (name, median(shares.clone())));
        let all: f64 = shares.iter().map(|(_, share)| share).sum();
        let text = shares.map(|(name, share)| {
            format!("{name} {:.0} % ({:.0} us an answer)", 100.0 * share / there, 1e6 * share / rate)
        });
        let idle = median(self.idle.clone());
        let others = 100.0 * (1.0 - (all + idle) / there).max(0.0);
        let limit = match shares {
            [(_, load), _, _] if load > BUSY => "the load, which is one thread",
            [_, _, (_, redis)] if redis > BUSY => "Redis, which is one thread",
            _ if idle < (1.0 - BUSY) * there => "the cores",
            _ => "waiting: for the disk under Redis, or for each other",
        };
        let text = text.join(", ");
        format!(
            "{CONNECTIONS} connections; of {there} cores {text}, the system and others {others:.0} %; what limits it \
             is {limit}"
        )
    }
}
