//! Admission: what a request passes before its handler, by the row of its route. In this order: the rate of its key or
//! address, the limit of concurrent requests, the size of its body, its key and scope. All but the last also apply to
//! paths that are no route. A refusal comes before any work.

use std::{net::IpAddr, time::Duration};

use axum::{
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{origin::origin, rate_refusal};
use crate::{
    ApiError, Call, Gate,
    call::Bill,
    extract::check_declared,
    route::{Admission, Route},
};
use assay_access::{AccessError, Admitted, Caller, Crowd, PriceClass, neighbourhood};

/// Longest wait for the rest of a discarded body.
const DISCARD: Duration = Duration::from_secs(10);

/// Counts the request, limits it and its body, and adds its cost to the response. Operation routes have no rate and no
/// limit of concurrency: operators need them most when the server is overloaded, and they cost little.
pub(crate) async fn admit(State((gate, route)): State<(Gate, Route)>, request: Request, next: Next) -> Response {
    if route.admission == Admission::Operation {
        let nobody = Admitted { caller: Err(AccessError::MissingOrInvalid), counted: None, prepaid: None };
        return enter(&gate, route, (nobody, None), request, next).await;
    }
    let key = request.headers().get(header::AUTHORIZATION);
    let price = route.single_price();
    // With x402 a client without a key can submit: it needs the agents beforehand and the status afterwards. It can buy
    // statements: it needs their evidence.
    let is_guest = key.is_none() && gate.takes_payments && route.admission.admits_guests();
    let key = key.and_then(|value| value.to_str().ok());
    let address = origin(&request, &gate.proxies);
    let network = Some(neighbourhood(address));
    let mut admitted = gate.access.admit(key, address, price).await;
    if is_guest {
        admitted.caller = Ok(Caller::guest().into());
    }
    let counted = admitted.counted;
    let crowd = match &admitted.caller {
        Ok(_) if is_guest => Some(Crowd::Guests),
        Err(_) if gate.takes_payments && is_payment(&route, &request) => Some(Crowd::Payers),
        _ => None,
    };
    let crowded = async || match crowd {
        Some(crowd) => gate.access.count_crowd(crowd).await.and_then(rate_refusal::refusal),
        None => None,
    };
    let mut response = if let Some(refusal) = counted.and_then(rate_refusal::refusal) {
        refusal.into_response()
    } else if let Some(refusal) = crowded().await {
        refusal.into_response()
    } else if let Ok(_permit) = gate.request_permits.try_acquire() {
        enter(&gate, route, (admitted, network), request, next).await
    } else {
        metrics::counter!("assay_http_refused_total", "reason" => "busy").increment(1);
        ApiError::busy().into_response()
    };
    if let Some(counted) = counted {
        rate_refusal::add_headers(response.headers_mut(), counted);
    }
    response
}

/// The headers with a payment, of the two versions of x402.
pub const PAYMENT_HEADERS: [&str; 2] = ["X-PAYMENT", "PAYMENT-SIGNATURE"];

/// Whether `request` presents a payment in place of a key.
fn is_payment(route: &Route, request: &Request) -> bool {
    matches!(route.price(), Some(PriceClass::Submission | PriceClass::Attestation | PriceClass::Watch))
        && PAYMENT_HEADERS.into_iter().any(|name| request.headers().contains_key(name))
}

/// Responds with 413 to a declared length beyond the limit of the route; the extractors apply the same limit to a body
/// without a declared length.
async fn enter(
    gate: &Gate,
    route: Route,
    (admitted, network): (Admitted, Option<IpAddr>),
    request: Request,
    next: Next,
) -> Response {
    let body = route.body.limit(&gate.limits);
    let mut request = match tokio::time::timeout(DISCARD, check_declared(request, body)).await {
        Ok(Ok(request)) => request,
        Ok(Err(error)) => return error.into_response(),
        Err(_) => return ApiError::beyond(body, None).into_response(),
    };
    let bill = Bill::default();
    let Admitted { caller, prepaid, .. } = admitted;
    let (price, admits_holders) = (route.price(), route.admits_holders);
    let call = Call { gate: gate.clone(), caller, price, prepaid, bill: bill.clone(), body, admits_holders, network };
    request.extensions_mut().insert(call);
    let mut response = next.run(request).await;
    bill.add_headers(response.headers_mut());
    response
}

/// Responds with 401 or 403 if the route has a price and the caller has no key for it. A submission, a statement or a
/// watch may be paid for instead, and a watch may be held by its payer: the handler decides.
pub(crate) async fn require_key(request: Request, next: Next) -> Response {
    let refused = request.extensions().get::<Call>().and_then(|call| match call.price {
        None | Some(PriceClass::Submission | PriceClass::Attestation) => None,
        Some(_) if call.admits_holders => None,
        Some(_) => call.caller().err(),
    });
    match refused {
        Some(error) => ApiError::from(error).into_response(),
        None => next.run(request).await,
    }
}
