//! A server in this process, and a client for it.

use std::path::{Path, PathBuf};

use assay::{
    app,
    config::{self, Config},
};
use reqwest::{Client, Method, redirect::Policy};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// A key that may read and has three units.
pub const READER: &str = "reader-key-0001";
const ADMIN: &str = "admin-key-0001";

pub struct Server {
    base: String,
    client: Client,
    cancel: CancellationToken,
    serving: JoinHandle<Result<(), app::AppError>>,
    dir: TempDir,
}

pub struct Answer {
    pub status: u16,
    headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{}: {error}: {:?}", self.status, self.text))
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).to_str().unwrap()
    }
}

impl Server {
    /// Starts a server with a copy of the released shelf and a new store.
    pub async fn start(sandbox: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path(), sandbox);
        let listener = TcpListener::bind(config.listen).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let cancel = CancellationToken::new();
        let serving = tokio::spawn(app::serve(config, listener, cancel.clone()));
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { base, client, cancel, serving, dir }
    }

    pub fn shelf(&self) -> PathBuf {
        self.dir.path().join("shelf")
    }

    pub fn admin(&self) -> String {
        format!("Bearer {ADMIN}")
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Some(&self.admin()), None).await
    }

    pub async fn public(&self, path: &str) -> Answer {
        self.send("GET", path, None, None).await
    }

    pub async fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, Some(&self.admin()), Some(body)).await
    }

    pub async fn send(&self, method: &str, path: &str, authorization: Option<&str>, body: Option<&str>) -> Answer {
        let mut request =
            self.client.request(Method::from_bytes(method.as_bytes()).unwrap(), format!("{}{path}", self.base));
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        if let Some(body) = body {
            request = request.body(body.to_owned());
        }
        finish(request).await
    }

    pub async fn upload(&self, path: &str, body: Vec<u8>) -> Answer {
        finish(self.client.post(format!("{}{path}", self.base)).header("authorization", self.admin()).body(body)).await
    }

    /// Sends a body without a declared length, and returns the first line of the response.
    pub async fn chunked(&self, path: &str, length: usize) -> String {
        let stream = TcpStream::connect(self.base.trim_start_matches("http://")).await.unwrap();
        let (read, mut write) = stream.into_split();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: assay\r\nauthorization: {}\r\ntransfer-encoding: chunked\r\n\r\n",
            self.admin()
        );
        write.write_all(head.as_bytes()).await.unwrap();
        let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
        for _ in 0..length >> 16 {
            write.write_all(chunk.as_bytes()).await.unwrap();
        }
        write.write_all(b"0\r\n\r\n").await.unwrap();
        let mut line = String::new();
        BufReader::new(read).read_line(&mut line).await.unwrap();
        line
    }

    pub async fn with_header(&self, path: &str, name: &str, value: &str) -> Answer {
        finish(self.client.get(format!("{}{path}", self.base)).header(name, value)).await
    }

    /// Stops the server and waits until it ends.
    pub async fn stop(self) {
        self.cancel.cancel();
        self.serving.await.unwrap().unwrap();
    }
}

async fn finish(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.expect("an answer");
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        text: response.text().await.expect("a whole body"),
    }
}

/// A copy of the released shelf, a store and two keys, all in `dir`.
pub fn config(dir: &Path, sandbox: bool) -> Config {
    let shelf = dir.join("shelf");
    std::fs::create_dir(&shelf).unwrap();
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins")).unwrap() {
        let file = file.unwrap();
        // Beside the components are the cards of models.
        if file.path().is_file() {
            std::fs::copy(file.path(), shelf.join(file.file_name())).unwrap();
        }
    }
    let toml = format!(
        "listen = \"127.0.0.1:0\"\nsandbox = {sandbox}\n[models]\nshelf = {shelf:?}\nmax_component_bytes = 2_097_152\n\
             [store]\npath = {:?}\n\
             [[access.keys]]\nname = \"reader\"\nkey = \"{READER}\"\nscopes = [\"read\"]\nunits = 3\n\
             [[access.keys]]\nname = \"admin\"\nkey = \"{ADMIN}\"\nscopes = [\"read\", \"admin\"]\n",
        dir.join("assay.redb")
    );
    let file = dir.join("assay.toml");
    std::fs::write(&file, toml).unwrap();
    config::load(Some(&file)).unwrap()
}
