//! A mock of the servers that agents' URIs point to: it answers over real HTTP, counts connections and requests, and
//! has a path for each misbehaviour.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use futures::stream;
use serde_json::json;
use tokio::task::JoinHandle;

/// Running until dropped.
pub struct Documents {
    pub url: String,
    connections: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
    server: JoinHandle<()>,
}

impl Documents {
    /// Paths: `/named/{name}` and `/ipfs/{name}` are documents with that name; the others are `/status/{status}`,
    /// `/slow`, `/huge`, `/endless`, `/garbage`, `/deep`, `/round` and `/inward`, which redirects to `inward`.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn start(inward: &str) -> Self {
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}")).unwrap_or_default();
        let (connections, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, list, inward) = (connections.clone(), asked.clone(), inward.to_owned());
        let counted = listener.tap_io(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let app = Router::new().fallback(move |uri: Uri| {
            let path = uri.path().to_owned();
            list.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
            let inward = inward.clone();
            async move { answer(&path, &inward).await }
        });
        let server = tokio::spawn(async move { axum::serve(counted, app).await.unwrap_or_default() });
        Self { url, connections, asked, server }
    }

    /// `host:port`, in the form of the host's configuration.
    pub fn at(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Connections made so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The requested paths since the last call of this function.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Documents {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(path: &str, inward: &str) -> Response {
    let to = |place: &str| (StatusCode::FOUND, [(header::LOCATION, place.to_owned())]).into_response();
    if let Some(name) = path.strip_prefix("/named/").or_else(|| path.strip_prefix("/ipfs/")) {
        return axum::Json(
            json!({ "name": name, "description": format!("{name} is elsewhere"), "image": "ipfs://bafy/a.png" }),
        )
        .into_response();
    }
    if let Some(status) = path.strip_prefix("/status/").and_then(|status| status.parse().ok()) {
        return StatusCode::from_u16(status).unwrap_or_default().into_response();
    }
    let repeat =
        |part: &'static [u8]| Body::from_stream(stream::repeat(Bytes::from_static(part)).map(Ok::<_, std::io::Error>));
    use futures::StreamExt;
    match path {
        "/slow" => std::future::pending().await,
        "/huge" => vec![b' '; 4 << 20].into_response(),
        "/endless" => repeat(&[b'{'; 1 << 14]).into_response(),
        "/garbage" => b"\xff\xfe\x00not json".to_vec().into_response(),
        "/deep" => "{\"name\":".to_owned().repeat(10_000).into_response(),
        "/round" => to("/round"),
        "/inward" => to(inward),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
