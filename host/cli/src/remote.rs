//! A client of the admin API of a running server.

use std::{
    thread,
    time::{Duration, Instant},
};

use assay_domain::{Scope, Secret};
use clap::Args;
use http_body_util::{BodyExt, Limited};
use reqwest::{
    Method, StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};
use serde_json::Value;
use url::{Host, Url};

use super::{ConfigFile, Failure};
use assay::config::Config;

/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 64 << 20;
/// Longest wait for the check of an upload: the compiler of a large model has the lowest priority.
const CHECKED: Duration = Duration::from_secs(600);
/// Between two questions. The server holds each for seconds.
const AGAIN: Duration = Duration::from_millis(200);
/// Maximum wait that a server can ask for by `Retry-After`.
const LONGEST: Duration = Duration::from_secs(60);

/// The URL of the server, and the API key.
#[derive(Args)]
pub(super) struct Server {
    /// Root URL of the server; the `listen` address of the configuration if absent
    #[arg(long, visible_alias = "to", value_name = "URL")]
    server: Option<String>,
    /// Environment variable that holds an API key, or for `assay watch` the token of the watch; if absent, the first
    /// key of scope admin in the configuration
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
        let is_url = Url::parse(&root).is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
        if !is_url {
            return Err(Failure::cannot("--server is no URL; give one such as http://127.0.0.1:8080"));
        }
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
        Remote::of(root.trim_end_matches('/').to_owned(), key, self.server.as_deref().is_none_or(is_here))
    }
}

/// Whether the URL is of this machine.
fn is_here(url: &str) -> bool {
    match Url::parse(url).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

impl Remote {
    fn of(root: String, key: Secret, is_here: bool) -> Result<Self, Failure> {
        let mut client = reqwest::Client::builder().timeout(TIMEOUT);
        // A proxy cannot reach this machine, and would see the key.
        if is_here {
            client = client.no_proxy();
        }
        let client = client.build().map_err(Failure::cannot)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
        Ok(Self { root, key, client, runtime })
    }

    /// The body of a successful response.
    ///
    /// # Errors
    /// Exit code 1 with the server's message, or exit code 2 if no server answers.
    pub fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let request = self.request(method, path);
        self.send(match body {
            Some(body) => request.json(body),
            None => request,
        })
    }

    /// The body of a successful response, as it is.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let request = self.request(Method::GET, path);
        let (status, found) = self.runtime.block_on(async {
            let answer = request.send().await.map_err(no_answer)?;
            Ok::<_, Failure>((answer.status(), body(answer).await?))
        })?;
        if status.is_success() {
            return Ok(found);
        }
        let problem = serde_json::from_slice(&found);
        successful(status, problem.unwrap_or_else(|_| String::from_utf8_lossy(&found).into())).map(|_| found)
    }

    /// The same with bytes as they are, which the server may still check when its time for one request is over, or have
    /// to check after other files: then they are sent again.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn upload(&self, path: &str, bytes: &[u8]) -> Result<Value, Failure> {
        let started = Instant::now();
        loop {
            let request = self.request(Method::POST, path).header("content-type", "application/octet-stream");
            let (status, body) = self.answer(request.body(bytes.to_vec()))?;
            let is_checking = match status {
                StatusCode::GATEWAY_TIMEOUT => true,
                StatusCode::SERVICE_UNAVAILABLE => body.get("code").is_some_and(|code| code == "busy"),
                _ => false,
            };
            if !is_checking || started.elapsed() > CHECKED {
                return successful(status, body);
            }
            thread::sleep(AGAIN);
        }
    }

    /// The body of a successful response. While the server does not answer, fails or has no room, the request is sent
    /// again after `pace`, or when `Retry-After` says, and stderr has the reason.
    ///
    /// # Errors
    /// As [`Self::ask`], for every other answer.
    pub fn follow(&self, path: &str, pace: Duration) -> Result<Value, Failure> {
        loop {
            // The timer of a request needs the runtime when it is sent.
            let answered = self.runtime.block_on(async {
                let answer = self.request(Method::GET, path).send().await?;
                let (status, asked) = (answer.status(), retry_after(answer.headers()));
                Ok((status, asked, body(answer).await))
            });
            let (why, wait) = match answered {
                Err(error) => (no_answer(error).message, pace),
                Ok((status, asked, found)) => {
                    let is_passing = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
                    match found {
                        Ok(found) if !is_passing => {
                            let body = serde_json::from_slice(&found);
                            let wrong = |_| Failure::cannot(format!("the answer is not JSON ({status})"));
                            return successful(status, body.map_err(wrong)?);
                        }
                        Ok(_) => (format!("the server answers {status}"), asked.unwrap_or(pace)),
                        Err(failure) => (failure.message, pace),
                    }
                }
            };
            eprintln!("{why}; asking again in {} s", wait.as_secs());
            thread::sleep(wait);
        }
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.root)).bearer_auth(self.key.expose())
    }

    fn send(&self, request: reqwest::RequestBuilder) -> Result<Value, Failure> {
        let (status, body) = self.answer(request)?;
        successful(status, body)
    }

    fn answer(&self, request: reqwest::RequestBuilder) -> Result<(StatusCode, Value), Failure> {
        self.runtime.block_on(async {
            let answer = request.send().await.map_err(no_answer)?;
            let status = answer.status();
            let body = body(answer).await?;
            let read = if status == StatusCode::NO_CONTENT { Ok(Value::Null) } else { serde_json::from_slice(&body) };
            Ok((status, read.map_err(|_| Failure::cannot(format!("the answer is not JSON ({status})")))?))
        })
    }
}

/// The seconds of `Retry-After`, at most [`LONGEST`].
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST))
}

/// The error would show the whole URL, which may have a password.
fn no_answer(error: reqwest::Error) -> Failure {
    let place = error.url().and_then(|url| Some(format!("{}://{}", url.scheme(), url.authority().rsplit('@').next()?)));
    let (place, error) = (place.unwrap_or_else(|| "there".to_owned()), error.without_url());
    let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
    Failure::cannot(format!("no server answers at {place}: {error}{cause}"))
}

/// The body of a server's answer, which may be another server than the user believes.
///
/// # Errors
/// If it is cut off, or longer than any answer of this server.
pub(super) async fn body(answer: reqwest::Response) -> Result<Vec<u8>, Failure> {
    let body = Limited::new(reqwest::Body::from(answer), MAX_ANSWER).collect().await;
    Ok(body.map_err(|error| Failure::cannot(format!("the answer cannot be read: {error}")))?.to_bytes().to_vec())
}

/// A wrong field of a request: where it is, and what is wrong.
fn violation(of: &Value) -> String {
    let place = of.get("loc").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let words = of.get("msg").and_then(Value::as_str).unwrap_or_default();
    format!("{}: {words}", place.collect::<Vec<_>>().join(" "))
}

fn successful(status: StatusCode, body: Value) -> Result<Value, Failure> {
    if status.is_success() {
        return Ok(body);
    }
    let detail = match body.get("detail") {
        Some(Value::String(words)) => words.clone(),
        Some(Value::Array(violations)) => violations.iter().map(violation).collect::<Vec<_>>().join("; "),
        _ => body.to_string(),
    };
    Err(Failure::no(format!("{detail} ({})", status.as_u16())))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Read as _, Write as _},
        net::TcpListener,
    };

    use super::*;

    fn remote(root: String) -> Remote {
        Remote::of(root, Secret::new("key".to_owned()), true).unwrap()
    }

    #[test]
    fn a_client_that_follows_asks_again_while_the_server_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = remote(format!("http://{}", listener.local_addr().unwrap()));
        let answers = [
            "",
            "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 4\r\n\r\nbusy",
            "HTTP/1.1 504 Gateway Timeout\r\nconnection: close\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"a\":",
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"last\":3}",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 30\r\n\r\n{\"detail\": \"Watch not found\"}  ",
        ];
        let stub = thread::spawn(move || {
            for answer in answers {
                let mut connection = listener.accept().unwrap().0;
                let mut reader = BufReader::new(connection.try_clone().unwrap());
                let head = reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty());
                assert!(head.collect::<Vec<_>>()[0].starts_with("GET /events "));
                connection.write_all(answer.as_bytes()).unwrap();
            }
        });
        let follow = || remote.follow("/events", Duration::ZERO).map_err(|failure| failure.message);
        assert_eq!(follow().unwrap()["last"], 3);
        assert_eq!(follow().unwrap_err(), "Watch not found (404)");
        stub.join().unwrap();
    }

    /// A stub of a server that is slow to check a file.
    #[test]
    fn an_upload_waits_until_it_is_checked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let root = format!("http://{}", listener.local_addr().unwrap());
        let answers = [
            ("504 Gateway Timeout", r#"{"detail":"The answer took too long"}"#),
            ("503 Service Unavailable", r#"{"code":"busy","detail":"Other files are being checked"}"#),
            ("201 Created", r#"{"kind":"credit"}"#),
            ("503 Service Unavailable", r#"{"code":"store_unwritable","detail":"The disk is full"}"#),
        ];
        let stub = thread::spawn(move || {
            for (status, body) in answers {
                let mut connection = listener.accept().unwrap().0;
                let mut reader = BufReader::new(connection.try_clone().unwrap());
                let head = reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty());
                assert!(head.collect::<Vec<_>>()[0].starts_with("POST /models "));
                let mut sent = [0; 4];
                reader.read_exact(&mut sent).unwrap();
                assert_eq!(&sent, b"wasm");
                let length = body.len();
                write!(connection, "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
                    .unwrap();
            }
        });
        let remote = remote(root);
        let upload = || remote.upload("/models", b"wasm").map_err(|failure| failure.message);
        assert_eq!(upload().unwrap()["kind"], "credit");
        let refused = upload().unwrap_err();
        assert!(refused.contains("The disk is full (503)"), "{refused}");
        stub.join().unwrap();
    }
}
