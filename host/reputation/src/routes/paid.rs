//! A submission that x402 pays for. The payment is settled after the request is validated and before any work.

use axum::response::Response;

use super::{Form, ReputationRoutes, accepted, refuse};
use crate::{Request, SubmitError};
use assay_access::records::Payer;
use assay_http::ApiError;
use assay_payment::{Offered, Refused};

pub(super) async fn submit(
    state: &ReputationRoutes,
    agent_id: u64,
    offered: &Offered,
    request: impl FnOnce(Payer) -> Request,
    form: Form,
) -> Result<Response, ApiError> {
    let (reputation, Some(x402)) = (state.service()?, state.payments.of_agent(agent_id)) else {
        return Err(ApiError::unauthorized());
    };
    let payment = &offered.payment;
    let request = request(Payer::Payment(x402.id(payment)));
    let not_accepted = |error: SubmitError| match error {
        SubmitError::NotPaid => offered.refused(x402, &Refused::spent()),
        error => refuse(error),
    };
    // After a lost response a client may sign another payment: the Idempotency-Key identifies the same request.
    if request.retry_key.is_some()
        && x402.is_signed(payment).await.map_err(|error| offered.not_settled(x402, error))?
        && let Some(earlier) = reputation.earlier(&request).await.map_err(not_accepted)?
    {
        return Ok(accepted(reputation, &earlier, form).await);
    }
    if !x402.is_known(payment).await.map_err(ApiError::store)? {
        x402.precheck(payment, &request.purchase()).await.map_err(|error| offered.not_settled(x402, error))?;
        reputation.require_open(&request).await.map_err(refuse)?;
    }
    let settled = x402.settle(payment, &request.purchase(), &offered.resource).await;
    let settled = settled.map_err(|error| offered.not_settled(x402, error))?;
    // Where an earlier payment for this request counts, nothing was paid by this one.
    let is_own = Payer::Payment(settled.id) == request.payer;
    let request = Request { payer: Payer::Payment(settled.id), ..request };
    let record = reputation.submit(request).await.map_err(not_accepted)?;
    let mut response = accepted(reputation, &record, form).await;
    response.headers_mut().extend(offered.receipt(x402, Ok(settled.transaction)).filter(|_| is_own));
    Ok(response)
}
