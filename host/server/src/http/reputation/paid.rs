//! A submission that is paid for by x402: nothing is taken before the request is known to be good, and nothing is done
//! before the money has arrived.

use crate::access::records::Payer;
use axum::{
    http::{HeaderName, HeaderValue, StatusCode},
    response::Response,
};

use super::{Form, accepted, refuse, service};
use crate::{
    access::x402::{PayError, Refused, X402},
    http::{ApiError, App, extract::Offered},
    reputation::{Request, SubmitError},
};
use assay_domain::B256;

/// Seconds after which a payment that is being settled may have arrived.
const MOMENT: u64 = 5;
/// Seconds after which a chain or a facilitator that did not answer is worth another try.
const WHILE: u64 = 10;

pub(super) async fn submit(
    app: &App,
    offered: &Offered,
    request: impl FnOnce(Payer) -> Request,
    form: Form,
) -> Result<Response, ApiError> {
    let (reputation, Some(x402)) = (service(app)?, &app.x402) else { return Err(ApiError::unauthorized()) };
    let payment = &offered.payment;
    let request = request(Payer::Payment(x402.id(payment)));
    let said_no = |error: SubmitError| match error {
        SubmitError::NotPaid => refused(x402, offered, &Refused::spent()),
        error => refuse(error),
    };
    // A client that lost our answer may have signed another payment since: its Idempotency-Key says that it is the same
    // request.
    if request.retry_key.is_some()
        && x402.signed_by_key(payment)
        && let Some(earlier) = reputation.earlier(&request).await.map_err(said_no)?
    {
        return accepted(app, &earlier, form).await;
    }
    if !x402.is_known(payment).await.map_err(ApiError::store)? {
        reputation.require_agent(request.agent_id).await.map_err(refuse)?;
    }
    let settled = x402.settle(payment, request.digest(), &offered.resource).await.map_err(|error| match error {
        PayError::Refused(why) => refused(x402, offered, &why),
        PayError::Pending => {
            ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "settlement_pending", PayError::Pending.to_string())
                .retry_after(MOMENT)
        }
        PayError::Unavailable(why) => {
            tracing::warn!(why, "a payment could not be checked");
            let words = "The payment could not be checked, and was not taken; present it again";
            ApiError::coded(StatusCode::BAD_GATEWAY, "payment_not_checked", words).retry_after(WHILE)
        }
        PayError::Store(error) => ApiError::store(error),
    })?;
    let record = reputation.submit(request).await.map_err(said_no)?;
    let mut answer = accepted(app, &record, form).await?;
    answer.headers_mut().extend(receipt(x402, offered, Ok(settled.transaction)));
    Ok(answer)
}

/// 402 with the reason, the terms, and where it was tried what became of it.
fn refused(x402: &X402, offered: &Offered, why: &Refused) -> ApiError {
    let error = ApiError::payment_required(x402.terms().demand(&offered.resource, &why.reason, why.detail.clone()));
    match receipt(x402, offered, Err(why)).filter(|_| why.tried) {
        Some((name, value)) => error.with_header(name, value),
        None => error,
    }
}

fn receipt(x402: &X402, offered: &Offered, outcome: Result<B256, &Refused>) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = x402.receipt(&offered.payment, outcome);
    // Base 64 is always a header's value.
    Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
}
