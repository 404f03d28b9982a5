//! Putting documents where everybody can fetch them by their content: a Kubo-compatible node, and where configured a
//! service that keeps what the node has. What they say of a document is compared with what was computed here.

mod cid;
mod kubo;
mod pinning;

use std::time::{Duration, Instant};

use reqwest::{RequestBuilder, StatusCode};
use tracing::Instrument;
use url::Url;

use crate::config;
use assay_trace::TRACE;

pub use cid::cid;
use kubo::Kubo;
use pinning::Service;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Longest answer that is read, in bytes.
const LONGEST: usize = 64 << 10;

/// A node, and perhaps a service. Cheap to clone.
#[derive(Clone)]
pub struct Ipfs {
    node: Kubo,
    service: Option<Service>,
}

/// Why a document is not in place. None of it repeats a URL or what the other side wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IpfsError {
    #[error("the {0} cannot be reached")]
    Unreachable(&'static str),
    #[error("the {0} answered with status {1}")]
    Status(&'static str, u16),
    #[error("the {0} answered what cannot be read")]
    Unreadable(&'static str),
    #[error("the IPFS node computed another CID for the document than {0}")]
    OtherCid(String),
    #[error("the {0} has not pinned the document yet")]
    NotPinned(&'static str),
    #[error("the document of {0} bytes is larger than one block")]
    TooLarge(usize),
}

impl Ipfs {
    /// `None` where no node is configured, or its URL is none.
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

    /// Puts `bytes`, whose CID is `expected`, in place and makes sure that they are pinned. To do it again changes
    /// nothing.
    ///
    /// # Errors
    /// [`IpfsError`]; all of them may pass but [`IpfsError::TooLarge`].
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
            Some(service) => service.keep(expected).await,
        }
    }
}

/// A root to which paths are added.
fn root(text: &str) -> Option<Url> {
    let mut url = Url::parse(text).ok()?;
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Some(url)
}

/// Status and body of an answer from `whom`.
async fn ask(whom: &'static str, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), IpfsError> {
    let started = Instant::now();
    let span = tracing::info_span!(target: TRACE, "ask IPFS", otel.kind = "client", assay.whom = whom);
    let answer = answered(whom, request).instrument(span).await;
    let outcome = match &answer {
        Ok((status, _)) if status.is_success() => "ok",
        Ok(_) => "status",
        Err(_) => "unreachable",
    };
    metrics::counter!("assay_ipfs_requests_total", "whom" => whom, "outcome" => outcome).increment(1);
    metrics::histogram!("assay_ipfs_request_duration_seconds", "whom" => whom).record(started.elapsed());
    answer
}

async fn answered(whom: &'static str, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), IpfsError> {
    let mut response = request.send().await.map_err(|_| IpfsError::Unreachable(whom))?;
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|_| IpfsError::Unreachable(whom))? {
        if body.len() + part.len() > LONGEST {
            return Err(IpfsError::Unreadable(whom));
        }
        body.extend_from_slice(&part);
    }
    Ok((response.status(), body))
}
