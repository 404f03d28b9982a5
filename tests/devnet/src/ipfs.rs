//! A mock of a Kubo node: it has `add`, `pin/ls` and the gateway's `/ipfs/` of the real RPC API over HTTP, stores
//! documents in memory, and computes CIDs itself. A test can make it fail, return wrong CIDs or not pin, and can stop
//! it and start it again at the same address.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::gate::Gate;
use crate::process::redis::free_port;
use crate::until::until;

/// The behaviour of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mood {
    #[default]
    Well,
    /// Every request gets 503.
    Down,
    /// Returns a wrong CID.
    Lying,
    /// Does not pin.
    Forgetful,
    /// Requests to add wait until [`Ipfs::release`].
    Holding,
}

/// Running until dropped.
pub struct Ipfs {
    pub url: String,
    shared: Arc<Shared>,
    at: SocketAddr,
    /// A runtime of its own, so that its connections end with it.
    server: Option<Runtime>,
}

#[derive(Default)]
struct Kept {
    mood: Mood,
    blocks: BTreeMap<String, Vec<u8>>,
    pinned: BTreeMap<String, bool>,
    adds: usize,
}

struct Shared {
    kept: Mutex<Kept>,
    gate: Gate,
}

impl Shared {
    fn kept<T>(&self, with: impl FnOnce(&mut Kept) -> T) -> T {
        with(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ipfs {
    /// # Panics
    /// When no port can be bound.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared { kept: Mutex::default(), gate: Gate::default() });
        let at = (Ipv4Addr::LOCALHOST, free_port()).into();
        let mut node = Self { url: String::new(), shared, at, server: None };
        node.start_again().await;
        node.url = format!("http://{}", node.at);
        node
    }

    /// Stops the node and its connections. Its documents stay.
    pub async fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown_background();
        }
        until(async || TcpStream::connect(self.at).await.is_ok(), |open| !open).await;
    }

    /// Listens at the same address again.
    ///
    /// # Panics
    /// When the port cannot be bound.
    pub async fn start_again(&mut self) {
        let app = Router::new()
            .route("/api/v0/add", routing::post(add))
            .route("/api/v0/pin/ls", routing::post(pins))
            .route("/ipfs/{cid}", routing::get(cat))
            .with_state(self.shared.clone());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap_or_else(|e| panic!("no runtime: {e}"));
        let at = self.at;
        let listener = runtime.spawn(TcpListener::bind(at)).await.ok().and_then(Result::ok);
        let listener = listener.unwrap_or_else(|| panic!("{at} cannot be bound"));
        self.at = listener.local_addr().unwrap_or(at);
        runtime.spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        self.server = Some(runtime);
    }

    pub fn be(&self, mood: Mood) {
        self.shared.kept(|kept| kept.mood = mood);
    }

    /// Requests to add so far.
    pub fn adds(&self) -> usize {
        self.shared.kept(|kept| kept.adds)
    }

    /// Stores and pins a document, and returns its CID.
    pub fn keep(&self, document: Vec<u8>) -> String {
        let cid = cid(&document);
        self.shared.kept(|kept| {
            kept.pinned.insert(cid.clone(), true);
            kept.blocks.insert(cid.clone(), document);
        });
        cid
    }

    /// A document by its CID.
    pub fn block(&self, cid: &str) -> Option<Vec<u8>> {
        self.shared.kept(|kept| kept.blocks.get(cid).cloned())
    }

    /// Every stored CID.
    pub fn cids(&self) -> Vec<String> {
        self.shared.kept(|kept| kept.blocks.keys().cloned().collect())
    }

    /// Completes when a request is held that no earlier call has reported.
    pub async fn held(&self) {
        self.shared.gate.held().await;
    }

    /// Releases `requests` present or future requests.
    pub fn release(&self, requests: usize) {
        self.shared.gate.release(requests);
    }
}

impl Drop for Ipfs {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown_background();
        }
    }
}

fn failed(message: &str) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "Message": message, "Code": 0, "Type": "error" }))).into_response()
}

async fn add(
    State(shared): State<Arc<Shared>>,
    Query(options): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mood = shared.kept(|kept| {
        kept.adds += 1;
        kept.mood
    });
    if mood == Mood::Down {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if mood == Mood::Holding {
        shared.gate.hold().await;
    }
    let option = |name: &str, value: &str| options.get(name).is_some_and(|given| given == value);
    if !(option("cid-version", "1") && option("raw-leaves", "true")) {
        return failed("the mock knows CIDs of version 1 with raw leaves alone");
    }
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let Some(file) = kind.split_once("boundary=").and_then(|(_, boundary)| part(&body, boundary.trim_matches('"')))
    else {
        return failed("no file in the multipart body");
    };
    let cid = cid(file);
    shared.kept(|kept| {
        kept.blocks.insert(cid.clone(), file.to_vec());
        kept.pinned.insert(cid.clone(), mood != Mood::Forgetful && !option("pin", "false"));
    });
    let said = if mood == Mood::Lying { self::cid(b"something else") } else { cid };
    Json(json!({ "Name": "feedback.json", "Hash": said, "Size": file.len().to_string() })).into_response()
}

async fn pins(State(shared): State<Arc<Shared>>, Query(options): Query<BTreeMap<String, String>>) -> Response {
    let cid = options.get("arg").cloned().unwrap_or_default();
    match shared.kept(|kept| (kept.mood, kept.pinned.get(&cid).copied().unwrap_or_default())) {
        (Mood::Down, _) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        (_, true) => Json(json!({ "Keys": { cid: { "Type": "recursive" } } })).into_response(),
        _ => failed(&format!("path '{cid}' is not pinned")),
    }
}

async fn cat(State(shared): State<Arc<Shared>>, Path(cid): Path<String>) -> Response {
    shared
        .kept(|kept| kept.blocks.get(&cid).cloned())
        .map_or_else(|| StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response)
}

/// The content of the one part between two boundaries.
fn part<'b>(body: &'b [u8], boundary: &str) -> Option<&'b [u8]> {
    let find = |text: &[u8], within: &[u8]| within.windows(text.len()).position(|window| window == text);
    let start = find(b"\r\n\r\n", body)? + 4;
    let rest = body.get(start..)?;
    rest.get(..find(format!("\r\n--{boundary}").as_bytes(), rest)?)
}

/// CID version 1 of one raw block, in base 32. The mock has its own code, so that it does not share an error with the
/// server.
fn cid(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let bits: String = [0x01, 0x55, 0x12, 0x20].iter().chain(digest.iter()).map(|byte| format!("{byte:08b}")).collect();
    let letters = bits.as_bytes().chunks(5).map(|five| {
        let text = format!("{:0<5}", String::from_utf8_lossy(five));
        let index = usize::from_str_radix(&text, 2).unwrap_or_default();
        char::from(b"abcdefghijklmnopqrstuvwxyz234567"[index])
    });
    format!("b{}", letters.collect::<String>())
}
