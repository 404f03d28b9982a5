//! A mock of a gateway of names (EIP-3668): it has the real protocol over HTTP, and counts connections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use alloy::primitives::{Address, Bytes};
use alloy::sol_types::SolValue;
use axum::body::Bytes as Body;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::json;
use tokio::task::JoinHandle;

/// One request: method, path and body.
pub type Asked = (String, String, String);

/// Running until dropped.
pub struct Gateway {
    pub url: String,
    connections: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<Asked>>>,
    server: JoinHandle<()>,
}

impl Gateway {
    /// A gateway with an address for every name. Paths under `/error/{status}` fail with that status, paths under
    /// `/inward` redirect to `inward`; `/page`, `/message`, `/upper` and `/never` answer with HTML, with another JSON
    /// object, in upper-case digits, and not at all.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn start(owner: Address, inward: String) -> Self {
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}")).unwrap_or_default();
        let (connections, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, list) = (connections.clone(), asked.clone());
        let counted = listener.tap_io(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let app = Router::new().fallback(move |method: Method, uri: Uri, body: Body| {
            let path = uri.path().to_owned();
            let request = (method.to_string(), path.clone(), String::from_utf8_lossy(&body).into_owned());
            list.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            let answer = answer(&path, owner, &inward);
            async move { if path.starts_with("/never") { std::future::pending().await } else { answer } }
        });
        let server = tokio::spawn(async move { axum::serve(counted, app).await.unwrap_or_default() });
        Self { url, connections, asked, server }
    }

    /// Connections made so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The requests since the last call of this function.
    pub fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn answer(path: &str, owner: Address, inward: &str) -> Response {
    if let Some(status) = path.strip_prefix("/error/").and_then(|rest| rest.get(..3)?.parse().ok()) {
        return StatusCode::from_u16(status).unwrap_or_default().into_response();
    }
    if path.starts_with("/inward") {
        return (StatusCode::FOUND, [(header::LOCATION, inward)]).into_response();
    }
    if path.starts_with("/page") {
        return ([(header::CONTENT_TYPE, "text/html")], "<html><body>Sorry</body></html>").into_response();
    }
    if path.starts_with("/message") {
        return Json(json!({ "message": "no data" })).into_response();
    }
    let mut data = Bytes::from(owner.abi_encode()).to_string();
    if path.starts_with("/upper") {
        data = format!("0x{}", data[2..].to_uppercase());
    }
    Json(json!({ "data": data })).into_response()
}
