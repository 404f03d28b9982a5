//! JSON-RPC calls to one node, single and batched, independent of the server's transport.

use std::time::Duration;

use alloy::primitives::{Address, Bytes};
use alloy::sol_types::SolCall;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Error;

/// Requests in one HTTP body: large enough for few round trips, small enough for the node's body limit.
const BATCH: usize = 50;

#[derive(Debug, Clone)]
pub struct Rpc {
    http: reqwest::Client,
    url: String,
}

/// One request: method and parameters.
pub type Request = (&'static str, Value);

impl Rpc {
    pub fn new(url: &str) -> Result<Self, Error> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(120)).build();
        Ok(Self { http: http.map_err(|e| Error::Rpc(e.to_string()))?, url: url.to_owned() })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub async fn request<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<T, Error> {
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params });
        read(method, result(method, self.post(&body).await?)?)
    }

    /// The results in the order of the requests.
    ///
    /// # Errors
    /// When the node cannot be reached or refuses any of them.
    pub async fn batch<T: DeserializeOwned>(&self, requests: &[Request]) -> Result<Vec<T>, Error> {
        let mut all = Vec::with_capacity(requests.len());
        for chunk in requests.chunks(BATCH) {
            let body = chunk.iter().enumerate().map(
                |(id, (method, params))| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
            );
            let Value::Array(mut answers) = self.post(&body.collect()).await? else {
                return Err(Error::Rpc("a batch was not answered with a list".to_owned()));
            };
            answers.sort_by_key(|answer| answer.get("id").and_then(Value::as_u64));
            for ((method, _), answer) in chunk.iter().zip(answers) {
                all.push(read(method, result(method, answer)?)?);
            }
        }
        Ok(all)
    }

    /// Calls a view function at the newest block.
    pub async fn call<C: SolCall>(&self, to: Address, call: C) -> Result<C::Return, Error> {
        let answer: Bytes =
            self.request("eth_call", json!([{ "to": to, "data": Bytes::from(call.abi_encode()) }, "latest"])).await?;
        C::abi_decode_returns(&answer).map_err(|e| Error::Rpc(format!("{} at {to}: {e}", C::SIGNATURE)))
    }

    async fn post(&self, body: &Value) -> Result<Value, Error> {
        let sent = self
            .http
            .post(&self.url)
            .json(body)
            .send()
            .await
            .map_err(|e| Error::Rpc(format!("the node at {}: {e}", self.url)))?;
        sent.json().await.map_err(|e| Error::Rpc(format!("the node at {}: {e}", self.url)))
    }
}

fn result(method: &str, mut answer: Value) -> Result<Value, Error> {
    match answer.get("error") {
        Some(error) => Err(Error::Rpc(format!("{method}: {error}"))),
        None => Ok(answer.get_mut("result").map(Value::take).unwrap_or_default()),
    }
}

fn read<T: DeserializeOwned>(method: &str, value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|e| Error::Rpc(format!("{method}: {e}")))
}
