//! Responses about a payment: refused, not settled yet, and its outcome.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};

use crate::{Offered, PayError, Refused, X402, terms::Demand};
use assay_domain::{B256, Time};
use assay_http::ApiError;

/// `Retry-After` while a payment is being settled, in seconds.
const RETRY_PENDING: u64 = 5;
/// `Retry-After` while gas costs more than a sale brings, in seconds.
const RETRY_DEAR: u64 = 60;
/// `Retry-After` while too many payments are open, in seconds.
const RETRY_FULL: u64 = 30;
/// `Retry-After` when a chain or a facilitator does not answer, in seconds.
const RETRY_UNAVAILABLE: u64 = 10;

impl Offered {
    /// The response to a payment that has not arrived.
    pub fn not_settled(&self, x402: &X402, error: PayError) -> ApiError {
        match error {
            PayError::Refused(why) => self.refused(x402, &why),
            PayError::Pending => {
                ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "settlement_pending", PayError::Pending.to_string())
                    .retry_after(RETRY_PENDING)
            }
            PayError::Queued { wait, .. } => {
                ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "settlement_queued", error.to_string())
                    .retry_after(wait.as_secs().max(1))
            }
            PayError::Dear { .. } => {
                ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "gas_above_price", error.to_string())
                    .retry_after(RETRY_DEAR)
            }
            PayError::Full => {
                metrics::counter!("assay_http_refused_total", "reason" => "payments").increment(1);
                ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string()).retry_after(RETRY_FULL)
            }
            PayError::Unavailable(why) => {
                tracing::warn!(why, "a payment could not be checked");
                let detail = "The payment could not be checked, and was not taken; send it again";
                ApiError::coded(StatusCode::BAD_GATEWAY, "payment_not_checked", detail).retry_after(RETRY_UNAVAILABLE)
            }
            PayError::Store(error) => ApiError::store(error),
        }
    }

    /// 402 with the reason and the terms, and with a receipt when settlement was tried.
    pub fn refused(&self, x402: &X402, why: &Refused) -> ApiError {
        let terms = x402.terms();
        let error =
            payment_required(terms.demand(self.item, &self.resource, |_| why.reason.to_string(), why.detail.clone()));
        match self.receipt(x402, Err(why)).filter(|_| why.tried) {
            Some((name, value)) => error.with_header(name, value),
            None => error,
        }
    }

    /// The response header with the outcome of the payment.
    pub fn receipt(&self, x402: &X402, outcome: Result<B256, &Refused>) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = x402.receipt(&self.payment, outcome);
        // Base 64 is a valid header value.
        Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
    }
}

/// The terms of a payment, for clients of both versions of x402.
pub(crate) fn payment_required(demand: Demand) -> ApiError {
    let error = ApiError::with_body(StatusCode::PAYMENT_REQUIRED, &demand.body);
    let error = error.with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Base 64 is always a valid header value.
    match demand.required.and_then(|required| HeaderValue::try_from(required).ok()) {
        Some(required) => error.with_header(HeaderName::from_static("payment-required"), required),
        None => error,
    }
}

/// Seconds until `time`, rounded up.
pub fn seconds_until(time: Time) -> u64 {
    u64::try_from((time - chrono::Utc::now()).num_seconds()).unwrap_or_default().saturating_add(1)
}
