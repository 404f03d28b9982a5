//! `POST /api/v2/watches`.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{WatchRoutes, order::Order, paid, parameters};
use crate::{
    bodies::{NewWatchBody, WatchBody},
    creation::Retry,
    responses,
    trigger::NewTrigger,
    watches::WatchError,
};
use assay_access::PriceClass;
use assay_http::{
    ApiError,
    extract::{JsonObject, RetryKey},
    fresh,
};
use assay_payment::{Buyer, Item, responses as payment};

/// A new watch.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewWatch, example = json!({
    "address": "vitalik.eth", "when": [{ "measure": "health_factor", "below": 1.3, "clear_above": 1.4 }],
    "every_s": 60, "url": "https://lender.example/hooks/assay"
}))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct CreateBody {
    /// The address or ENS name to watch. A watch of a name follows it.
    address: String,
    /// What to tell, 1 to 16 entries.
    when: Vec<NewTrigger>,
    /// Seconds between two evaluations; 300 by default.
    every_s: Option<u64>,
    /// Tell at the first evaluation if a bound is crossed already; otherwise that is where the watch begins.
    fires_at_once: Option<bool>,
    /// Events of a score have its signed statement, on a server that signs any.
    statement: Option<bool>,
    /// Where events are delivered: HTTPS, a public host. Without it, poll or follow them.
    url: Option<String>,
    /// When the watch ends, at most 366 days from now; 30 days from now by default.
    #[schema(format = DateTime)]
    until: Option<String>,
    /// Your own words for the wallet.
    #[schema(max_length = 200)]
    label: Option<String>,
}

/// Watches a wallet.
///
/// Costs units for each 30 days begun. Read the events at `/events`, or let them be delivered to `url` as Standard
/// Webhooks: the receiver must first agree, either by answering `OPTIONS` with `WebHook-Allowed-Origin`, or by
/// returning `data.challenge` of a signed `watch.verify`. The same request with the same `Idempotency-Key` returns the
/// same watch with its current secret within a day, and costs nothing more.
///
/// If the server sells watches by x402, a request without a key is answered with 402 and the terms, and the response to
/// a payment has `token`: as a bearer token it alone manages this watch, at the paths below `/{watch_id}`. A payment
/// needs an `Idempotency-Key` of 22 to 255 characters that nobody can guess. The same request with the same one, and
/// the same payment or another one, returns the same watch and token within a day, and nothing more is paid.
#[utoipa::path(
    post, path = "/api/v2/watches", tag = "watches", operation_id = "add_watch",
    params(Buyer, RetryKey),
    request_body = CreateBody,
    responses(
        (
            status = 201, description = "The watch, with its secret", body = NewWatchBody,
            headers(
                ("X-PAYMENT-RESPONSE" = Option<String>, description = "Outcome of the payment by x402, version 1"),
                ("PAYMENT-RESPONSE" = Option<String>, description = "Outcome of the payment by x402, version 2"),
            ),
        ),
        responses::NewWatch, responses::Bodied, responses::Keyed, responses::Units, payment::Payable,
    ),
    security(("key" = []), ("x402" = [])),
)]
pub(crate) async fn create(
    buyer: Buyer,
    State(state): State<WatchRoutes>,
    retry_key: Result<RetryKey, ApiError>,
    body: Result<JsonObject, ApiError>,
) -> Result<Response, ApiError> {
    let (watches, now) = (&state.watches, parameters::now());
    let order = body.and_then(|body| Order::read(body, watches));
    let caller = match (buyer, &order) {
        (Buyer::Key(caller), _) => caller,
        // Whoever asks for the price learns it, whatever else is wrong.
        (Buyer::Client(client), Err(_)) if !client.has_payment() => {
            client.offer(Item::Watch(1))?;
            return Err(ApiError::unauthorized());
        }
        (Buyer::Client(client), _) => return paid::create(&state, *client, (order?, retry_key)).await,
    };
    let order = order?;
    let retry = Retry::new(caller.owner(), retry_key?, &order.words());
    let created = match watches.earlier(retry.as_ref()).await? {
        Some(earlier) => Ok((earlier, 0)),
        None => {
            order.require(&state).await?;
            let units = caller.price(PriceClass::Watch).saturating_mul(order.terms(now) as u64);
            let new = order.watch((caller.owner().to_owned(), caller.name().to_owned()), now);
            watches.create(new, (caller.key(), units), retry.as_ref()).await
        }
    };
    // After a failure of the store it is unknown what was spent.
    if !matches!(created, Err(WatchError::Store(_))) {
        caller.spent(created.as_ref().map_or(0, |(_, units)| *units)).await;
    }
    let (watch, _) = created?;
    let secret = Some(watch.record.secret.expose().to_owned());
    let watch = watches.begun(watch).await?;
    let body = NewWatchBody { secret, token: None, watch: WatchBody::of(&watch, &watches.public_key()) };
    Ok((StatusCode::CREATED, fresh::once(Json(body))).into_response())
}
