//! Payment by call with x402, both versions: the terms, the payment of a client, and its settlement. Each payment is
//! settled before it buys anything, and buys one thing.
//!
//! A payment is stored under the payer's nonce before any other step, by the first request that presents it; other
//! requests with the same payment wait for the outcome. One worker with a lease settles it: the worker of the
//! submission account, or a worker that calls a facilitator. Where the chain is configured, the events of the asset
//! show whether the payment arrived. The record of a settled payment names what it bought. A submission is written
//! together with the settlement, whether or not the caller still waits; a statement when the caller fetches it.

pub mod bodies;
mod claim;
pub mod config;
mod header;
mod ledger;
mod local;
mod payer;
pub mod queue;
mod reason;
pub mod records;
mod refusal;
mod remote;
pub mod responses;
mod schedule;
mod scripted;
mod sold;
mod terms;
pub mod token;
mod transfer;
mod verify;

use std::{net::IpAddr, sync::Arc, time::Duration};

use alloy::primitives::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use url::Url;

pub use header::{LONGEST, Malformed};
pub use ledger::{PayError, Settled};
pub use local::Local;
pub use payer::{Buyer, Client, Offered, Payer, PaymentScript, Payments};
pub use reason::Refused;
pub use refusal::seconds_until;
pub use sold::{Fulfilment, Spent, spend};
pub use terms::{Demand, Item, Terms};
pub use transfer::spent;

use crate::token::{Asset, Facilitator};
use assay_chain::Chains;
use assay_domain::{Authorization, B256, PaymentId, U256};
use assay_http::PAYMENT_HEADERS;
use assay_outbox::gas::GasBook;
use assay_store::Store;
use assay_tasks::Spawner;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

impl Version {
    pub fn request_header(self) -> &'static str {
        match self {
            Self::One => PAYMENT_HEADERS[0],
            Self::Two => PAYMENT_HEADERS[1],
        }
    }

    pub fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// A payment as a client presents it, not yet verified.
#[derive(Debug, Clone)]
pub struct Payment {
    pub version: Version,
    said_version: u64,
    scheme: String,
    network: String,
    /// Asset, recipient and amount, which the second version repeats.
    offered: Option<(String, String, U256)>,
    pub authorization: Authorization,
    signature: Bytes,
    /// The payload as received, for a facilitator.
    payload: Value,
    /// The network that it came from.
    network_address: Option<IpAddr>,
}

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct X402 {
    inner: Arc<X402State>,
}

struct X402State {
    terms: Terms,
    store: Store,
    /// Absent when the chain is not configured; the facilitator is then trusted.
    asset: Option<Asset>,
    /// Absent when this server settles payments itself.
    facilitator: Option<Facilitator>,
    base_url: Option<Url>,
    goods: Box<dyn Fulfilment>,
    gas: GasBook,
    /// Whether contracts may pay if this server settles.
    contract_signatures: bool,
    /// Maximum wait of a request for its payment.
    settle_timeout: Duration,
    /// Notified after a payment was claimed.
    claimed: Notify,
    /// Notified after this process settled or refused a payment.
    changed: watch::Sender<()>,
}

/// The outcome of a payment, in a response header.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PaymentReceipt<'a> {
    success: bool,
    transaction: String,
    network: String,
    /// With its EIP-55 checksum.
    payer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_reason: Option<&'a str>,
}

impl X402 {
    /// `None` when x402 is not enabled, or its configuration is incomplete. A payment has arrived after
    /// `confirmations` blocks.
    pub fn new(
        config: &config::X402,
        chains: &Chains,
        store: Store,
        confirmations: u64,
        gas: GasBook,
        goods: impl Fulfilment,
    ) -> Option<Self> {
        let terms = Terms::new(config).filter(|_| config.enabled)?;
        let client = chains.client(terms.domain.chain);
        let asset = client.map(|client| Asset::new(client, terms.domain.asset, confirmations));
        let facilitator = match config.is_local() {
            true => None,
            false => Some(Facilitator::new(&config.facilitator, config.facilitator_timeout)?),
        };
        if facilitator.is_none() && asset.is_none() {
            return None;
        }
        let inner = X402State {
            terms,
            store,
            asset,
            facilitator,
            base_url: config.base_url.clone(),
            goods: Box::new(goods),
            gas,
            contract_signatures: config.contract_signatures,
            settle_timeout: config.settle,
            claimed: Notify::new(),
            changed: watch::Sender::new(()),
        };
        Some(Self { inner: Arc::new(inner) })
    }

    /// Starts the worker that calls the facilitator, if there is one, and compares the asset with the configuration
    /// once.
    pub fn start(&self, tasks: &Spawner) {
        tasks.keep("x402-asset", self.clone(), |this, stopping| async move {
            stopping.run_until_cancelled(this.check_asset()).await;
        });
        if self.inner.facilitator.is_some() {
            tasks.keep("x402", self.clone(), |this, stopping| async move {
                stopping.run_until_cancelled(this.work()).await;
            });
        }
    }

    async fn check_asset(&self) {
        let Some(asset) = &self.inner.asset else {
            tracing::warn!(
                "the chain of access.x402.network is not in [[chains]], so the facilitator's reports are not \
                 verified; add the chain"
            );
            return;
        };
        let terms = self.terms();
        match asset.contradictions(&terms.domain, terms.decimals).await {
            Ok(found) => found
                .iter()
                .for_each(|what| tracing::error!(asset = %asset.contract(), what, "the asset of access.x402")),
            Err(error) => tracing::warn!(%error, "the asset of access.x402 could not be checked"),
        }
    }

    /// Whether this server settles payments itself.
    fn is_local(&self) -> bool {
        self.inner.facilitator.is_none()
    }

    pub fn terms(&self) -> &Terms {
        &self.inner.terms
    }

    /// The payment in a header of `version`, from a client in this network.
    ///
    /// # Errors
    /// [`Malformed`] for any other value.
    pub fn read(&self, version: Version, header: &str, network: Option<IpAddr>) -> Result<Payment, Malformed> {
        Ok(Payment { network_address: network, ..header::decode(version, header)? })
    }

    /// The absolute URL of `path`. `host` is the client's own header: it appears only in the response to that client,
    /// and no decision depends on it.
    pub fn resource(&self, host: Option<&str>, path: &str) -> String {
        let base = self.inner.base_url.clone().or_else(|| {
            let url = Url::parse(&format!("http://{}/", host?)).ok()?;
            (url.path() == "/"
                && url.query().is_none()
                && url.fragment().is_none()
                && url.username().is_empty()
                && url.password().is_none())
            .then_some(url)
        });
        let mut url = match base.or_else(|| Url::parse("http://localhost/").ok()) {
            Some(url) => url,
            None => return path.to_owned(),
        };
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        url.into()
    }

    /// The unique identity of `payment`.
    pub fn id(&self, payment: &Payment) -> PaymentId {
        let Authorization { from, nonce, .. } = payment.authorization;
        PaymentId { chain: self.inner.terms.domain.chain, asset: self.inner.terms.domain.asset, from, nonce }
    }

    /// Name and value of the response header with the outcome of `payment`.
    pub fn receipt(&self, payment: &Payment, outcome: Result<B256, &Refused>) -> (&'static str, String) {
        let name = match payment.version {
            Version::One => "x-payment-response",
            Version::Two => "payment-response",
        };
        let receipt = PaymentReceipt {
            success: outcome.is_ok(),
            transaction: outcome.map(|hash| hash.to_string()).unwrap_or_default(),
            network: self.inner.terms.network_in(payment.version),
            payer: payment.authorization.from.to_checksum(None),
            error_reason: outcome.err().map(|refused| refused.reason.as_ref()),
        };
        (name, header::encode(&receipt))
    }
}
