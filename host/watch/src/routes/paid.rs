//! A watch that x402 pays for. The payment is settled before the watch is created, and kept for its request until it
//! is: a client that lost the answer sends the request again, and gets the same watch and the same token.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};

use super::{WatchRoutes, order::Order, parameters};
use crate::{
    bodies::{NewWatchBody, WatchBody},
    records,
    watches::WatchError,
};
use assay_domain::PaymentId;
use assay_http::{ApiError, extract::RetryKey, fresh};
use assay_payment::{Client, Item, Refused, records::PurchaseRecord};

/// Minimum length of an `Idempotency-Key` that nobody guesses.
const SHORTEST: usize = 22;
/// Attempts if another request with the same payment creates the watch.
const TRIES: usize = 4;

/// The `Idempotency-Key`, which only the payer of a watch knows.
///
/// # Errors
/// 400 without one of that length, before anything is paid.
fn secret(RetryKey(retry_key): RetryKey) -> Result<String, ApiError> {
    retry_key.filter(|key| key.len() >= SHORTEST).ok_or_else(|| {
        let why = format!(
            "A watch that is paid for needs an Idempotency-Key of {SHORTEST} to {} random characters; the payment \
             was not taken",
            RetryKey::LONGEST
        );
        ApiError::coded(StatusCode::BAD_REQUEST, "idempotency_key", why)
    })
}

/// A payment in the words that its token is made of.
fn words(PaymentId { chain, asset, from, nonce }: &PaymentId) -> String {
    format!("{chain}/{asset:#x}/{from:#x}/{nonce:#x}")
}

/// Creates the watch that a payment buys, or finds the one that it bought.
pub(super) async fn create(
    state: &WatchRoutes,
    client: Client,
    (order, retry_key): (Order, Result<RetryKey, ApiError>),
) -> Result<Response, ApiError> {
    let watches = &state.watches;
    let terms = u32::try_from(order.terms(parameters::now())).unwrap_or(u32::MAX);
    let (x402, offered) = client.offer(Item::Watch(terms))?;
    let secret = secret(retry_key?)?;
    let purchase = PurchaseRecord::watch(order.words(), &secret, terms);
    if !x402.is_known(&offered.payment).await.map_err(ApiError::store)? {
        let checked = x402.precheck(&offered.payment, &purchase).await;
        checked.map_err(|error| offered.not_settled(&x402, error))?;
        order.require(state).await?;
        watches.require_room().await?;
    }
    for _ in 0..TRIES {
        let settled = x402.settle(&offered.payment, &purchase, &offered.resource).await;
        let settled = settled.map_err(|error| offered.not_settled(&x402, error))?;
        let token = watches.0.server_key.token(&words(&settled.id), &secret);
        let owner = records::payer(&token);
        let found = match settled.bought {
            // The watch that it bought may be removed.
            Some(id) => {
                let known = watches.watch(&owner, id).await;
                Some(known.map_err(|error| match error {
                    WatchError::Unknown => offered.refused(&x402, &Refused::spent()),
                    error => error.into(),
                })?)
            }
            None => {
                let new = order.clone().watch((owner, "x402".to_owned()), parameters::now());
                watches.create_paid((new, terms), &settled.id, purchase.digest).await?
            }
        };
        let Some(watch) = found else { continue };
        tracing::info!(watch = %watch.record.id, payer = %settled.id.from, "watch paid for by x402");
        let secret = Some(watch.record.secret.expose().to_owned());
        let watch = WatchBody::of(&watch, &watches.public_key());
        let body = NewWatchBody { secret, token: Some(token), watch };
        let mut response = (StatusCode::CREATED, fresh::once(Json(body))).into_response();
        // If an earlier payment for this request counts, nothing was paid by this one.
        let is_own = settled.id == x402.id(&offered.payment);
        response.headers_mut().extend(offered.receipt(&x402, Ok(settled.transaction)).filter(|_| is_own));
        return Ok(response);
    }
    Err(WatchError::Contended.into())
}
