//! What comes from npm, pinned by `package-lock.json`: the anvil chain node, Aave's compiled contracts and a compiler
//! for stubs. Refuses to go on with packages other than the locked ones.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{End, Guarded, Lines};

/// Historical states a node keeps in memory, the oldest going first. Seeding makes some 250 blocks; the rest is room
/// for what tests and a long `devnet run` add before the oldest nonces would be forgotten.
const STATES_KEPT: &str = "6000";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "npm was not found: the devnet takes its chain node and contracts from npm. Install Node.js 20 or newer with npm, then try again"
    )]
    NoNpm,
    #[error("npm ci failed in {dir}; is the package registry reachable? npm said:\n{said}")]
    Install { dir: PathBuf, said: String },
    #[error(
        "no anvil binary at {0}: this platform's package is not among the installed ones. Supported are Linux and macOS on x86-64 and ARM64"
    )]
    NoBinary(PathBuf),
    #[error("anvil did not start: {0}")]
    Start(#[source] io::Error),
    #[error("cannot read or write {path}: {cause}")]
    File { path: PathBuf, cause: io::Error },
}

/// The directory that holds `package.json`.
fn root() -> PathBuf {
    // Cargo says where the running package is; that is another one when its tests or benches borrow the devnet, and a
    // binary run by hand is told nothing. Both were built where the sources are.
    let running =
        env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).filter(|dir| dir.join("package-lock.json").is_file());
    running.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")))
}

/// Makes sure that `node_modules` holds what the lock file says, running `npm ci` when it does not, and gives its path.
/// Blocks; processes that come at the same time wait for the first.
///
/// # Errors
/// When npm is missing or fails.
pub fn packages() -> Result<PathBuf, Error> {
    let root = root();
    let modules = root.join("node_modules");
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |cause| Error::File { path, cause }
    };
    let locked_path = root.join("package-lock.json");
    let locked = fs::read(&locked_path).map_err(file_error(&locked_path))?;
    // Removed by `npm ci` with the rest of the folder, so it is there only after an install went through.
    let stamp = modules.join(".installed-from");
    let current = || fs::read(&stamp).is_ok_and(|installed| installed == locked);
    if current() {
        return Ok(modules);
    }

    // Not a file of its own: this one is there already and nobody replaces it.
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

/// A running anvil. Dropping it kills it.
#[derive(Debug)]
pub struct Anvil {
    process: Guarded,
    url: String,
}

impl Anvil {
    /// Starts a node on a free port, with gas that costs nothing, mining only when told and believing every sender.
    /// `genesis` is in seconds since 1970. Blocks until it listens.
    ///
    /// # Errors
    /// When the packages are missing or anvil ends at once.
    pub fn start(chain_id: u64, genesis: u64) -> Result<Self, Error> {
        let platform = match (env::consts::OS, env::consts::ARCH) {
            ("macos", "aarch64") => "darwin-arm64",
            ("macos", _) => "darwin-amd64",
            (_, "aarch64") => "linux-arm64",
            _ => "linux-amd64",
        };
        // The package's own entry is a script that needs node to find this same file.
        let binary = packages()?.join(format!("@foundry-rs/anvil-{platform}/bin/anvil"));
        if !binary.is_file() {
            return Err(Error::NoBinary(binary));
        }
        let mut command = Command::new(binary);
        command.args(["--port", "0", "--chain-id", &chain_id.to_string(), "--timestamp", &genesis.to_string()]);
        // In order of arrival, and as many in a block as it takes.
        command.args(["--no-mining", "--order", "fifo", "--gas-limit", "1000000000"]);
        command.args(["--base-fee", "0", "--disable-min-priority-fee"]);
        command.args(["--accounts", "0", "--auto-impersonate"]);
        // Reading a wallet's first transaction needs its nonce at old blocks. In memory: the default writes old states
        // into the home directory, and forgets the oldest.
        command.args(["--prune-history", STATES_KEPT]);
        let listening = |line: &str| line.strip_prefix("Listening on ").map(|at| format!("http://{}", at.trim()));
        let (process, url) = Guarded::start(&command, End::Kill, Lines::Keep, listening).map_err(Error::Start)?;
        Ok(Self { process, url })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The last lines it wrote, for an error message.
    pub fn last_lines(&self) -> String {
        self.process.last_lines()
    }
}
