//! One external price API: GET requests with limits on time, size and number of tokens, and a pause after a failure.
//! Its URL may contain a key, so logs and errors name only the host.

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

use super::{ApiAsset, coingecko, defillama, stated::StatedPrice};
use crate::{
    config::{PriceApi, Slugs},
    limits, pauses,
};
use assay_domain::{Address, ChainId, Secret};
use assay_evm::{
    body::{self, BodyError},
    endpoint::{Http, root_cause},
    fault::Fault,
};
use assay_trace::TRACE;

/// An API and its health.
pub(super) struct Api {
    http: Http,
    kind: PriceApi,
    root: Url,
    key: Option<(HeaderName, HeaderValue)>,
    host: String,
    /// The end of the pause.
    paused_until: Mutex<Option<Instant>>,
}

/// The result of one read.
#[derive(Debug, Default)]
pub(super) struct PricesRead {
    pub prices: Vec<(ApiAsset, f64)>,
    /// Asked for without an answer.
    pub failed: Vec<ApiAsset>,
}

impl Api {
    /// `None` for an invalid URL, which the configuration refuses.
    pub(super) fn new(http: &Http, root: &Secret) -> Option<Self> {
        let kind = PriceApi::of(root)?;
        let mut root = Url::parse(root.expose()).ok()?;
        // A key in the query is sent as the header of that name instead: proxies log URLs.
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
        Some(Self { http: http.clone(), kind, root, key, host, paused_until: Mutex::default() })
    }

    pub(super) fn kind(&self) -> PriceApi {
        self.kind
    }

    /// The rest of the pause after a failure; `None` without a pause.
    pub(super) fn pause(&self) -> Option<Duration> {
        let until = (*self.paused_until.lock().unwrap_or_else(PoisonError::into_inner))?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Asks for `assets` on chains that the API knows; the result leaves out the others.
    pub(super) async fn read(&self, slugs: &HashMap<ChainId, Slugs>, assets: Vec<ApiAsset>) -> PricesRead {
        let mut of_chain: BTreeMap<ChainId, Vec<Address>> = BTreeMap::new();
        for asset in assets {
            of_chain.entry(asset.chain).or_default().push(asset.token);
        }
        let mut parts = Vec::new();
        for (chain, tokens) in of_chain {
            if let Some(slug) = slugs.get(&chain).and_then(|slugs| self.kind.slug(slugs)) {
                parts.extend(
                    tokens
                        .chunks(limits::TOKENS_PER_REQUEST)
                        .map(|part| self.part(chain, slug.to_owned(), part.to_vec())),
                );
            }
        }
        let mut answers = stream::iter(parts).buffer_unordered(limits::PRICES_REQUESTS);
        let mut read = PricesRead::default();
        while let Some(part) = answers.next().await {
            read.prices.extend(part.prices);
            read.failed.extend(part.failed);
        }
        read
    }

    async fn part(&self, chain: ChainId, slug: String, tokens: Vec<Address>) -> PricesRead {
        let asset = |token| ApiAsset { chain, token };
        let Ok(stated) = self.ask(&slug, &tokens).await else {
            return PricesRead { failed: tokens.into_iter().map(asset).collect(), ..PricesRead::default() };
        };
        let now = u64::try_from(chrono::Utc::now().timestamp()).unwrap_or_default();
        let good = stated.into_iter().filter(|one| tokens.contains(&one.token) && one.is_credible(now));
        PricesRead { prices: good.map(|one| (asset(one.token), one.dollars)).collect(), ..PricesRead::default() }
    }

    /// # Errors
    /// [`Fault`] if there is no answer. Requests during the pause that follows fail at once.
    async fn ask(&self, slug: &str, tokens: &[Address]) -> Result<Vec<StatedPrice>, Fault> {
        if let Some(after) = self.pause() {
            return Err(Fault::RateLimited { message: "paused after a failure".into(), after: Some(after) });
        }
        let url = match self.kind {
            PriceApi::Defillama => defillama::url(&self.root, slug, tokens),
            PriceApi::Coingecko => coingecko::url(&self.root, slug, tokens),
        };
        let started = Instant::now();
        let span = tracing::info_span!(target: TRACE, "ask for prices", otel.kind = "client",
            assay.api = self.kind.as_str(), assay.outcome = Empty);
        let answer = timeout(limits::PRICES_RESPONSE, self.get(url))
            .instrument(span.clone())
            .await
            .unwrap_or(Err(Fault::TimedOut(limits::PRICES_RESPONSE)));
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
            let pause = if let Fault::RateLimited { after: Some(after), .. } = fault {
                (*after).clamp(pauses::PRICES_FAILED, pauses::MAX_PRICES_RETRY_AFTER)
            } else {
                pauses::PRICES_FAILED
            };
            tracing::warn!(api = self.host, %fault, rest_s = pause.as_secs(), "price API failed");
            *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + pause);
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
        let response = request.send().await.map_err(lost)?;
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
        let body = body::read(response, limits::PRICES_BODY).await.map_err(|error| match error {
            BodyError::TooLarge => Fault::TooDense { suggested: None },
            BodyError::Lost(error) => lost(error),
        })?;
        serde_json::from_slice(&body).map_err(|error| Fault::unreadable(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
