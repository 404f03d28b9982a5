//! A server without chains, and what these tests send to it.

use std::path::PathBuf;

use assay_tests::{
    service::{self, Service, shelf_copy},
    until::until,
};
use reqwest::{Client, Method, RequestBuilder, redirect::Policy};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// A key that may read and has three units.
pub const READER: &str = "reader-key-0001";
const ADMIN: &str = "admin-key-0001";

pub struct Server {
    service: Service,
    shelf: TempDir,
    client: Client,
}

pub struct Answer {
    pub status: u16,
    answer: service::Answer,
    pub text: String,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Value {
        self.answer.json()
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let headers = &self.answer.headers;
        headers.get(name).unwrap_or_else(|| panic!("no {name} in {headers:?}")).to_str().expect("text")
    }
}

impl Server {
    /// Starts a server with a copy of the released shelf.
    pub fn start(sandbox: bool) -> Self {
        let shelf = shelf_copy();
        let service = Service::start(&format!(
            "listen = \"127.0.0.1:0\"\nsandbox = {sandbox}\n\
             [models]\nshelf = {:?}\nmax_component_bytes = 2_097_152\n[store]\npath = \"{{dir}}/assay.redb\"\n\
             [[access.keys]]\nname = \"reader\"\nkey = \"{READER}\"\nscopes = [\"read\"]\nunits = 3\n\
             [[access.keys]]\nname = \"admin\"\nkey = \"{ADMIN}\"\nscopes = [\"read\", \"admin\"]\n",
            shelf.path()
        ));
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        Self { service, shelf, client }
    }

    pub fn shelf(&self) -> PathBuf {
        self.shelf.path().to_owned()
    }

    pub fn admin(&self) -> String {
        format!("Bearer {ADMIN}")
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Some(&self.admin()), None).await
    }

    /// As [`Server::send`] with the key [`READER`], after the units of its earlier calls were given back.
    pub async fn send_as_reader(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        let reader = format!("Bearer {READER}");
        let used = async || self.send("GET", "/api/v2/usage", Some(&reader), None).await.json()["used"].clone();
        until(used, |used| *used == 0).await;
        self.send(method, path, Some(&reader), body).await
    }

    pub async fn public(&self, path: &str) -> Answer {
        self.send("GET", path, None, None).await
    }

    pub async fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, Some(&self.admin()), Some(body)).await
    }

    pub async fn send(&self, method: &str, path: &str, authorization: Option<&str>, body: Option<&str>) -> Answer {
        let mut request = self.request(Method::from_bytes(method.as_bytes()).expect("a method"), path);
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        if let Some(body) = body {
            request = request.body(body.to_owned());
        }
        finish(request).await
    }

    pub async fn upload(&self, path: &str, body: Vec<u8>) -> Answer {
        finish(self.request(Method::POST, path).header("authorization", self.admin()).body(body)).await
    }

    /// Sends a body without a declared length, and returns the first line of the response.
    pub async fn chunked(&self, path: &str, length: usize) -> String {
        let stream = TcpStream::connect(self.service.address()).await.expect("a connection");
        let (read, mut write) = stream.into_split();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: assay\r\nauthorization: {}\r\ntransfer-encoding: chunked\r\n\r\n",
            self.admin()
        );
        write.write_all(head.as_bytes()).await.expect("the head is sent");
        let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
        for _ in 0..length >> 16 {
            write.write_all(chunk.as_bytes()).await.expect("a chunk is sent");
        }
        write.write_all(b"0\r\n\r\n").await.expect("the end is sent");
        let mut line = String::new();
        BufReader::new(read).read_line(&mut line).await.expect("a line");
        line
    }

    pub async fn with_header(&self, path: &str, name: &str, value: &str) -> Answer {
        finish(self.request(Method::GET, path).header(name, value)).await
    }

    /// Stops the server and waits until it ends.
    pub async fn stop(self) {
        assert!(self.service.terminate().await.success());
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.service.base()))
    }
}

async fn finish(request: RequestBuilder) -> Answer {
    let answer = service::answer(request).await;
    Answer { status: answer.status.as_u16(), text: answer.text.clone(), answer }
}
