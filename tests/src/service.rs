//! The real `assay` binary under test, and its clients.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::SystemTime,
};

pub use assay_devnet::caller::{Answer, Caller, answer, try_answer};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    host::listening,
    process::{End, Guarded, Lines},
    redis,
    until::until,
};

/// The key in every configuration written here: all scopes, no rate limit.
pub const KEY: &str = "assay_test_key_with_every_scope";

/// A running server. Dropping it kills it and removes its folder.
pub struct Service {
    process: Guarded,
    base: String,
    dir: TempDir,
}

impl Service {
    /// Starts a server with a configuration, in which `{dir}` becomes the server's folder.
    pub fn start(config: &str) -> Self {
        Self::start_in(tempfile::tempdir().expect("a temporary folder"), config, &[])
    }

    /// Starts a server without chains, with the shelf at `shelf`.
    pub fn sandbox(shelf: &Path) -> Self {
        Self::start(&sandbox_config(shelf))
    }

    /// Starts in the folder of an earlier server.
    pub fn start_in(dir: TempDir, config: &str, arguments: &[&str]) -> Self {
        Self::start_with(dir, config, arguments, &[])
    }

    /// Like [`Service::start_in`], with environment variables.
    pub fn start_with(dir: TempDir, config: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let file = dir.path().join("assay.toml");
        let config = redis::chosen(config, dir.path()).replace("{dir}", &dir.path().display().to_string());
        std::fs::write(&file, &config).expect("writing the configuration");
        let mut command = Command::new(binary());
        command.args(["serve", "--config"]).arg(&file).args(arguments).env("NO_COLOR", "1");
        // Tests count requests to chains, so the market index is off unless a test configures it.
        if !config.contains("\nindex = ") {
            command.env("ASSAY__READING__INDEX", "off");
        }
        if !config.contains("compiled_path") {
            command.env("ASSAY__MODELS__COMPILED_PATH", compiled_models());
        }
        // On a busy machine, a read can take longer than the default of 8 s. A test of that limit sets its own value.
        if !config.contains("read_budget_ms") {
            command.env("ASSAY__SCORING__READ_BUDGET_MS", "20000");
        }
        command.envs(variables.iter().copied());
        let (process, address) = Guarded::start(&command, End::Kill, Lines::Keep, listening).expect("assay starts");
        Self { process, base: format!("http://{address}"), dir }
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.base.trim_start_matches("http://").parse().expect("an address")
    }

    /// Returns the server's folder, with its configuration and store.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn pid(&self) -> u32 {
        self.process.pid().expect("assay is running")
    }

    /// Returns its last log lines.
    pub fn log(&self) -> String {
        self.process.last_lines()
    }

    /// Waits until the log contains `part`, and returns its last lines. A line may come later than the answer it
    /// belongs to.
    ///
    /// # Panics
    /// If `part` does not appear.
    #[track_caller]
    pub fn logged(&self, part: &str) -> impl Future<Output = String> {
        until(async || self.log(), move |log| log.contains(part))
    }

    /// Resident memory in bytes.
    pub fn resident(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Peak resident memory in bytes.
    pub fn peak(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, what: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("the process is alive");
        let line = status.lines().find_map(|line| line.strip_prefix(what)).expect(what);
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") * 1024
    }

    /// Sends SIGTERM and returns the exit status.
    pub async fn terminate(self) -> ExitStatus {
        signal(self.pid(), "TERM");
        self.process.ended().await;
        self.process.finish().expect("assay has ended")
    }

    /// Sends SIGTERM and waits for the end. The folder is kept for another server.
    pub async fn terminate_keeping(self) -> TempDir {
        signal(self.pid(), "TERM");
        let Self { process, dir, .. } = self;
        process.ended().await;
        let ended = process.finish().expect("assay has ended");
        assert!(ended.success(), "{ended}");
        dir
    }

    /// Sends SIGKILL. The folder is kept for another server.
    pub fn kill(self) -> TempDir {
        let Self { process, dir, .. } = self;
        drop(process);
        dir
    }

    /// Returns a client with every scope.
    pub fn keyed(&self) -> Caller {
        Caller::at(&self.base, KEY)
    }

    /// Returns a client with another key.
    pub fn with_key(&self, key: &str) -> Caller {
        self.keyed().with_key(Some(key))
    }

    /// Returns a client without a key.
    pub fn anonymous(&self) -> Caller {
        self.keyed().with_key(None)
    }
}

/// Returns `config` with a long `count_timeout_ms`: a host always counts in the shared store, however slow, never
/// locally.
pub fn counting_together(config: &str) -> String {
    config.replace("[store]\n", "[store]\ncount_timeout_ms = 60_000\n")
}

/// Returns `body` without its time, to be compared with one that was computed at another moment.
///
/// # Panics
/// If it has none.
pub fn without_time(mut body: Value) -> Value {
    let time = body.as_object_mut().and_then(|fields| fields.remove("timestamp"));
    assert!(time.is_some(), "no time in {body}");
    body
}

/// Returns the configuration of a server without chains.
pub fn sandbox_config(shelf: &Path) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[models]\nshelf = \"{}\"\n[store]\npath = \"{{dir}}/assay.redb\"\n\
         [access]\ndefault_rate = 0\naddress_rate = 0\nguest_rate = 0\n\
         [[access.keys]]\nname = \"test\"\nkey = \"{KEY}\"\nscopes = [\"read\", \"submit\", \"admin\"]\n",
        shelf.display()
    )
}

/// Returns the released shelf of this repository.
pub fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").canonicalize().expect("plugins/ is there")
}

/// Returns a copy of the released shelf, which a test may change.
pub fn shelf_copy() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(dir.path().join("cards")).expect("a folder");
    for folder in ["", "cards"] {
        let files = std::fs::read_dir(plugins().join(folder)).expect("plugins/ can be read").map_while(Result::ok);
        for file in files.filter(|file| file.path().extension().is_some_and(|end| end == "wasm" || end == "toml")) {
            let to = dir.path().join(folder).join(file.file_name());
            std::fs::copy(file.path(), to).expect("copying a component or a card");
        }
    }
    dir
}

/// Returns the `assay` binary of the same profile as this test.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.ancestors().find(|dir| dir.join("assay").is_file());
    profile.expect("assay is not built; `cargo build -p assay-cli` builds it").join("assay")
}

/// Returns the folder of compiled models shared by all servers of these tests. Each build of the binary has a different
/// folder, since it may compile differently.
fn compiled_models() -> PathBuf {
    let binary = binary();
    let built = binary.metadata().and_then(|file| file.modified()).expect("the time of the build");
    let built = built.duration_since(SystemTime::UNIX_EPOCH).expect("a time after 1970").as_millis();
    let all = binary.with_file_name("compiled-models");
    let ours = all.join(built.to_string());
    if !ours.exists() {
        // Folders of earlier builds only use disk space. A server that another test starts may make ours meanwhile.
        for folder in std::fs::read_dir(&all).into_iter().flatten().flatten().filter(|folder| folder.path() != ours) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
    ours
}

/// Sends a signal by name.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{name} {pid}");
}
