//! Fetches from URLs that third parties publish: name gateways, and documents of agents.
//!
//! A fetch uses only HTTPS, public addresses and web ports, without credentials, cookies or a proxy; each redirect is
//! checked like the first URL. `[outbound]` limits time, size and concurrency, and lists additional hosts that the
//! operator allows.

mod addresses;
mod dns;

use std::{
    collections::HashMap,
    error::Error as _,
    net::IpAddr,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::{Duration, Instant},
};

use reqwest::{
    Method, StatusCode,
    header::{self, HeaderMap},
    redirect::Policy,
};
use serde_json::Value;
use tokio::{sync::Semaphore, time::timeout};
use tracing::{Instrument, field::Empty};
use url::{Host, Url};

use crate::{
    body::{self, BodyError},
    config::Outbound,
    limits,
};
use assay_trace::TRACE;

/// Web ports. Mail servers, databases and consoles listen on other ports.
const PORTS: [u16; 2] = [443, 8443];

/// The client. Cheap to clone.
#[derive(Clone)]
pub struct Guarded {
    inner: Arc<GuardedInner>,
}

struct GuardedInner {
    http: Result<reqwest::Client, String>,
    allowed: Arc<Allowed>,
    timeout: Duration,
    max_bytes: usize,
    permits: Semaphore,
    concurrency: usize,
    /// The share of each host that is asked, by its name.
    shares: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Hosts and ports that the operator allows.
#[derive(Debug, Default)]
struct Allowed(Vec<(String, u16)>);

impl Allowed {
    fn new(list: &[String]) -> Self {
        // In URL form, which makes every spelling of an address equal.
        let urls = list.iter().filter_map(|at| Url::parse(&format!("http://{at}/")).ok());
        Self(urls.filter_map(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?))).collect())
    }

    fn has(&self, url: &Url) -> bool {
        let (host, port) = (url.host_str(), url.port_or_known_default());
        self.0.iter().any(|(name, at)| host == Some(name) && port == Some(*at))
    }

    fn has_host(&self, host: &str) -> bool {
        self.0.iter().any(|(name, _)| name == host)
    }
}

const NO_PUBLIC_ADDRESS: &str = "no public address";

/// The answer to a request that is sent once, whatever its status.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// Empty if it is larger than the limit or does not arrive.
    pub body: Vec<u8>,
}

/// Why nothing was fetched. Never contains the URL, which may be any text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Barred {
    /// The URL is not allowed: no request was sent, or none after a redirect.
    #[error("not fetched: {0}")]
    Refused(&'static str),
    #[error("answered with status {0}")]
    Status(u16),
    #[error("answered more than {0} bytes")]
    TooLarge(usize),
    #[error("did not answer in time")]
    TimedOut,
    #[error("could not be reached")]
    Unreachable,
}

impl Barred {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Status(_) => "status",
            Self::TooLarge(_) => "too_large",
            Self::TimedOut => "timed_out",
            Self::Unreachable => "unreachable",
        }
    }
}

impl GuardedInner {
    /// The requests to the host of `url` that may run at once: half of all, so that a host that answers slowly keeps
    /// nobody from another.
    fn share(&self, url: &str) -> Arc<Semaphore> {
        let host = Url::parse(url).ok().and_then(|url| Some(url.host_str()?.to_owned())).unwrap_or_default();
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| share.strong_count() > 0);
        shares.get(&host).and_then(Weak::upgrade).unwrap_or_else(|| {
            let share = Arc::new(Semaphore::new((self.concurrency / 2).max(1)));
            shares.insert(host, Arc::downgrade(&share));
            share
        })
    }
}

impl Guarded {
    pub fn new(limits: &Outbound) -> Self {
        let allowed = Arc::new(Allowed::new(&limits.allow));
        let dns = dns::PublicResolver { allowed: allowed.clone() };
        let builder = reqwest::Client::builder().no_proxy().redirect(Policy::none()).referer(false).dns_resolver(dns);
        let inner = GuardedInner {
            http: builder.build().map_err(|error| error.to_string()),
            allowed,
            timeout: limits.timeout,
            max_bytes: limits.max_bytes,
            permits: Semaphore::new(limits.concurrency),
            concurrency: limits.concurrency,
            shares: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The body at `url`.
    ///
    /// # Errors
    /// [`Barred`].
    pub async fn get(&self, url: &str) -> Result<Vec<u8>, Barred> {
        self.bounded(url, None).await
    }

    /// The body of the answer to `body`, sent as JSON.
    ///
    /// # Errors
    /// [`Barred`].
    pub async fn post(&self, url: &str, body: &Value) -> Result<Vec<u8>, Barred> {
        self.bounded(url, Some(body)).await
    }

    /// Sends `body` once: no redirect is followed, and every status is an answer, whatever its body is.
    ///
    /// # Errors
    /// [`Barred`], but never [`Barred::Status`].
    pub async fn send_once(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Reply, Barred> {
        let head = OnceLock::new();
        let whole = self.within(url, async {
            let url = Self::parse(url)?;
            self.check(&url)?;
            self.check_host(&url)?;
            let http = self.inner.http.as_ref().map_err(|_| Barred::Unreachable)?;
            let sent = http.request(method, url).headers(headers).body(body).send().await;
            let response = sent.map_err(|error| unsent(&error))?;
            let (status, headers) = head.get_or_init(|| (response.status(), response.headers().clone())).clone();
            Ok(Reply { status, headers, body: self.read(response).await.unwrap_or_default() })
        });
        let whole = whole.await;
        match (whole, head.into_inner()) {
            (Err(Barred::TimedOut), Some((status, headers))) => Ok(Reply { status, headers, body: Vec::new() }),
            (whole, _) => whole,
        }
    }

    /// Makes every check of `url` that needs no request, except the one that would reveal which hosts are allowed.
    ///
    /// # Errors
    /// [`Barred::Refused`].
    pub fn allows(&self, url: &str) -> Result<(), Barred> {
        self.check(&Self::parse(url)?)
    }

    fn parse(url: &str) -> Result<Url, Barred> {
        // The parser drops line ends and tabs, so what is fetched would not be what is shown.
        if url.contains(|char: char| char.is_control() || char.is_whitespace()) {
            return Err(Barred::Refused("no URL"));
        }
        Url::parse(url).map_err(|_| Barred::Refused("no URL"))
    }

    async fn bounded(&self, url: &str, body: Option<&Value>) -> Result<Vec<u8>, Barred> {
        self.within(url, self.follow(url, body)).await
    }

    /// `work` with a permit and within the time limit, counted and traced.
    async fn within<T>(&self, url: &str, work: impl Future<Output = Result<T, Barred>>) -> Result<T, Barred> {
        let whole = async {
            let share = self.inner.share(url);
            let Ok(_of_share) = share.acquire().await else { return Err(Barred::Unreachable) };
            let Ok(_permit) = self.inner.permits.acquire().await else { return Err(Barred::Unreachable) };
            work.await
        };
        let started = Instant::now();
        let span = tracing::info_span!(target: TRACE, "fetch", otel.kind = "client", assay.outcome = Empty);
        let answer = timeout(self.inner.timeout, whole).instrument(span.clone()).await.unwrap_or(Err(Barred::TimedOut));
        let outcome = answer.as_ref().err().map_or("ok", Barred::outcome);
        span.record("assay.outcome", outcome);
        metrics::counter!("assay_outbound_requests_total", "outcome" => outcome).increment(1);
        metrics::histogram!("assay_outbound_request_duration_seconds").record(started.elapsed());
        answer
    }

    async fn follow(&self, url: &str, body: Option<&Value>) -> Result<Vec<u8>, Barred> {
        let mut url = Self::parse(url)?;
        for _ in 0..=limits::REDIRECTS {
            self.check(&url)?;
            self.check_host(&url)?;
            let response = self.send(url.clone(), body).await?;
            match response.status() {
                StatusCode::OK => return self.read(response).await,
                // The other statuses turn a request with a body into one without.
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {}
                StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER if body.is_none() => {}
                status => return Err(Barred::Status(status.as_u16())),
            }
            let next = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            url = next.and_then(|next| url.join(next).ok()).ok_or(Barred::Refused("a redirect to nowhere"))?;
        }
        Err(Barred::Refused("too many redirects"))
    }

    /// Makes every check that needs no host lookup; [`dns`] checks the addresses.
    fn check(&self, url: &Url) -> Result<(), Barred> {
        if url.as_str().len() > limits::URL_LENGTH {
            return Err(Barred::Refused("the URL is too long"));
        }
        let allowed = self.inner.allowed.has(url);
        if !(url.scheme() == "https" || url.scheme() == "http" && allowed) {
            return Err(Barred::Refused("not HTTPS"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Barred::Refused("the URL has a credential"));
        }
        if allowed {
            return Ok(());
        }
        if !url.port_or_known_default().is_some_and(|port| PORTS.contains(&port)) {
            return Err(Barred::Refused("not a port of the web"));
        }
        let address: Option<IpAddr> = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) => None,
            None => return Err(Barred::Refused("the URL has no host")),
        };
        // The client connects to a literal address without a lookup.
        if address.is_none_or(addresses::is_public) { Ok(()) } else { Err(Barred::Refused("not a public address")) }
    }

    /// Refuses the other ports of an allowed host, which may be private. The error is that of a name without a public
    /// address, so that it does not reveal which hosts are allowed.
    fn check_host(&self, url: &Url) -> Result<(), Barred> {
        let allowed = &self.inner.allowed;
        let is_barred = !allowed.has(url) && url.host_str().is_some_and(|host| allowed.has_host(host));
        if is_barred { Err(Barred::Refused(NO_PUBLIC_ADDRESS)) } else { Ok(()) }
    }

    async fn send(&self, url: Url, body: Option<&Value>) -> Result<reqwest::Response, Barred> {
        let http = self.inner.http.as_ref().map_err(|_| Barred::Unreachable)?;
        let request = match body {
            None => http.request(Method::GET, url),
            Some(body) => http.request(Method::POST, url).json(body),
        };
        request.send().await.map_err(|error| unsent(&error))
    }

    async fn read(&self, response: reqwest::Response) -> Result<Vec<u8>, Barred> {
        let limit = self.inner.max_bytes;
        body::read(response, limit).await.map_err(|error| match error {
            BodyError::TooLarge => Barred::TooLarge(limit),
            BodyError::Lost(_) => Barred::Unreachable,
        })
    }
}

fn unsent(error: &reqwest::Error) -> Barred {
    if has_no_public_address(error) { Barred::Refused(NO_PUBLIC_ADDRESS) } else { Barred::Unreachable }
}

fn has_no_public_address(error: &reqwest::Error) -> bool {
    std::iter::successors(error.source(), |&error| error.source()).any(|error| error.is::<dns::NoPublicAddress>())
}

#[cfg(test)]
mod tests;
