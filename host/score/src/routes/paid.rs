//! A statement that x402 pays for. The payment is settled before anything is read, and kept for its request until the
//! statement is fetched.

use std::sync::Arc;

use axum::response::Response;

use super::statement::{SignedScore, StatementRequest, StatementService, statement_response};
use assay_access::Caller;
use assay_http::ApiError;
use assay_payment::{
    Offered, Refused, Settled, X402,
    records::{PurchaseRecord, SoldRecord},
};

const KEPT: &str = "the payment is kept for this request: send it again with the same payment";

pub(super) async fn attest(
    service: &StatementService<'_>,
    offered: &Offered,
    order: &StatementRequest,
) -> Result<Response, ApiError> {
    let Some(x402) = &service.scores.payments.x402 else { return Err(ApiError::unauthorized()) };
    let guest = Caller::guest();
    let purchase = PurchaseRecord::statement(order.words());
    if !x402.is_known(&offered.payment).await.map_err(ApiError::store)? {
        let checked = x402.precheck(&offered.payment, &purchase).await;
        checked.map_err(|error| offered.not_settled(x402, error))?;
        service.require(order, &guest.name).await?;
    }
    let settled = x402.settle(&offered.payment, &purchase, &offered.resource).await;
    let settled = settled.map_err(|error| offered.not_settled(x402, error))?;
    let stated = match (x402.sold(&settled.id).await.map_err(ApiError::store)?, settled.bought) {
        (Some(sold), _) => Ok(sold),
        // It bought a statement that does not hold any more.
        (None, Some(_)) => return Err(offered.refused(x402, &Refused::spent())),
        (None, None) => make(service, offered, order, &Bought { x402, settled: &settled, purchase: &purchase }).await,
    };
    // Where an earlier payment for this request counts, nothing was paid by this one.
    let is_own = settled.id == x402.id(&offered.payment);
    let receipt = offered.receipt(x402, Ok(settled.transaction)).filter(|_| is_own);
    let fetched = |SoldRecord { score_id, signed }| {
        let id = score_id.parse().map_err(|why: String| ApiError::internal("score_id", why))?;
        Ok(SignedScore { id, signed: Arc::new(signed) })
    };
    match stated.and_then(fetched) {
        Ok(stated) => {
            let mut response = statement_response(stated);
            response.headers_mut().extend(receipt);
            Ok(response)
        }
        Err(error) => Err(receipt.into_iter().fold(error, |error, (name, value)| error.with_header(name, value))),
    }
}

/// A settled payment, and what it buys.
struct Bought<'a> {
    x402: &'a X402,
    settled: &'a Settled,
    purchase: &'a PurchaseRecord,
}

/// Makes the statement that a settled payment buys.
async fn make(
    service: &StatementService<'_>,
    offered: &Offered,
    order: &StatementRequest,
    Bought { x402, settled, purchase }: &Bought<'_>,
) -> Result<SoldRecord, ApiError> {
    let guest = Caller::guest();
    let stated = async { service.state(service.score(order, &guest.name).await?, &guest).await };
    let SignedScore { id, signed } = stated.await.map_err(|error| error.advise(KEPT))?;
    let sold = SoldRecord { score_id: id.to_string(), signed: Arc::unwrap_or_clone(signed) };
    let sold = x402.sell(&settled.id, purchase, id.record(), sold, service.attestor.valid()).await;
    sold.map_err(ApiError::store)?.ok_or_else(|| offered.refused(x402, &Refused::spent()))
}
