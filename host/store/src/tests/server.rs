//! A real redis-server for these tests, which ends with their process. Each store has its own prefix.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use uuid::Uuid;

use crate::config;
use assay_domain::Secret;

/// A shell that ends the server when its input is closed, which also happens when this process ends.
const GUARD: &str = r#""$@" </dev/null & child=$!; cat >/dev/null; kill -9 $child"#;

pub(super) struct Server {
    shell: Child,
    pub folder: tempfile::TempDir,
    pub port: u16,
}

impl Server {
    /// A server that keeps its records only while it runs.
    pub fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), free_port(), &["--save", "", "--appendonly", "no"])
    }

    pub fn start_in(folder: tempfile::TempDir, port: u16, settings: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "sh", "redis-server", "--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]);
        command.arg(folder.path()).args(settings).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = command.spawn().unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("Ready to accept connections")), "redis-server ended; is it installed?");
        // An unread pipe would block the server.
        std::thread::spawn(move || lines.for_each(drop));
        Self { shell, folder, port }
    }

    /// A new store on this server.
    pub fn config(&self) -> config::Store {
        on(&format!("redis://127.0.0.1:{}", self.port))
    }

    /// Kills the server at once and keeps its folder.
    pub fn kill(mut self) -> (tempfile::TempDir, u16) {
        self.end();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        (folder, self.port)
    }

    fn end(&mut self) {
        drop(self.shell.stdin.take());
        self.shell.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// A new store on the server that all tests share.
pub(super) fn config() -> config::Store {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start).config()
}

pub(super) fn on(url: &str) -> config::Store {
    config::Store {
        backend: config::Backend::Redis,
        url: Some(Secret::new(url)),
        prefix: format!("{}:", Uuid::new_v4().simple()),
        // Long timeouts: no test fails on a busy machine.
        connect_timeout: Duration::from_secs(20),
        answer_timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(20),
        count_timeout: Duration::from_secs(20),
        ..config::Store::embedded("unused".into())
    }
}

pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until the condition is true.
pub(super) async fn until<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    while !is_so().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
