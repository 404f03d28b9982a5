//! A client of the admin API of a running server.

use std::time::Duration;

use assay_domain::{Scope, Secret};
use clap::Args;
use reqwest::Method;
use serde_json::Value;

use super::{ConfigFile, Failure};
use assay::config::Config;

/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The URL of the server, and the API key.
#[derive(Args)]
pub(super) struct Server {
    /// Root URL of the server; the `listen` address of the configuration where absent
    #[arg(long, visible_alias = "to", value_name = "URL")]
    server: Option<String>,
    /// Name of an environment variable with an API key of scope admin; where absent, the first such key of the
    /// configuration
    #[arg(long, value_name = "VARIABLE")]
    key_from: Option<String>,
    #[command(flatten)]
    pub file: ConfigFile,
}

/// A server, and an API key for it.
pub(super) struct Remote {
    root: String,
    key: Secret,
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    /// Whether a server was named.
    pub fn is_named(&self) -> bool {
        self.server.is_some()
    }

    /// The client. Nothing is sent yet.
    pub fn reach(&self, config: &Config) -> Result<Remote, Failure> {
        let root = self.server.clone().unwrap_or_else(|| format!("http://{}", config.listen));
        let configured = || {
            let admin = config.access.keys.iter().find(|key| key.scopes.contains(&Scope::Admin));
            admin
                .map(|key| key.key.clone())
                .ok_or_else(|| Failure::cannot("the configuration has no key of scope admin; name one with --key-from"))
        };
        let key = match &self.key_from {
            Some(name) => std::env::var(name)
                .map(Secret::new)
                .map_err(|_| Failure::cannot(format!("environment variable {name} is not set")))?,
            None => configured()?,
        };
        let client = reqwest::Client::builder().timeout(TIMEOUT).build().map_err(Failure::cannot)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
        Ok(Remote { root: root.trim_end_matches('/').to_owned(), key, client, runtime })
    }
}

impl Remote {
    /// The body of a successful response.
    ///
    /// # Errors
    /// Exit code 1 with the server's message, or exit code 2 where no server answers.
    pub fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let request = self.request(method, path);
        self.send(match body {
            Some(body) => request.json(body),
            None => request,
        })
    }

    /// The same with bytes as they are.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn upload(&self, path: &str, bytes: Vec<u8>) -> Result<Value, Failure> {
        let request = self.request(Method::POST, path).header("content-type", "application/octet-stream");
        self.send(request.body(bytes))
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.root)).bearer_auth(self.key.expose())
    }

    fn send(&self, request: reqwest::RequestBuilder) -> Result<Value, Failure> {
        self.runtime.block_on(async {
            // The error would show the whole URL, which may have a password.
            let no_answer =
                |error: reqwest::Error| Failure::cannot(format!("no server answers there: {}", error.without_url()));
            let answer = request.send().await.map_err(no_answer)?;
            let status = answer.status();
            if status == reqwest::StatusCode::NO_CONTENT {
                return Ok(Value::Null);
            }
            let body: Value = answer.json().await.map_err(no_answer)?;
            if status.is_success() {
                return Ok(body);
            }
            let detail = body.get("detail").map_or_else(
                || body.to_string(),
                |detail| detail.as_str().map_or_else(|| detail.to_string(), str::to_owned),
            );
            Err(Failure::no(format!("{detail} ({})", status.as_u16())))
        })
    }
}
