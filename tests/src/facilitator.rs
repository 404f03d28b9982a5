//! A mock of an x402 facilitator, with the real wire protocol. It settles on the chain, or misbehaves on purpose.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alloy::primitives::{Address, B256, Bytes, U256};
use alloy::sol_types::SolCall;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing::post};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::devnet::{Rpc, actors};
use crate::payment::{Dollar, USDC};

/// The behaviour for a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Well,
    /// Settles, but never responds.
    Mute,
    /// Neither settles nor responds.
    Stalled,
    /// Responds with status 500, without settling.
    Broken,
    /// Settles, and responds with invalid JSON.
    Garbled,
    /// Claims that an unrelated transaction settled, without settling.
    Lying,
    /// Refuses, without settling.
    Refusing,
    /// Refuses, but settles.
    Denying,
}

/// Running until dropped.
pub struct Facilitator {
    pub url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    rpc: Rpc,
    manner: Mutex<Manner>,
    /// Payers with a different behaviour.
    others: Mutex<(Vec<Address>, Option<Manner>)>,
    /// Requests received: path and body.
    asked: Mutex<Vec<(&'static str, Value)>>,
}

impl Facilitator {
    /// # Panics
    /// When no port can be bound.
    pub async fn start(rpc: &Rpc) -> Self {
        let shared = Arc::new(Shared {
            rpc: rpc.clone(),
            manner: Mutex::new(Manner::Well),
            others: Mutex::default(),
            asked: Mutex::default(),
        });
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}/x402")).unwrap_or_default();
        let app = Router::new()
            .route("/x402/verify", post(verify))
            .route("/x402/settle", post(settle))
            .with_state(shared.clone());
        Self { url, shared, server: tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() }) }
    }

    pub fn be(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap_or_else(PoisonError::into_inner) = manner;
    }

    /// Sets a behaviour only for these payers.
    pub fn be_towards(&self, payers: Vec<Address>, manner: Manner) {
        *self.shared.others.lock().unwrap_or_else(PoisonError::into_inner) = (payers, Some(manner));
    }

    /// Returns the number of requests to a path.
    pub fn asked(&self, path: &str) -> usize {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|(at, _)| *at == path).count()
    }
}

impl Drop for Facilitator {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn note(&self, path: &'static str, body: &Value) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((path, body.clone()));
    }

    fn manner(&self, payer: &Value) -> Manner {
        let payer = payer.as_str().and_then(|payer| payer.parse::<Address>().ok());
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let (true, Some(manner)) = (payer.is_some_and(|payer| others.0.contains(&payer)), others.1) {
            return manner;
        }
        *self.manner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Settles a payment and waits until the transaction is mined. Returns `None` if it reverts.
    async fn settle(&self, body: &Value) -> Option<B256> {
        let transaction = json!({ "from": actors::address("facilitator"), "to": USDC, "data": call(body)?,
            "gas": "0x100000", "gasPrice": "0x0" });
        let hash: B256 = self.rpc.request("eth_sendTransaction", json!([transaction])).await.ok()?;
        loop {
            let receipt: Value = self.rpc.request("eth_getTransactionReceipt", json!([hash])).await.ok()?;
            if !receipt.is_null() {
                return (receipt["status"] == "0x1").then_some(hash);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Returns the call authorized by the payment in `body`.
fn call(body: &Value) -> Option<Bytes> {
    let payload = &body["paymentPayload"]["payload"];
    let authorization = &payload["authorization"];
    let account = |name: &str| authorization[name].as_str()?.parse::<Address>().ok();
    let number = |name: &str| U256::from_str_radix(authorization[name].as_str()?, 10).ok();
    let call = Dollar::transferWithAuthorizationCall {
        from: account("from")?,
        to: account("to")?,
        value: number("value")?,
        validAfter: number("validAfter")?,
        validBefore: number("validBefore")?,
        nonce: authorization["nonce"].as_str()?.parse().ok()?,
        signature: payload["signature"].as_str()?.parse().ok()?,
    };
    Some(call.abi_encode().into())
}

async fn verify(State(shared): State<Arc<Shared>>, Json(body): Json<Value>) -> Response {
    shared.note("verify", &body);
    let Some(data) = call(&body) else { return StatusCode::BAD_REQUEST.into_response() };
    let tried: Result<Bytes, _> = shared.rpc.request("eth_call", json!([{ "to": USDC, "data": data }, "latest"])).await;
    let payer = &body["paymentPayload"]["payload"]["authorization"]["from"];
    Json(match tried {
        Ok(_) => json!({ "isValid": true, "payer": payer }),
        Err(_) => json!({ "isValid": false, "invalidReason": "invalid_transaction_state", "payer": payer }),
    })
    .into_response()
}

async fn settle(State(shared): State<Arc<Shared>>, Json(body): Json<Value>) -> Response {
    shared.note("settle", &body);
    let payer = body["paymentPayload"]["payload"]["authorization"]["from"].clone();
    let network = body["paymentRequirements"]["network"].clone();
    let said = |success: bool, transaction: Value, reason: Option<&str>| {
        Json(json!({ "success": success, "payer": payer, "transaction": transaction, "network": network,
            "errorReason": reason }))
        .into_response()
    };
    match shared.manner(&payer) {
        Manner::Well => match shared.settle(&body).await {
            Some(hash) => said(true, json!(hash), None),
            None => said(false, json!(""), Some("invalid_transaction_state")),
        },
        Manner::Mute => {
            shared.settle(&body).await;
            std::future::pending().await
        }
        Manner::Stalled => std::future::pending().await,
        Manner::Broken => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Manner::Garbled => {
            shared.settle(&body).await;
            "<html>paid</html>".into_response()
        }
        Manner::Lying => said(true, json!(B256::repeat_byte(7)), None),
        Manner::Refusing => said(false, json!(""), Some("insufficient_funds")),
        Manner::Denying => {
            shared.settle(&body).await;
            said(false, json!(""), Some("unexpected_settle_error"))
        }
    }
}
