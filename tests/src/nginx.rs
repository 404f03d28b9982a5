//! A real nginx with the shipped configuration. Only its hosts, port and folder are replaced.

use std::{io, net::SocketAddr, path::Path, process::Command};

use tempfile::TempDir;

use crate::process::{End, Guarded, Lines};

const SHIPPED: &str = include_str!("../../.ops/docker/nginx.conf");
/// The path on Debian, which is not in every user's PATH.
const DEBIAN: &str = "/usr/sbin/nginx";
/// Attempts to find a free port, since another process may take it first.
const TRIES: usize = 5;

/// Running until dropped.
pub struct Nginx {
    process: Guarded,
    _dir: TempDir,
    /// The URL, without a trailing slash.
    pub base: String,
}

impl Nginx {
    /// Starts nginx in front of `hosts`.
    ///
    /// # Panics
    /// If it does not start. nginx comes with the system's package of the same name.
    pub fn start(hosts: &[SocketAddr]) -> Self {
        let mut last = None;
        for _ in 0..TRIES {
            match Self::on(crate::redis::free_port(), hosts) {
                Ok(nginx) => return nginx,
                Err(error) => last = Some(error),
            }
        }
        panic!("nginx does not start; install the package nginx: {last:?}");
    }

    /// Returns its last log lines.
    pub fn log(&self) -> String {
        self.process.last_lines()
    }

    fn on(port: u16, hosts: &[SocketAddr]) -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        // If root starts nginx, its workers run as another user, who needs access to its folders.
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let file = dir.path().join("nginx.conf");
        std::fs::write(&file, configuration(port, hosts, dir.path()))?;
        let program = if Path::new(DEBIAN).exists() { DEBIAN } else { "nginx" };
        let mut command = Command::new(program);
        command.args(["-g", "daemon off;", "-e", "stderr", "-c"]).arg(&file);
        // SIGKILL would leave the workers running.
        let (process, ()) = Guarded::start(&command, End::Terminate, Lines::Keep, |line| {
            line.contains("start worker process ").then_some(())
        })?;
        Ok(Self { process, _dir: dir, base: format!("http://127.0.0.1:{port}") })
    }
}

/// The shipped configuration, with the paths and addresses of this machine.
fn configuration(port: u16, hosts: &[SocketAddr], dir: &Path) -> String {
    let mut hosts = Some(hosts);
    let line = |line: &str| match line.trim() {
        server if server.starts_with("server ") && server.contains(":8080") => {
            let settings = server.split_once(":8080").map_or("", |(_, settings)| settings);
            hosts.take().unwrap_or_default().iter().map(|host| format!("server {host}{settings}\n")).collect()
        }
        "listen 8080;" => format!("listen 127.0.0.1:{port};\n"),
        // The log shows when nginx is ready.
        "error_log /dev/stderr warn;" => "error_log stderr notice;\n".to_owned(),
        other => other.replace("/tmp/", &format!("{}/", dir.display())) + "\n",
    };
    SHIPPED.lines().map(line).collect()
}
