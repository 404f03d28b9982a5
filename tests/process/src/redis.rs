//! A Redis server.

use std::{
    net::TcpListener,
    ops::Range,
    path::Path,
    process::Command,
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;

use crate::{End, Guarded, Lines};

/// Options that keep every record when Redis is killed.
pub const DURABLE: [&str; 6] = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
/// Options with which records last as long as the process.
pub const FORGETFUL: [&str; 4] = ["--save", "", "--appendonly", "no"];
/// Maximum number of attempts to start: another process may take the free port first.
const TRIES: usize = 5;
/// The ports for servers that need their port again.
const PORTS: Range<u16> = 10_000..16_000;
/// Ports per block. A process reserves whole blocks, so no other process takes the port of its stopped server.
const BLOCK: u16 = 100;

/// One server. Dropping it kills it.
pub struct Redis {
    process: Guarded,
    dir: TempDir,
    pub port: u16,
}

impl Redis {
    /// # Panics
    /// If it does not start: the package redis-server of the system is needed.
    pub fn start(settings: &[&str]) -> Self {
        for _ in 0..TRIES {
            let dir = tempfile::tempdir().unwrap_or_else(|e| panic!("a temporary folder: {e}"));
            if let Ok(server) = Self::start_in(dir, free_port(), settings) {
                return server;
            }
        }
        panic!("redis-server does not start; install the package redis-server");
    }

    /// Starts in the folder of an earlier server.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_in(dir: TempDir, port: u16, settings: &[&str]) -> std::io::Result<Self> {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(dir.path()).args(settings);
        let ready = |line: &str| line.contains("Ready to accept connections").then_some(());
        let (process, ()) = Guarded::start(&command, End::Kill, Lines::Keep, ready)?;
        Ok(Self { process, dir, port })
    }

    /// Where it keeps its files.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Starts a replica of the server at `port`.
    ///
    /// # Panics
    /// Like [`Redis::start`].
    pub fn replica_of(port: u16) -> Self {
        Self::start(&[&DURABLE[..], &["--replicaof", "127.0.0.1", &port.to_string()]].concat())
    }

    /// # Panics
    /// If it has ended.
    pub fn pid(&self) -> u32 {
        self.process.pid().unwrap_or_else(|| panic!("Redis is running"))
    }

    /// Sends SIGKILL. Another server can start in the returned folder.
    pub fn kill(self) -> (TempDir, u16) {
        let Self { process, dir, port } = self;
        drop(process);
        (dir, port)
    }
}

/// Returns the output of redis-cli.
pub fn ask(port: u16, command: &[&str]) -> String {
    let said = Command::new("redis-cli").args(["-p", &port.to_string()]).args(command).output();
    String::from_utf8_lossy(&said.map(|said| said.stdout).unwrap_or_default()).into_owned()
}

/// Returns a port that nothing listens on. It is below those that systems choose for connections and for listeners on
/// port 0, so none of these takes it before its server starts, or while its server is down.
///
/// # Panics
/// If there is none.
pub fn free_port() -> u16 {
    static OURS: Mutex<Ports> = Mutex::new(Ports { rest: 0..0, blocks: Vec::new() });
    let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(port) = ours.rest.find(|port| listen(*port).is_some()) {
            return port;
        }
        ours.take_block();
    }
}

/// The ports of this process.
struct Ports {
    /// Those that were not returned yet.
    rest: Range<u16>,
    /// A listener at the first port of each block keeps the block for as long as the process lives.
    blocks: Vec<TcpListener>,
}

impl Ports {
    fn take_block(&mut self) {
        let mut firsts = PORTS.step_by(usize::from(BLOCK));
        let taken = firsts.find_map(|first| Some((first, listen(first)?)));
        let (first, listener) = taken.unwrap_or_else(|| panic!("no free port"));
        self.rest = first + 1..first + BLOCK;
        self.blocks.push(listener);
    }
}

fn listen(port: u16) -> Option<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).ok()
}
