//! A receiver of webhooks, as a lender runs one: it records every delivery and checks its signature with its own HMAC.
//! A test says what it answers.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;

use crate::until::until;

/// How a receiver answers one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manner {
    Status(u16),
    /// 429, and how long to wait.
    Slower(u64),
    /// 302 to this URL.
    Redirect(String),
    /// Takes the delivery and never answers.
    Hang,
}

/// Whether a receiver agrees to deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// By `webhook-allowed-origin`.
    Allows,
    /// Returns the challenge.
    Returns,
    /// It answers 200 to everything, as any server may, and agrees to nothing.
    Never,
}

/// A delivery as it arrived.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub id: String,
    pub timestamp: String,
    pub signatures: Vec<String>,
    pub text: String,
    pub body: Value,
    pub arrived: Instant,
}

impl Delivery {
    pub fn kind(&self) -> &str {
        self.body["type"].as_str().unwrap_or_default()
    }

    /// Whether one of its signatures is by `secret`.
    pub fn is_signed_by(&self, secret: &str) -> bool {
        let Ok(at) = self.timestamp.parse() else { return false };
        self.signatures.contains(&signature(secret, &self.id, at, &self.text))
    }
}

/// The signature `v1` of a delivery.
pub fn signature(secret: &str, id: &str, at: i64, text: &str) -> String {
    let key = STANDARD.decode(secret.trim_start_matches("whsec_")).unwrap_or_default();
    format!("v1,{}", STANDARD.encode(hmac(&key, format!("{id}.{at}.{text}").as_bytes())))
}

/// HMAC-SHA256 of RFC 2104, for keys of at most one block.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |byte: u8| block.map(|of_key| of_key ^ byte);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

/// Running until dropped.
pub struct Receiver {
    pub url: String,
    /// Host and port, for `outbound.allow`.
    pub at: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    consent: Consent,
    /// What it answers next; 204 after these.
    script: Mutex<VecDeque<Manner>>,
    taken: Mutex<Vec<Delivery>>,
    /// Requests of any kind.
    requests: Mutex<Vec<Method>>,
}

impl Receiver {
    /// # Panics
    /// When no port can be bound.
    pub async fn start(consent: Consent) -> Self {
        let shared = Shared { consent, script: Mutex::default(), taken: Mutex::default(), requests: Mutex::default() };
        let shared = Arc::new(shared);
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let at = listener.local_addr().map(|at| at.to_string()).unwrap_or_default();
        let app = Router::new().fallback(receive).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        Self { url: format!("http://{at}/hook"), at, shared, server }
    }

    /// Answers the next deliveries like this.
    pub fn answer(&self, script: impl IntoIterator<Item = Manner>) {
        lock(&self.shared.script).extend(script);
    }

    /// The events that arrived, in order, without questions of consent.
    pub fn events(&self) -> Vec<Delivery> {
        lock(&self.shared.taken).iter().filter(|delivery| delivery.kind() != "watch.verify").cloned().collect()
    }

    pub fn requests(&self) -> Vec<Method> {
        lock(&self.shared.requests).clone()
    }

    /// Waits until so many events arrived.
    pub async fn received(&self, count: usize) -> Vec<Delivery> {
        until(async || self.events(), |events| events.len() >= count).await
    }

    /// Waits until so many different events arrived. One whose delivery a crash interrupted comes again; each is
    /// returned once, in the order of the first arrivals.
    pub async fn received_once(&self, count: usize) -> Vec<Delivery> {
        let once = async || {
            let mut seen = HashSet::new();
            self.events().into_iter().filter(|delivery| seen.insert(delivery.id.clone())).collect::<Vec<_>>()
        };
        until(once, |events| events.len() >= count).await
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn receive(State(shared): State<Arc<Shared>>, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    lock(&shared.requests).push(method.clone());
    if method == Method::OPTIONS {
        return match (shared.consent, headers.get("webhook-request-origin")) {
            (Consent::Allows, Some(origin)) => ([("webhook-allowed-origin", origin.clone())]).into_response(),
            _ => StatusCode::OK.into_response(),
        };
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let text = String::from_utf8_lossy(&body).into_owned();
    let delivery = Delivery {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signatures: header("webhook-signature").split(' ').map(str::to_owned).collect(),
        body: serde_json::from_str(&text).unwrap_or_default(),
        text,
        arrived: Instant::now(),
    };
    if delivery.kind() == "watch.verify" {
        let challenge = json!({ "challenge": delivery.body["data"]["challenge"] });
        lock(&shared.taken).push(delivery);
        return match shared.consent {
            Consent::Returns => axum::Json(challenge).into_response(),
            _ => StatusCode::OK.into_response(),
        };
    }
    lock(&shared.taken).push(delivery);
    let manner = lock(&shared.script).pop_front();
    match manner {
        None => StatusCode::NO_CONTENT.into_response(),
        Some(Manner::Status(status)) => {
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response()
        }
        Some(Manner::Slower(seconds)) => {
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds.to_string())]).into_response()
        }
        Some(Manner::Redirect(to)) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Some(Manner::Hang) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector was computed with the Python package `standardwebhooks`.
    #[test]
    fn a_signature_is_that_of_the_published_implementation() {
        let text = r#"{"type":"score.crossed","timestamp":"2026-11-26T11:00:00Z","data":{"watch_id":"w1"}}"#;
        let delivery = Delivery {
            id: "msg_2b1f".into(),
            timestamp: "1790000000".into(),
            signatures: vec!["v1,aQoVnqY518dvlZDSLDWBc2tWoea+yMX4UEAi5CtIbS8=".into()],
            text: text.into(),
            body: Value::Null,
            arrived: Instant::now(),
        };
        assert!(delivery.is_signed_by("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"));
        assert!(!delivery.is_signed_by("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYY"));
    }
}
