//! The server as a process: ready when it logs its address, stopped when dropped.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::process::{End, Guarded, Lines};

#[derive(Debug)]
pub struct Host {
    process: Guarded,
    pub address: SocketAddr,
}

impl Host {
    /// Runs `binary serve --config config` and blocks until it listens.
    ///
    /// # Errors
    /// When it cannot start or ends before it listens; the message has its last lines.
    pub fn start(binary: &Path, config: &Path, lines: Lines) -> io::Result<Self> {
        let mut command = Command::new(binary);
        command.arg("serve").arg("--config").arg(config).env("NO_COLOR", "1");
        let (process, address) = Guarded::start(&command, End::Terminate, lines, listening)?;
        Ok(Self { process, address })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Completes when the process has ended by itself, with its last lines.
    pub async fn ended(&self) -> String {
        self.process.ended().await;
        self.process.last_lines()
    }
}

/// The address in the log line `listening`, in either log format.
pub fn listening(line: &str) -> Option<SocketAddr> {
    if !line.contains("listening") {
        return None;
    }
    let part_of_address = |c: char| c.is_ascii_alphanumeric() || ".:[]".contains(c);
    line.split(|c| !part_of_address(c)).find_map(|word| word.trim_start_matches("http:").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::listening;

    #[test]
    fn finds_the_address_in_text_and_json_lines() {
        let at = "127.0.0.1:8080".parse().ok();
        assert_eq!(listening("2026-11-21T02:08:33.123Z  INFO assay: listening address=127.0.0.1:8080"), at);
        assert_eq!(listening(r#"{"level":"INFO","message":"listening","address":"127.0.0.1:8080"}"#), at);
        assert_eq!(listening("INFO listening on http://127.0.0.1:8080/"), at);
        assert_eq!(listening("INFO listening address=[::1]:8080"), "[::1]:8080".parse().ok());
        assert_eq!(listening("INFO reading 127.0.0.1:8080"), None);
    }
}
