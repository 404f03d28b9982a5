//! Publishing of documents to IPFS: to a Kubo-compatible node and, if configured, to a pinning service. The node's CID
//! is compared with the one that is computed here.

mod cid;
mod kubo;
mod pinning;

use std::time::{Duration, Instant};

use reqwest::{RequestBuilder, StatusCode};
use tracing::Instrument;
use url::Url;

use assay_agents::config;
use assay_evm::body::{self, BodyError};
use assay_trace::TRACE;

pub use cid::cid;
use kubo::Kubo;
use pinning::Service;

/// Longest wait for a response.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Longest response that is read, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// A node, and optionally a pinning service. Cheap to clone.
#[derive(Clone)]
pub struct Ipfs {
    node: Kubo,
    service: Option<Service>,
}

/// Why a document is not published. No message repeats a URL or text of the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IpfsError {
    #[error("the {0} cannot be reached")]
    Unreachable(&'static str),
    #[error("the {0} answered with status {1}")]
    Status(&'static str, u16),
    #[error("the answer of the {0} cannot be read")]
    Unreadable(&'static str),
    #[error("the IPFS node computed another CID for the document than {0}")]
    OtherCid(String),
    #[error("the {0} has not pinned the document yet")]
    NotPinned(&'static str),
    #[error("the document of {0} bytes is larger than one block")]
    TooLarge(usize),
}

impl IpfsError {
    /// The node cannot be reached.
    pub fn no_node() -> Self {
        Self::Unreachable(kubo::NODE)
    }
}

impl Ipfs {
    /// `None` if no node is configured, or its URL is invalid.
    pub fn new(config: &config::Ipfs) -> Option<Self> {
        let http =
            reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build().ok()?;
        let node = Kubo { http: http.clone(), api: root(config.api.as_ref()?.expose())? };
        let service = match &config.pinning {
            None => None,
            Some(pinning) => Some(Service { http, api: root(pinning.api.expose())?, key: pinning.key.clone() }),
        };
        Some(Self { node, service })
    }

    /// Requests the pin of an empty document from the node, which changes nothing.
    ///
    /// # Errors
    /// [`IpfsError`] if the node cannot publish documents.
    pub async fn check(&self) -> Result<(), IpfsError> {
        self.node.is_pinned(&cid(&[])).await.map(drop)
    }

    /// Publishes `bytes`, whose CID is `expected`, and checks that they are pinned. A repetition changes nothing.
    ///
    /// # Errors
    /// [`IpfsError`]; a retry may succeed except after [`IpfsError::TooLarge`].
    pub async fn place(&self, bytes: &[u8], expected: &str) -> Result<(), IpfsError> {
        if bytes.len() > cid::ONE_BLOCK {
            return Err(IpfsError::TooLarge(bytes.len()));
        }
        if self.node.add(bytes).await? != expected {
            return Err(IpfsError::OtherCid(expected.to_owned()));
        }
        if !self.node.is_pinned(expected).await? {
            return Err(IpfsError::NotPinned("IPFS node"));
        }
        match &self.service {
            None => Ok(()),
            Some(service) => service.pin(expected).await,
        }
    }
}

/// A URL to which paths can be joined.
fn root(text: &str) -> Option<Url> {
    let mut url = Url::parse(text).ok()?;
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Some(url)
}

/// Status and body of the response of `server`.
async fn ask(server: &'static str, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), IpfsError> {
    let started = Instant::now();
    let span = tracing::info_span!(target: TRACE, "ask IPFS", otel.kind = "client", assay.whom = server);
    let answer = send(server, request).instrument(span).await;
    let outcome = match &answer {
        Ok((status, _)) if status.is_success() => "ok",
        Ok(_) => "status",
        Err(_) => "unreachable",
    };
    metrics::counter!("assay_ipfs_requests_total", "whom" => server, "outcome" => outcome).increment(1);
    metrics::histogram!("assay_ipfs_request_duration_seconds", "whom" => server).record(started.elapsed());
    answer
}

async fn send(server: &'static str, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), IpfsError> {
    let response = request.send().await.map_err(|_| IpfsError::Unreachable(server))?;
    let status = response.status();
    let body = body::read(response, MAX_RESPONSE_BYTES).await.map_err(|error| match error {
        BodyError::TooLarge => IpfsError::Unreadable(server),
        BodyError::Lost(_) => IpfsError::Unreachable(server),
    })?;
    Ok((status, body))
}
