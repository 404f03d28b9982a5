//! A submission that x402 pays for. The payment is settled after the request is validated and before any work.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode},
    response::Response,
};

use super::{Form, accepted, refuse, seconds_until, service};
use crate::{
    access::{
        records::Payer,
        x402::{PayError, Refused, X402},
    },
    http::{ApiError, App, extract::Offered},
    reputation::{Request, SubmitError},
};
use assay_domain::B256;

/// `Retry-After` while a payment is being settled, in seconds.
const RETRY_PENDING: u64 = 5;
/// `Retry-After` when a chain or a facilitator does not answer, in seconds.
const RETRY_UNAVAILABLE: u64 = 10;

pub(super) async fn submit(
    app: &App,
    offered: &Offered,
    request: impl FnOnce(Payer) -> Request,
    form: Form,
) -> Result<Response, ApiError> {
    let (reputation, Some(x402)) = (service(app)?, &app.x402) else { return Err(ApiError::unauthorized()) };
    let payment = &offered.payment;
    let request = request(Payer::Payment(x402.id(payment)));
    let not_accepted = |error: SubmitError| match error {
        SubmitError::NotPaid => refused(x402, offered, &Refused::spent()),
        error => refuse(error),
    };
    // After a lost response a client may sign another payment: the Idempotency-Key identifies the same request.
    if request.retry_key.is_some()
        && x402.is_signed(payment).await.map_err(|error| not_settled(x402, offered, error))?
        && let Some(earlier) = reputation.earlier(&request).await.map_err(not_accepted)?
    {
        return accepted(app, &earlier, form).await;
    }
    if !x402.is_known(payment).await.map_err(ApiError::store)? {
        reputation.require_open(&request).await.map_err(refuse)?;
    }
    let settled = x402.settle(payment, &request.purchase(), &offered.resource).await;
    let settled = settled.map_err(|error| not_settled(x402, offered, error))?;
    // Where an earlier payment for this request counts, nothing was paid by this one.
    let is_own = Payer::Payment(settled.id) == request.payer;
    let request = Request { payer: Payer::Payment(settled.id), ..request };
    let record = reputation.submit(request).await.map_err(not_accepted)?;
    let mut response = accepted(app, &record, form).await?;
    response.headers_mut().extend(receipt(x402, offered, Ok(settled.transaction)).filter(|_| is_own));
    Ok(response)
}

/// The refusal that a scenario has for payments for this agent.
pub(super) fn rehearsed(app: &App, offered: &Offered, agent_id: u64) -> ApiError {
    match app.refuses_payments(agent_id) {
        Some((x402, why)) => refused(x402, offered, &x402.scripted(why, &offered.payment)),
        None => ApiError::unauthorized(),
    }
}

fn not_settled(x402: &X402, offered: &Offered, error: PayError) -> ApiError {
    match error {
        PayError::Refused(why) => refused(x402, offered, &why),
        PayError::Pending => {
            ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "settlement_pending", PayError::Pending.to_string())
                .retry_after(RETRY_PENDING)
        }
        PayError::Paused { until } => {
            ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "settlement_paused", error.to_string())
                .retry_after(seconds_until(until))
        }
        PayError::Unavailable(why) => {
            tracing::warn!(why, "a payment could not be checked");
            let detail = "The payment could not be checked, and was not taken; present it again";
            ApiError::coded(StatusCode::BAD_GATEWAY, "payment_not_checked", detail).retry_after(RETRY_UNAVAILABLE)
        }
        PayError::Store(error) => ApiError::store(error),
    }
}

/// 402 with the reason and the terms, and with a receipt when settlement was tried.
fn refused(x402: &X402, offered: &Offered, why: &Refused) -> ApiError {
    let error = ApiError::payment_required(x402.terms().demand(
        &offered.resource,
        |_| why.reason.to_string(),
        why.detail.clone(),
    ));
    match receipt(x402, offered, Err(why)).filter(|_| why.tried) {
        Some((name, value)) => error.with_header(name, value),
        None => error,
    }
}

fn receipt(x402: &X402, offered: &Offered, outcome: Result<B256, &Refused>) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = x402.receipt(&offered.payment, outcome);
    // Base 64 is a valid header value.
    Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
}
