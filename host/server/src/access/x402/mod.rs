//! Payment by call, x402 in both versions: what is asked for, what a client offers, and that each payment is settled
//! before it buys anything and buys one thing, ever.
//!
//! A payment is written down before anything is done about it, under the payer's nonce, by one of those who present it;
//! whoever else does waits for what becomes of it. One worker, by a lease, brings it to the chain: the one that has the
//! account of submissions, or one that asks a facilitator. Whether it arrived is read from the asset's own events,
//! where its chain can be asked. A payment that arrived keeps what it bought beside it, and is only ever spent together
//! with that.

mod header;
mod ledger;
mod local;
mod reason;
pub mod records;
mod remote;
mod terms;
mod verify;

use std::{sync::Arc, time::Duration};

use alloy::primitives::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use url::Url;

pub use header::{LONGEST, Malformed};
pub use ledger::{PayError, Settled};
pub use local::Local;
pub use reason::Refused;
pub use terms::{Demand, DemandBody, Terms};

use crate::{config, tasks::Spawner};
use assay_chain::Chains;
use assay_domain::{Address, Authorization, B256, PaymentId, U256};
use assay_outbox::payment::{Asset, Facilitator};
use assay_store::Store;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

impl Version {
    pub fn request_header(self) -> &'static str {
        match self {
            Self::One => "X-PAYMENT",
            Self::Two => "PAYMENT-SIGNATURE",
        }
    }

    pub fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// A payment as a client presents it; nothing of it is believed yet.
#[derive(Debug, Clone)]
pub struct Payment {
    pub version: Version,
    said_version: u64,
    scheme: String,
    network: String,
    /// Asset, recipient and amount that the second version repeats.
    offered: Option<(String, String, U256)>,
    pub authorization: Authorization,
    signature: Bytes,
    /// As it was sent, for a facilitator.
    payload: Value,
}

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct X402 {
    inner: Arc<Inner>,
}

struct Inner {
    terms: Terms,
    store: Store,
    /// Absent where the chain is not configured; a facilitator is then believed.
    asset: Option<Asset>,
    /// Absent where payments are settled from here.
    facilitator: Option<Facilitator>,
    base_url: Option<Url>,
    patience: Duration,
    /// A payment was claimed.
    news: Notify,
    /// A payment of this process has come to something.
    changed: watch::Sender<()>,
}

/// What became of a payment, as the header after it says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Receipt<'a> {
    success: bool,
    transaction: String,
    network: String,
    payer: Address,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_reason: Option<&'a str>,
}

impl X402 {
    /// `None` where it is not enabled, or its configuration is not complete. Money has arrived once `confirmations`
    /// blocks are on top.
    pub fn new(config: &config::X402, chains: &Chains, store: Store, confirmations: u64) -> Option<Self> {
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
        let inner = Inner {
            terms,
            store,
            asset,
            facilitator,
            base_url: config.base_url.clone(),
            patience: config.settle,
            news: Notify::new(),
            changed: watch::Sender::new(()),
        };
        Some(Self { inner: Arc::new(inner) })
    }

    /// Starts what asks the facilitator, where there is one, and looks once whether the asset is what the configuration
    /// says.
    pub fn start(&self, tasks: &Spawner) {
        let (this, stopping) = (self.clone(), tasks.stopping());
        tasks.spawn("x402-asset", async move {
            stopping.run_until_cancelled(this.look_at_asset()).await;
        });
        if self.inner.facilitator.is_some() {
            let (this, stopping) = (self.clone(), tasks.stopping());
            tasks.spawn("x402", async move {
                stopping.run_until_cancelled(this.work()).await;
            });
        }
    }

    async fn look_at_asset(&self) {
        let Some(asset) = &self.inner.asset else {
            tracing::warn!(
                "the chain of access.x402.network is not one of [[chains]]: what the facilitator says of payments is not checked"
            );
            return;
        };
        let terms = self.terms();
        match asset.contradictions(&terms.domain, terms.decimals).await {
            Ok(found) => found
                .iter()
                .for_each(|what| tracing::error!(asset = %asset.contract(), what, "the asset of access.x402")),
            Err(error) => tracing::warn!(%error, "the asset of access.x402 could not be looked at"),
        }
    }

    pub fn terms(&self) -> &Terms {
        &self.inner.terms
    }

    /// The payment in a header of `version`.
    ///
    /// # Errors
    /// [`Malformed`] where it is none.
    pub fn read(&self, version: Version, header: &str) -> Result<Payment, Malformed> {
        header::decode(version, header)
    }

    /// The absolute URL of `path`. `host` is what the client wrote, and goes back to nobody else: nothing here stands
    /// on it.
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

    /// What tells `payment` from every other.
    pub fn id(&self, payment: &Payment) -> PaymentId {
        let Authorization { from, nonce, .. } = payment.authorization;
        PaymentId { chain: self.inner.terms.domain.chain, asset: self.inner.terms.domain.asset, from, nonce }
    }

    /// Name and value of the header that tells the client what became of `payment`.
    pub fn receipt(&self, payment: &Payment, outcome: Result<B256, &Refused>) -> (&'static str, String) {
        let name = match payment.version {
            Version::One => "x-payment-response",
            Version::Two => "payment-response",
        };
        let receipt = Receipt {
            success: outcome.is_ok(),
            transaction: outcome.map(|hash| hash.to_string()).unwrap_or_default(),
            network: self.inner.terms.network_in(payment.version),
            payer: payment.authorization.from,
            error_reason: outcome.err().map(|refused| refused.reason.as_ref()),
        };
        (name, header::encode(&receipt))
    }
}
