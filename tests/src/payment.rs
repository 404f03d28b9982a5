//! The parts of an x402 payment: a dollar token with payment by signature at the address of USDC on Base, a payer, and
//! the public clients.

use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy::primitives::{Address, Bytes, U256, keccak256};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::{SolCall, SolEvent};
pub use assay_devnet::dollar::{Dollar, PRICE, USDC};
use assay_devnet::npm_client::run;
pub use assay_devnet::npm_client::{npm_script, try_npm_client};
use assay_domain::{Authorization, SigningDomain};
use axum::Router;
use axum::body::Bytes as Body;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::response::Response;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::devnet::actors;
use crate::lenders::stubs;
use crate::python;
use crate::reputation::{CHAIN, World};
use crate::until::until;

/// The chain, the token and the account that receives payments.
pub struct Till {
    pub world: World,
    pub pay_to: Address,
    /// The payer, with a balance for a hundred submissions.
    pub payer: PrivateKeySigner,
}

impl Till {
    /// # Panics
    /// If a part does not start.
    pub async fn start() -> Self {
        let world = World::start().await;
        // Fix the chain's time to the real time, which clients use in signatures.
        world.rpc("evm_setNextBlockTimestamp", json!([now()])).await;
        world.rpc("evm_mine", json!([])).await;
        world.rpc("anvil_setBlockTimestampInterval", json!([0])).await;
        let code = stubs("Dollar.sol").await.unwrap_or_else(|e| panic!("the stub compiles: {e}"));
        // The constructor returns the code of the contract.
        let made = world.rpc("eth_call", json!([{ "data": code["DollarStub"] }, "latest"])).await;
        world.rpc("anvil_setCode", json!([USDC, made])).await;
        let till = Self { world, pay_to: Address::from_word(keccak256("till")), payer: PrivateKeySigner::random() };
        till.mint(till.payer.address(), PRICE * 100).await;
        till
    }

    pub async fn mint(&self, to: Address, value: u64) {
        self.send(actors::address(actors::FAUCET), USDC, &Dollar::mintCall { to, value: U256::from(value) }).await;
    }

    /// Sends a call from any account, without its key, and waits until it is mined.
    pub async fn send<C: SolCall>(&self, from: Address, to: Address, call: &C) -> Value {
        self.transact(json!({ "from": from, "to": to, "data": Bytes::from(call.abi_encode()), "gas": "0x100000",
            "gasPrice": "0x0" }))
            .await
    }

    /// Sends a transaction that the node signs, and returns its receipt.
    ///
    /// # Panics
    /// If it is not mined.
    pub async fn transact(&self, transaction: Value) -> Value {
        let hash = self.world.rpc("eth_sendTransaction", json!([transaction])).await;
        let receipt = async || self.world.rpc("eth_getTransactionReceipt", json!([hash])).await;
        until(receipt, |receipt| !receipt.is_null()).await
    }

    /// Returns a host's configuration with the endpoint `rpc`, which may be a proxy. `x402` is added to
    /// `[access.x402]`.
    pub fn config(&self, rpc: &str, x402: &str) -> String {
        let mut toml = self.world.config(rpc, "");
        let _ =
            writeln!(toml, "[access.x402]\nenabled = true\npay_to = \"{}\"\nnetwork = \"base\"\n{x402}", self.pay_to);
        toml
    }

    /// Returns the balance of the account that receives payments.
    pub async fn balance(&self) -> u64 {
        self.balance_of(self.pay_to).await
    }

    pub async fn balance_of(&self, account: Address) -> u64 {
        let balance = self.world.chain.rpc.call(USDC, Dollar::balanceOfCall { account }).await;
        balance.unwrap_or_else(|e| panic!("the balance: {e}")).to()
    }

    /// Returns the transactions of the payments that arrived.
    pub async fn transfers(&self) -> Vec<Value> {
        let topics = json!([Dollar::Transfer::SIGNATURE_HASH, null, self.pay_to.into_word()]);
        let filter = json!({ "address": USDC, "fromBlock": "0x0", "toBlock": "latest", "topics": topics });
        let logs = self.world.rpc("eth_getLogs", json!([filter])).await;
        logs.as_array().into_iter().flatten().map(|log| log["transactionHash"].clone()).collect()
    }

    /// Returns a payment as the payer would sign it now.
    pub fn order(&self) -> Order {
        let authorization = Authorization {
            from: self.payer.address(),
            to: self.pay_to,
            value: U256::from(PRICE),
            valid_after: U256::from(now() - 600),
            valid_before: U256::from(now() + 300),
            nonce: keccak256(PrivateKeySigner::random().to_bytes()),
        };
        Order {
            authorization,
            domain: domain(),
            signer: self.payer.clone(),
            network: "base".into(),
            scheme: "exact".into(),
            said: None,
        }
    }
}

/// The contents of a payment header; tests change them.
#[derive(Clone)]
pub struct Order {
    pub authorization: Authorization,
    pub domain: SigningDomain,
    pub signer: PrivateKeySigner,
    pub network: String,
    pub scheme: String,
    /// Overrides the version.
    pub said: Option<u64>,
}

impl Order {
    /// # Panics
    /// Never in practice: a hash is always signed.
    pub fn signature(&self) -> Bytes {
        let signature = self.signer.sign_hash_sync(&self.domain.hash(&self.authorization));
        signature.unwrap_or_else(|e| panic!("signing: {e}")).as_bytes().into()
    }

    /// Returns the call that makes the transfer. Anybody can send it.
    pub fn call(&self) -> Dollar::transferWithAuthorizationCall {
        let Authorization { from, to, value, valid_after, valid_before, nonce } = self.authorization;
        let signature = self.signature();
        Dollar::transferWithAuthorizationCall {
            from,
            to,
            value,
            validAfter: valid_after,
            validBefore: valid_before,
            nonce,
            signature,
        }
    }

    /// Returns the header of version 1.
    pub fn header(&self) -> String {
        encode(&self.payment(1, self.signature(), json!({ "scheme": self.scheme, "network": self.network })))
    }

    /// Returns the header of version 2 for the requirements of a 402.
    pub fn header_two(&self, accepted: &Value) -> String {
        encode(&self.payment(2, self.signature(), json!({ "accepted": accepted })))
    }

    /// Returns the payment with this signature.
    pub fn signed(&self, signature: Bytes) -> String {
        encode(&self.payment(1, signature, json!({ "scheme": self.scheme, "network": self.network })))
    }

    fn payment(&self, version: u64, signature: Bytes, mut rest: Value) -> Value {
        let Authorization { from, to, value, valid_after, valid_before, nonce } = self.authorization;
        rest["x402Version"] = json!(self.said.unwrap_or(version));
        rest["payload"] = json!({
            "signature": signature,
            "authorization": {
                "from": from, "to": to, "value": value.to_string(), "nonce": nonce,
                "validAfter": valid_after.to_string(), "validBefore": valid_before.to_string()
            }
        });
        rest
    }
}

pub fn domain() -> SigningDomain {
    SigningDomain { name: "USD Coin".into(), version: "2".into(), chain: CHAIN, asset: USDC }
}

pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default()
}

/// Encodes JSON in base 64, as in the headers.
pub fn encode(value: &Value) -> String {
    let bytes = value.to_string().into_bytes();
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let part = |part: &[u8]| {
        let bits = part.iter().chain([&0, &0]).take(3).fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        let letter = move |at: usize| if at <= part.len() { (bits >> (18 - 6 * at)) & 63 } else { 64 };
        (0..4).map(letter).collect::<Vec<_>>()
    };
    bytes.chunks(3).flat_map(part).map(|at| letters.get(at).copied().unwrap_or('=')).collect()
}

/// Decodes the JSON in a header.
///
/// # Panics
/// If it contains none.
pub fn decode(text: &str) -> Value {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits: Vec<u8> =
        text.bytes().filter(|b| *b != b'=').flat_map(|b| (0..6).rev().map(move |bit| value(b) >> bit & 1)).collect();
    let bytes: Vec<u8> = bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | bit)).collect();
    serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Submits to `url` with the public npm client of `version`, and returns its output.
///
/// # Panics
/// If the client fails.
pub async fn npm_client(version: u8, url: &str, key: &PrivateKeySigner, body: &Value) -> Value {
    try_npm_client(version, url, key, body).await.unwrap_or_else(|e| panic!("{e}"))
}

/// Submits to `url` with the public PyPI client of `version`, and returns its output.
///
/// # Panics
/// If the client fails.
pub async fn pypi_client(version: u8, url: &str, key: &PrivateKeySigner, body: &Value) -> Value {
    python_client("clients/pay.py", version, url, key, body).await
}

/// Like [`pypi_client`], with the default timeout of its HTTP client. There is no status if the client timed out.
///
/// # Panics
/// If the client fails.
pub async fn impatient_pypi_client(version: u8, url: &str, key: &PrivateKeySigner, body: &Value) -> Value {
    python_client("clients/impatient.py", version, url, key, body).await
}

async fn python_client(script: &str, version: u8, url: &str, key: &PrivateKeySigner, body: &Value) -> Value {
    let python = tokio::task::spawn_blocking(python::interpreter)
        .await
        .unwrap_or_else(|e| panic!("{e}"))
        .unwrap_or_else(|e| panic!("{e}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
    run(python, &script, version, url, key, body).await.unwrap_or_else(|e| panic!("{e}"))
}

/// A proxy that removes version 2 from responses, so a client of both versions sees only version 1. Runs until dropped.
pub struct Older {
    pub url: String,
    server: JoinHandle<()>,
}

impl Older {
    /// # Panics
    /// When no port can be bound.
    pub async fn start(upstream: &str) -> Self {
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}")).unwrap_or_default();
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_default();
        let app = Router::new().fallback(pass).with_state((upstream.to_owned(), http));
        Self { url, server: tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() }) }
    }
}

impl Drop for Older {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(State((upstream, http)): State<(String, reqwest::Client)>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Body = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let asked = http.request(parts.method, format!("{upstream}{}", parts.uri)).headers(parts.headers).body(body);
    let Ok(answer) = asked.send().await else { return Response::default() };
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    headers.remove("payment-required");
    let text = answer.bytes().await.unwrap_or_default();
    headers.insert("content-length", HeaderValue::from(text.len()));
    let mut response = Response::new(axum::body::Body::from(text));
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    response
}
