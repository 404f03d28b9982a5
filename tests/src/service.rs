//! The real `assay` binary under test, and its callers.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::Duration,
};

use reqwest::{Method, StatusCode};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    host::listening,
    process::{End, Guarded, Lines},
    redis,
    until::until,
};

/// The key in every configuration written here: all scopes, unmetered.
pub const KEY: &str = "assay_test_key_with_every_scope";

/// A running server. Dropping it kills it and removes its folder.
pub struct Service {
    process: Guarded,
    base: String,
    dir: TempDir,
}

impl Service {
    /// Starts a server on a configuration; `{dir}` in it becomes a folder of the server's own.
    pub fn start(config: &str) -> Self {
        Self::start_in(tempfile::tempdir().expect("a temporary folder"), config, &[])
    }

    /// A server without chains, with the shelf at `shelf`.
    pub fn sandbox(shelf: &Path) -> Self {
        Self::start(&sandbox_config(shelf))
    }

    /// Starts in the folder of an earlier server.
    pub fn start_in(dir: TempDir, config: &str, arguments: &[&str]) -> Self {
        Self::start_with(dir, config, arguments, &[])
    }

    /// As [`Service::start_in`], with variables in its environment.
    pub fn start_with(dir: TempDir, config: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let file = dir.path().join("assay.toml");
        let config = redis::chosen(config, dir.path()).replace("{dir}", &dir.path().display().to_string());
        std::fs::write(&file, &config).expect("writing the configuration");
        let mut command = Command::new(binary());
        command.args(["serve", "--config"]).arg(&file).args(arguments).env("NO_COLOR", "1");
        // Tests count requests to chains. Those of the market index configure it.
        if !config.contains("\nindex = ") {
            command.env("ASSAY__READING__INDEX", "off");
        }
        // On a busy machine a read can take longer than the default of 8 s. A test of that limit configures its own.
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

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.base.trim_start_matches("http://").parse().expect("an address")
    }

    /// The server's own folder: configuration, store.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn pid(&self) -> u32 {
        self.process.pid().expect("assay is running")
    }

    /// Its last lines of log.
    pub fn log(&self) -> String {
        self.process.last_lines()
    }

    /// Its last lines of log, once `part` is in them: a line may come later than the answer that it is about.
    ///
    /// # Panics
    /// When it does not come.
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

    /// Sends SIGTERM, and returns the exit status.
    pub async fn terminate(self) -> ExitStatus {
        signal(self.pid(), "TERM");
        self.process.ended().await;
        self.process.finish().expect("assay has ended")
    }

    /// Sends SIGTERM and waits for the end. The folder stays, for another server.
    pub async fn terminate_keeping(self) -> TempDir {
        signal(self.pid(), "TERM");
        let Self { process, dir, .. } = self;
        process.ended().await;
        let ended = process.finish().expect("assay has ended");
        assert!(ended.success(), "{ended}");
        dir
    }

    /// Sends SIGKILL. The folder stays, for another server.
    pub fn kill(self) -> TempDir {
        let Self { process, dir, .. } = self;
        drop(process);
        dir
    }

    /// A caller with every scope.
    pub fn keyed(&self) -> Caller {
        Caller::at(&self.base, KEY)
    }

    /// A caller with another key.
    pub fn with_key(&self, key: &str) -> Caller {
        Caller { key: Some(key.to_owned()), ..self.keyed() }
    }

    /// A caller without a key.
    pub fn anonymous(&self) -> Caller {
        Caller { key: None, ..self.keyed() }
    }
}

/// A caller of the API.
#[derive(Clone)]
pub struct Caller {
    base: String,
    key: Option<String>,
    http: reqwest::Client,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{} is not JSON: {error}: {:?}", self.status, self.text))
    }

    /// The body of a 200.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.json()
    }

    /// The body of a response with this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }
}

impl Caller {
    /// A caller of `base` with this key.
    pub fn at(base: &str, key: &str) -> Self {
        Self { base: base.to_owned(), key: Some(key.to_owned()), http: client() }
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// Repeats a GET until the answer `is` as expected.
    ///
    /// # Panics
    /// When it stays another.
    #[track_caller]
    pub fn until(&self, path: &str, is: impl FnMut(&Answer) -> bool) -> impl Future<Output = Answer> {
        until(async || self.get(path).await, is)
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        answer(self.request(Method::POST, path).json(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        answer(self.request(Method::PUT, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        answer(self.request(Method::DELETE, path)).await
    }

    /// Sends bytes, for uploads and for bodies that are not JSON.
    pub async fn post_bytes(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        answer(self.request(Method::POST, path).body(body)).await
    }
}

/// Sends a request and reads the whole response.
pub async fn answer(request: reqwest::RequestBuilder) -> Answer {
    try_answer(request).await.expect("the host answers")
}

/// As [`answer`], but the server may not respond.
///
/// # Errors
/// When the connection fails before the response is complete.
pub async fn try_answer(request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    Ok(Answer { status: response.status(), headers: response.headers().clone(), text: response.text().await? })
}

/// `config` in which a host counts in the shared store however slow that is, and never by itself.
pub fn counting_together(config: &str) -> String {
    config.replace("[store]\n", "[store]\ncount_timeout_ms = 60_000\n")
}

/// Configuration of a server without chains.
pub fn sandbox_config(shelf: &Path) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[models]\nshelf = \"{}\"\n[store]\npath = \"{{dir}}/assay.redb\"\n[access]\ndefault_rate = 0\naddress_rate = 0\n[[access.keys]]\nname = \"test\"\nkey = \"{KEY}\"\nscopes = [\"read\", \"submit\", \"admin\"]\n",
        shelf.display()
    )
}

/// The released shelf of this repository.
pub fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").canonicalize().expect("plugins/ is there")
}

/// A copy of the released shelf that a test may change.
pub fn shelf_copy() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for file in std::fs::read_dir(plugins()).expect("plugins/ can be read").map_while(Result::ok) {
        if file.path().extension().is_some_and(|extension| extension == "wasm") {
            std::fs::copy(file.path(), dir.path().join(file.file_name())).expect("copying a component");
        }
    }
    dir
}

/// The `assay` binary of the profile that this test was built with.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.ancestors().find(|dir| dir.join("assay").is_file());
    profile.expect("assay is not built; `cargo build --release -p assay` builds it").join("assay")
}

/// Sends a signal by name.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{name} {pid}");
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().expect("an HTTP client")
}
