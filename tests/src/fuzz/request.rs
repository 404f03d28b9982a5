//! Requests with a key of every scope: no path, query or body causes an internal error, and every refusal has a reason.

use std::sync::LazyLock;

use assay::{app, config};
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, Uri},
};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

use crate::service::plugins;

const KEY: &str = "fuzz-key-0123456789";
const ONE: &str = "0x0000000000000000000000000000000000000001";

/// The first byte of an input selects the route. The bytes up to a line break replace `{}`, the rest is the body.
const ROUTES: [(Method, &str); 14] = [
    (Method::GET, "/api/v2/score/address/{}"),
    (Method::POST, "/api/v2/score/address/{}"),
    (Method::GET, "/api/v2/score/?address={}"),
    (Method::GET, "/api/v2/score/batch/?address={}"),
    (Method::POST, "/api/v2/report/address/{}"),
    (Method::GET, "/api/v2/report/?address={}"),
    (Method::GET, "/api/v2/report/address/0x0000000000000000000000000000000000000001/chain/{}"),
    (Method::GET, "/api/v2/agents/search?{}"),
    (Method::POST, "/api/v2/agents/{}/reputation"),
    (Method::POST, "/api/v2/sandbox/score/address/{}"),
    (Method::GET, "/api/v2/models/compare/address/{}"),
    (Method::GET, "/api/v2/models/{}/report"),
    (Method::PUT, "/api/v2/admin/models/{}/champion"),
    (Method::GET, "/{}"),
];

struct Server {
    runtime: Runtime,
    router: Router,
    _folder: TempDir,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("assay.toml");
    let text = format!(
        "sandbox = true\n[models]\nshelf = {:?}\n[store]\npath = {:?}\n[[access.keys]]\nname = \"fuzz\"\nkey = \
         \"{KEY}\"\nscopes = [\"read\", \"submit\", \"admin\"]\n",
        plugins(),
        folder.path().join("assay.redb")
    );
    std::fs::write(&file, text).expect("a configuration");
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let config = config::load(Some(&file)).expect("a valid configuration");
    let assembled = runtime.block_on(app::assemble(&config)).expect("a server");
    let router = assembled.routes.router();
    // Keep the server's parts until the process ends.
    std::mem::forget(assembled);
    Server { runtime, router, _folder: folder }
});

pub fn run(input: &[u8]) {
    let Some((route, rest)) = input.split_first() else { return };
    let (method, path) = &ROUTES[usize::from(*route) % ROUTES.len()];
    let mut parts = rest.splitn(2, |byte| *byte == b'\n');
    let (blank, body) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let blank = if blank.is_empty() { ONE.into() } else { String::from_utf8_lossy(blank) };
    // An invalid URI cannot reach a server.
    let Ok(uri) = path.replace("{}", &blank).parse::<Uri>() else { return };
    let request = Request::builder().method(method).uri(uri).header("authorization", format!("Bearer {KEY}"));
    let Ok(request) = request.body(Body::from(body.to_vec())) else { return };
    let (status, text) = SERVER.runtime.block_on(async {
        let answer = SERVER.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        let status = answer.status();
        (status, to_bytes(answer.into_body(), 16 << 20).await.expect("a body"))
    });
    // Parts that are not configured answer 502.
    assert!(!status.is_server_error() || status.as_u16() == 502, "{status}: {}", String::from_utf8_lossy(&text));
    if !status.is_success() {
        let words: serde_json::Value = serde_json::from_slice(&text).expect("a refusal is JSON");
        assert!(["detail", "error"].iter().any(|key| words.get(key).is_some()), "{status}: {words}");
    }
}
