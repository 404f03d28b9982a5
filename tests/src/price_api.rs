//! A mock of the external price APIs, with the wire formats of DefiLlama (at its root) and of CoinGecko (at `/api/v3`)
//! over HTTP. It records requests, and misbehaves if a rule says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use alloy::primitives::Address;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::get};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `defillama` or `coingecko`.
    pub api: &'static str,
    /// `{chain}:{token}` with the API's name of the chain, in lower case.
    pub coins: Vec<String>,
    /// The header with the key.
    pub key: Option<String>,
    pub query: String,
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    Pass,
    /// This status, with `Retry-After` in seconds.
    Status(u16, Option<u64>),
    /// Never responds.
    Stall,
    /// This body.
    Body(String),
}

/// The quote of a token.
#[derive(Debug, Clone)]
pub struct Said {
    /// Dollars per token. Not a number for a misbehaviour.
    pub price: Value,
    /// Age of the quote in seconds.
    pub age: u64,
    pub confidence: f64,
    /// Whether the response has its keys in capitals.
    pub shouted: bool,
}

impl From<f64> for Said {
    fn from(dollars: f64) -> Self {
        Self { price: json!(dollars), age: 30, confidence: 0.99, shouted: false }
    }
}

type Rule = Box<dyn FnMut(&Asked) -> Reply + Send>;

struct Shared {
    rule: Mutex<Rule>,
    said: Mutex<BTreeMap<Address, Said>>,
    asked: Mutex<Vec<Asked>>,
}

/// Running until dropped.
pub struct PriceApi {
    pub url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl PriceApi {
    /// # Panics
    /// When no port can be bound.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared {
            rule: Mutex::new(Box::new(|_| Reply::Pass)),
            said: Mutex::default(),
            asked: Mutex::default(),
        });
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}")).unwrap_or_default();
        let app = Router::new()
            .route("/prices/current/{coins}", get(defillama))
            .route("/api/v3/simple/token_price/{platform}", get(coingecko))
            .with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        Self { url, shared, server }
    }

    /// Returns the root of CoinGecko's format.
    pub fn coingecko(&self) -> String {
        format!("{}/api/v3", self.url)
    }

    pub fn says(&self, token: Address, said: impl Into<Said>) {
        self.shared.said.lock().unwrap_or_else(PoisonError::into_inner).insert(token, said.into());
    }

    /// Sets the rule for all later requests.
    pub fn rule(&self, rule: impl FnMut(&Asked) -> Reply + Send + 'static) {
        *self.shared.rule.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(rule);
    }

    /// Returns the requests since the last `take`.
    pub fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for PriceApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    /// Records the request and returns the wrong response, if any.
    async fn misbehaved(&self, asked: Asked) -> Option<Response> {
        let reply = (self.rule.lock().unwrap_or_else(PoisonError::into_inner))(&asked);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        match reply {
            Reply::Pass => None,
            Reply::Stall => std::future::pending().await,
            Reply::Body(body) => Some(body.into_response()),
            Reply::Status(status, after) => {
                let status = StatusCode::from_u16(status).unwrap_or_default();
                Some(match after {
                    Some(after) => (status, [(header::RETRY_AFTER, after.to_string())]).into_response(),
                    None => status.into_response(),
                })
            }
        }
    }

    fn said(&self, token: &str) -> Option<Said> {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&token.to_lowercase().parse::<Address>().ok()?)
            .cloned()
    }
}

fn key_of(headers: &HeaderMap) -> Option<String> {
    let (name, value) = headers.iter().find(|(name, _)| name.as_str().starts_with("x-cg-"))?;
    Some(format!("{name}: {}", value.to_str().ok()?))
}

fn quoted_at(said: &Said) -> i64 {
    chrono::Utc::now().timestamp() - i64::try_from(said.age).unwrap_or_default()
}

async fn defillama(State(shared): State<Arc<Shared>>, Path(coins): Path<String>, headers: HeaderMap) -> Response {
    let coins: Vec<String> = coins.split(',').map(str::to_lowercase).collect();
    let asked = Asked { api: "defillama", coins: coins.clone(), key: key_of(&headers), query: String::new() };
    if let Some(response) = shared.misbehaved(asked).await {
        return response;
    }
    let mut found = Map::new();
    for coin in coins {
        let Some(said) = coin.split_once(':').and_then(|(_, token)| shared.said(token)) else { continue };
        let value = json!({ "decimals": 18, "symbol": "T", "price": said.price, "timestamp": quoted_at(&said),
            "confidence": said.confidence });
        found.insert(if said.shouted { coin.to_uppercase() } else { coin }, value);
    }
    json!({ "coins": found }).to_string().into_response()
}

async fn coingecko(
    State(shared): State<Arc<Shared>>,
    Path(platform): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let tokens: Vec<String> =
        query.get("contract_addresses").map(|list| list.split(',').map(str::to_owned).collect()).unwrap_or_default();
    let coins = tokens.iter().map(|token| format!("{platform}:{}", token.to_lowercase())).collect();
    let asked = Asked { api: "coingecko", coins, key: key_of(&headers), query: format!("{query:?}") };
    if let Some(response) = shared.misbehaved(asked).await {
        return response;
    }
    let mut found = Map::new();
    for token in tokens {
        let Some(said) = shared.said(&token) else { continue };
        let value = json!({ "usd": said.price, "last_updated_at": quoted_at(&said) });
        found.insert(if said.shouted { token.to_uppercase() } else { token }, value);
    }
    Value::Object(found).to_string().into_response()
}
