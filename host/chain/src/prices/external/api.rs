//! One external price API: GET requests within bounds of time, size and number of tokens, and a rest after a failure.
//! Its URL may hold a key and never leaves here: the host stands for it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, stream};
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tracing::{Instrument, field::Empty};
use url::Url;

use super::{Asset, coingecko, defillama};
use crate::config::{PriceApi, Slugs};
use assay_domain::{Address, ChainId, Secret};
use assay_evm::{
    endpoint::{Http, root_cause},
    fault::Fault,
};
use assay_trace::TRACE;

/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_millis(1_500);
/// Tokens in one request. 100 addresses make some 5,000 characters of URL, of the 8,000 that servers commonly take.
const MOST_TOKENS: usize = 100;
const REQUESTS_AT_ONCE: usize = 4;
/// Largest answer read; 100 tokens take 20,000 bytes.
const MOST_BYTES: usize = 1 << 20;
/// Rest after a failure, unless the API names one.
const REST: Duration = Duration::from_secs(5);
/// Longest rest that a `Retry-After` can ask of us.
const MOST_REST: Duration = Duration::from_secs(300);
/// What a price may be old, in seconds: the APIs' own bound of six hours would give a wallet the prices of another part
/// of the day.
const MOST_AGE: u64 = 3_600;
/// Furthest that a price may be dated ahead of our clock, in seconds.
const SKEW: u64 = 300;
/// No token is worth as much; what claims to be would drown every sum.
const MOST_DOLLARS: f64 = 1e9;

/// An API and how it does.
pub(super) struct Api {
    http: Http,
    kind: PriceApi,
    root: Url,
    key: Option<(HeaderName, HeaderValue)>,
    host: String,
    rest: Mutex<Option<Instant>>,
}

/// What one read brought.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub prices: Vec<(Asset, f64)>,
    /// Asked for and not answered.
    pub failed: Vec<Asset>,
}

/// A price as an API states it, not yet believed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stated {
    pub token: Address,
    pub dollars: f64,
    /// Seconds since 1970.
    pub time: u64,
}

impl Api {
    /// `None` for what is no URL, which the configuration does not let pass.
    pub(super) fn new(http: &Http, root: &Secret) -> Option<Self> {
        let kind = PriceApi::of(root)?;
        let mut root = Url::parse(root.expose()).ok()?;
        // A key in the query goes into the header of that name, which no log on the way holds.
        let pairs: Vec<(String, String)> = root.query_pairs().into_owned().collect();
        let (keys, others): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(name, _)| name.starts_with("x_cg_"));
        root.set_query(None);
        if !others.is_empty() {
            root.query_pairs_mut().extend_pairs(others);
        }
        let key = keys.into_iter().next().and_then(|(name, value)| {
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.replace('_', "-").as_bytes()).ok()?, value))
        });
        let host = root.host_str().unwrap_or("?").to_owned();
        Some(Self { http: http.clone(), kind, root, key, host, rest: Mutex::default() })
    }

    pub(super) fn kind(&self) -> PriceApi {
        self.kind
    }

    /// The rest that is left after a failure; `None` where the API may be asked.
    pub(super) fn resting(&self) -> Option<Duration> {
        let until = (*self.rest.lock().unwrap_or_else(PoisonError::into_inner))?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Asks for all of `assets` on chains that the API knows; of the others nothing is said.
    pub(super) async fn read(&self, slugs: &HashMap<ChainId, Slugs>, assets: Vec<Asset>) -> Read {
        let mut of_chain: BTreeMap<ChainId, Vec<Address>> = BTreeMap::new();
        for asset in assets {
            of_chain.entry(asset.chain).or_default().push(asset.token);
        }
        let mut parts = Vec::new();
        for (chain, tokens) in of_chain {
            if let Some(slug) = slugs.get(&chain).and_then(|slugs| self.kind.slug(slugs)) {
                parts.extend(tokens.chunks(MOST_TOKENS).map(|part| self.part(chain, slug.to_owned(), part.to_vec())));
            }
        }
        let mut answers = stream::iter(parts).buffer_unordered(REQUESTS_AT_ONCE);
        let mut read = Read::default();
        while let Some(part) = answers.next().await {
            read.prices.extend(part.prices);
            read.failed.extend(part.failed);
        }
        read
    }

    async fn part(&self, chain: ChainId, slug: String, tokens: Vec<Address>) -> Read {
        let asset = |token| Asset { chain, token };
        let Ok(stated) = self.ask(&slug, &tokens).await else {
            return Read { failed: tokens.into_iter().map(asset).collect(), ..Read::default() };
        };
        let now = u64::try_from(chrono::Utc::now().timestamp()).unwrap_or_default();
        let good = stated.into_iter().filter(|one| tokens.contains(&one.token) && is_good(one, now));
        Read { prices: good.map(|one| (asset(one.token), one.dollars)).collect(), ..Read::default() }
    }

    /// # Errors
    /// [`Fault`] where there is no answer. The API then rests, and requests meanwhile fail at once.
    async fn ask(&self, slug: &str, tokens: &[Address]) -> Result<Vec<Stated>, Fault> {
        if let Some(after) = self.resting() {
            return Err(Fault::RateLimited { message: "resting".into(), after: Some(after) });
        }
        let url = match self.kind {
            PriceApi::Defillama => defillama::url(&self.root, slug, tokens),
            PriceApi::Coingecko => coingecko::url(&self.root, slug, tokens),
        };
        let started = Instant::now();
        let span = tracing::info_span!(target: TRACE, "ask for prices", otel.kind = "client", assay.api = self.kind.as_str(), assay.outcome = Empty);
        let answer =
            timeout(TIMEOUT, self.get(url)).instrument(span.clone()).await.unwrap_or(Err(Fault::TimedOut(TIMEOUT)));
        let stated = answer.and_then(|body| {
            match self.kind {
                PriceApi::Defillama => defillama::prices(&body, slug),
                PriceApi::Coingecko => coingecko::prices(&body),
            }
            .ok_or_else(|| Fault::Malformed("no prices in the answer".into()))
        });
        let outcome = stated.as_ref().map_or_else(Fault::outcome, |_| "ok");
        span.record("assay.outcome", outcome);
        metrics::counter!("assay_price_requests_total", "api" => self.kind.as_str(), "outcome" => outcome).increment(1);
        metrics::histogram!("assay_price_request_duration_seconds", "api" => self.kind.as_str())
            .record(started.elapsed());
        if let Err(fault) = &stated {
            let rest = if let Fault::RateLimited { after: Some(after), .. } = fault {
                (*after).clamp(REST, MOST_REST)
            } else {
                REST
            };
            tracing::warn!(api = self.host, %fault, rest_s = rest.as_secs(), "price API failed");
            *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + rest);
        }
        stated
    }

    async fn get(&self, url: Url) -> Result<Value, Fault> {
        let lost = |error: reqwest::Error| Fault::Unreachable(root_cause(&error.without_url()));
        let client = self.http.as_ref().map_err(|error| Fault::Unreachable(error.clone()))?;
        let mut request = client.get(url).header(http::header::ACCEPT, "application/json");
        if let Some((name, value)) = &self.key {
            request = request.header(name.clone(), value.clone());
        }
        let mut response = request.send().await.map_err(lost)?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let after = response
                .headers()
                .get(http::header::RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let after = after.map(Duration::from_secs);
            return Err(match after {
                None if status.is_server_error() => Fault::Unreachable(format!("HTTP status {status}")),
                after => Fault::RateLimited { message: format!("HTTP status {status}"), after },
            });
        }
        if !status.is_success() {
            return Err(Fault::Denied(format!("HTTP status {status}")));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if body.len() + chunk.len() > MOST_BYTES {
                return Err(Fault::TooDense { suggested: None });
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|error| Fault::unreadable(&error))
    }
}

/// Whether a price is one, and of now.
fn is_good(stated: &Stated, now: u64) -> bool {
    let possible = stated.dollars.is_finite() && stated.dollars > 0.0 && stated.dollars <= MOST_DOLLARS;
    possible && now.saturating_sub(stated.time) <= MOST_AGE && stated.time <= now.saturating_add(SKEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_possible_and_of_the_last_hour() {
        let now = 1_800_000_000;
        let good = |dollars: f64, time: u64| is_good(&Stated { token: Address::ZERO, dollars, time }, now);
        assert!(good(1.0, now) && good(1e-12, now - MOST_AGE) && good(MOST_DOLLARS, now + SKEW));
        for dollars in [0.0, -1.0, f64::NAN, f64::INFINITY, MOST_DOLLARS * 1.1] {
            assert!(!good(dollars, now), "{dollars}");
        }
        assert!(!good(1.0, now - MOST_AGE - 1) && !good(1.0, now + SKEW + 1) && !good(1.0, 0));
    }

    #[test]
    fn a_key_travels_in_its_header_and_not_in_the_url() {
        let root = Secret::new("https://pro-api.example/api/v3?x_cg_pro_api_key=CG-s3cret&lang=en");
        let api = Api::new(&Err("none".into()), &root).unwrap();
        assert_eq!(api.root.as_str(), "https://pro-api.example/api/v3?lang=en");
        let (name, value) = api.key.unwrap();
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("x-cg-pro-api-key", "CG-s3cret"));
        assert!(!format!("{value:?}").contains("s3cret"));
    }
}
