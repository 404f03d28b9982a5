//! The packages from npm, pinned by `package-lock.json`: the anvil chain node, Aave's compiled contracts and a compiler
//! for stubs. Other versions are refused.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{End, Guarded, Lines};

/// Historical states in a node's memory; the oldest are dropped first. Seeding mines some 250 blocks; tests and a long
/// `devnet run` need the rest before the oldest nonces are dropped.
const STATES_KEPT: &str = "12000";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "npm was not found: the devnet takes its chain node and contracts from npm. Install Node.js 20 or newer with \
         npm, then try again"
    )]
    NoNpm,
    #[error("npm ci failed in {dir}; is the package registry reachable? npm said:\n{said}")]
    Install { dir: PathBuf, said: String },
    #[error(
        "no anvil binary at {0}: this platform's package is not among the installed ones. Supported are Linux and \
         macOS on x86-64 and ARM64"
    )]
    NoBinary(PathBuf),
    #[error("anvil did not start: {0}")]
    Start(#[source] io::Error),
    #[error("cannot read or write {path}: {cause}")]
    File { path: PathBuf, cause: io::Error },
}

/// The folder of the packages, of the contracts and of the clients.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The packages of the chain node and of its contracts, installed.
///
/// # Errors
/// When npm is missing or fails.
pub fn packages() -> Result<PathBuf, Error> {
    installed(root())
}

/// Runs `npm ci` in `root` where `node_modules` differs from the lock file, and returns the path of `node_modules`.
/// Blocks; other processes wait for the first.
///
/// # Errors
/// When npm is missing or fails.
pub fn installed(root: PathBuf) -> Result<PathBuf, Error> {
    let modules = root.join("node_modules");
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |cause| Error::File { path, cause }
    };
    let locked_path = root.join("package-lock.json");
    let locked = fs::read(&locked_path).map_err(file_error(&locked_path))?;
    // `npm ci` removes this file with the folder, so it exists only after a successful install.
    let stamp = modules.join(".installed-from");
    let current = || fs::read(&stamp).is_ok_and(|installed| installed == locked);
    if current() {
        return Ok(modules);
    }

    // The lock uses an existing file that no process replaces.
    let lock_path = root.join("package.json");
    let lock = File::open(&lock_path).map_err(file_error(&lock_path))?;
    lock.lock().map_err(file_error(&lock_path))?;
    if current() {
        return Ok(modules);
    }
    let ran = Command::new("npm").args(["ci", "--ignore-scripts"]).current_dir(&root).output();
    let output = ran.map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => Error::NoNpm,
        _ => Error::File { path: PathBuf::from("npm"), cause },
    })?;
    if !output.status.success() {
        return Err(Error::Install { dir: root, said: String::from_utf8_lossy(&output.stderr).into_owned() });
    }
    fs::write(&stamp, &locked).map_err(file_error(&stamp))?;
    Ok(modules)
}

/// The order of the transactions in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Arrival,
    /// Those that offer more for gas come first, and of equal ones those that arrived first.
    Price,
}

impl Order {
    fn name(self) -> &'static str {
        match self {
            Self::Arrival => "fifo",
            Self::Price => "fees",
        }
    }
}

/// A running anvil. Dropping it kills it.
#[derive(Debug)]
pub struct Anvil {
    process: Guarded,
    url: String,
}

impl Anvil {
    /// Starts a node on a free port. Gas is free, it mines only on request, and accepts every sender without a key.
    /// `genesis` is in seconds since 1970. Blocks until it listens.
    ///
    /// # Errors
    /// When the packages are missing or anvil ends at once.
    pub fn start(chain_id: u64, genesis: u64) -> Result<Self, Error> {
        Self::start_in(Order::Arrival, chain_id, genesis)
    }

    /// As [`start`](Self::start), with this order of transactions.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_in(order: Order, chain_id: u64, genesis: u64) -> Result<Self, Error> {
        Self::run(order, chain_id, &["--timestamp", &genesis.to_string()])
    }

    fn run(order: Order, chain_id: u64, start: &[&str]) -> Result<Self, Error> {
        let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("macos", "aarch64") => "darwin-arm64",
            ("macos", _) => "darwin-amd64",
            (_, "aarch64") => "linux-arm64",
            _ => "linux-amd64",
        };
        // The package's entry is a script that only finds this same file.
        let binary = packages()?.join(format!("@foundry-rs/anvil-{platform}/bin/anvil"));
        if !binary.is_file() {
            return Err(Error::NoBinary(binary));
        }
        let mut command = Command::new(binary);
        command.args(["--port", "0", "--chain-id", &chain_id.to_string()]).args(start);
        // As many transactions in a block as fit.
        command.args(["--no-mining", "--order", order.name(), "--gas-limit", "1000000000"]);
        command.args(["--base-fee", "0", "--disable-min-priority-fee"]);
        command.args(["--accounts", "0", "--auto-impersonate"]);
        // Reading a wallet's first transaction needs its nonce at old blocks. Old states stay in memory: the default
        // writes them into the home directory, and drops the oldest.
        command.args(["--prune-history", STATES_KEPT]);
        let listening = |line: &str| line.strip_prefix("Listening on ").map(|at| format!("http://{}", at.trim()));
        let (process, url) = Guarded::start(&command, End::Kill, Lines::Keep, listening).map_err(Error::Start)?;
        Ok(Self { process, url })
    }

    /// A copy of the chain at `upstream` that ends with `block`. Blocks until it listens.
    ///
    /// Send it one call at a time: a call that asks the upstream holds a lock, other calls block a thread of the
    /// runtime while they wait for it, and with two threads none may be left to receive the upstream's answer.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn copy(chain_id: u64, upstream: &str, block: u64) -> Result<Self, Error> {
        let number = block.to_string();
        Self::run(
            Order::Arrival,
            chain_id,
            &["--fork-url", upstream, "--fork-block-number", &number, "--no-rate-limit"],
        )
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The last lines it wrote, for an error message.
    pub fn last_lines(&self) -> String {
        self.process.last_lines()
    }
}
