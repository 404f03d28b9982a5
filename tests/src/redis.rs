//! Several Redis processes: a master with a replica and three sentinels, or a cluster of three nodes. Also selects
//! the store for servers under test.

use std::{path::Path, process::Command, sync::OnceLock};

use assay_process::redis::FORGETFUL;
pub use assay_process::redis::{DURABLE, Redis, ask, free_port};
use tempfile::TempDir;

use crate::{
    process::{End, Guarded, Lines},
    until::until,
};

/// Environment variable: with `redis`, `sentinel` or `cluster`, servers under test use that instead of the embedded
/// store.
pub const CHOICE: &str = "ASSAY_TEST_STORE";

/// A master, its replica, and sentinels that promote the replica when the master is gone.
pub struct Watched {
    pub master: Option<Redis>,
    pub replica: Redis,
    _sentinels: Vec<Guarded>,
    _dir: TempDir,
    pub url: String,
}

impl Watched {
    /// # Panics
    /// When a part does not start.
    pub async fn start() -> Self {
        let master = Redis::start(&DURABLE);
        let of = master.port.to_string();
        let replica = Redis::replica_of(master.port);
        let dir = tempfile::tempdir().unwrap_or_else(|e| panic!("a temporary folder: {e}"));
        let (mut sentinels, mut ports) = (Vec::new(), Vec::new());
        for n in 0..3 {
            let (port, file) = (free_port(), dir.path().join(format!("{n}.conf")));
            let watch = format!("sentinel monitor main 127.0.0.1 {of} 2\nsentinel down-after-milliseconds main 3000\n");
            let text = format!("bind 127.0.0.1\nport {port}\n{watch}sentinel failover-timeout main 5000\n");
            std::fs::write(&file, text).unwrap_or_else(|e| panic!("a sentinel's file: {e}"));
            let mut command = Command::new("redis-server");
            command.arg(&file).arg("--sentinel");
            let ready = |line: &str| line.contains("+monitor master").then_some(());
            let (sentinel, ()) =
                Guarded::start(&command, End::Kill, Lines::Keep, ready).unwrap_or_else(|e| panic!("a sentinel: {e}"));
            sentinels.push(sentinel);
            ports.push(port);
        }
        for port in &ports {
            let known = "num-slaves\n1\nnum-other-sentinels\n2";
            until(async || ask(*port, &["sentinel", "master", "main"]), |said| said.contains(known)).await;
        }
        until(async || ask(master.port, &["wait", "1", "100"]), |said| said.trim() == "1").await;
        let hosts: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let url = format!("redis+sentinel://{}/main", hosts.join(","));
        Self { master: Some(master), replica, _sentinels: sentinels, _dir: dir, url }
    }
}

/// Three masters that share the slots.
pub struct Cluster {
    nodes: Vec<Redis>,
    pub url: String,
}

impl Cluster {
    /// # Panics
    /// When a part does not start.
    pub async fn start() -> Self {
        let nodes: Vec<_> = (0..3)
            .map(|_| {
                let bus = free_port().to_string();
                Redis::start(&[&FORGETFUL[..], &["--cluster-enabled", "yes", "--cluster-port", &bus]].concat())
            })
            .collect();
        let hosts: Vec<_> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        let created =
            Command::new("redis-cli").args(["--cluster", "create"]).args(&hosts).arg("--cluster-yes").output();
        let created = created.unwrap_or_else(|e| panic!("redis-cli: {e}"));
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
        for node in &nodes {
            until(async || ask(node.port, &["cluster", "info"]), |said| said.contains("cluster_state:ok")).await;
        }
        Self { nodes, url: format!("redis+cluster://{}", hosts.join(",")) }
    }

    pub fn ports(&self) -> impl Iterator<Item = u16> {
        self.nodes.iter().map(|node| node.port)
    }
}

/// Replaces the embedded store in `config` with the selected one, if any.
///
/// # Panics
/// If the selection is unknown, or the store does not start.
pub fn chosen(config: &str, dir: &Path) -> String {
    enum Store {
        Embedded,
        One(Redis),
        Watched(Watched),
        Cluster(Cluster),
    }
    /// Started once. They end with this process.
    static STORE: OnceLock<Store> = OnceLock::new();
    let block = |store: fn() -> std::pin::Pin<Box<dyn Future<Output = Store>>>| {
        let run = move || {
            Ok::<_, std::io::Error>(
                tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(store()),
            )
        };
        std::thread::spawn(run).join().ok().and_then(Result::ok).unwrap_or_else(|| panic!("{CHOICE} does not start"))
    };
    let store = STORE.get_or_init(|| match std::env::var(CHOICE).as_deref() {
        Err(_) | Ok("" | "embedded") => Store::Embedded,
        Ok("redis") => Store::One(Redis::start(&FORGETFUL)),
        Ok("sentinel") => block(|| Box::pin(async { Store::Watched(Watched::start().await) })),
        Ok("cluster") => block(|| Box::pin(async { Store::Cluster(Cluster::start().await) })),
        Ok(other) => panic!("{CHOICE} is redis, sentinel or cluster, not {other}"),
    });
    // Do not change a configuration with its own servers.
    if config.contains("backend = \"redis\"") {
        return config.to_owned();
    }
    let url = match store {
        Store::Embedded => return config.to_owned(),
        Store::One(server) => server.url(),
        Store::Watched(watched) => watched.url.clone(),
        Store::Cluster(cluster) => cluster.url.clone(),
    };
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    on(config, &url, &format!("{}:", name.trim_start_matches('.')))
}

/// Returns `config` with the store at `url`.
pub fn on(config: &str, url: &str, prefix: &str) -> String {
    let store = format!("[store]\nbackend = \"redis\"\nurl = \"{url}\"\nprefix = \"{prefix}\"\n");
    config.replace("backend = \"embedded\"\n", "").replace("[store]\n", &store)
}
