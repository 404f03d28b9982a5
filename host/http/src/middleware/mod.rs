//! The middleware, in order. Each layer of a route is made from its row in the table of routes.

mod admission;
mod close;
mod compress;
mod cors;
mod guard;
mod identify;
mod measure;
mod origin;
mod rate_refusal;

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
    routing::MethodRouter,
};
use tower::ServiceBuilder;

use crate::{Gate, route::Route};
use measure::Handles;

pub use admission::PAYMENT_HEADERS;
pub(super) use cors::preflight;
pub use rate_refusal::refused_for;

/// The layers of one route, outermost first.
pub(super) fn around_route(handler: MethodRouter, route: Route, gate: &Gate) -> MethodRouter {
    let guarded = handler.route_layer(
        ServiceBuilder::new()
            // Outside of the guard: a panic and a timeout count as responses of the route.
            .layer(from_fn_with_state(Handles::of(route), measure::measure))
            // A panic becomes a 500, a timeout a 504, each with a JSON body.
            .layer(from_fn_with_state(gate.limits.request, guard::guard))
            // Before the extractors: no handler of a priced route runs without a key or a payment.
            .layer(from_fn(admission::require_key)),
    );
    admitted(guarded, route, gate)
}

/// `handler` behind the limits of its route.
pub(super) fn admitted(handler: MethodRouter, route: Route, gate: &Gate) -> MethodRouter {
    handler.layer(
        ServiceBuilder::new()
            // Outside of the limits: a page reads a refusal too.
            .layer(from_fn_with_state((gate.clone(), route), cors::share))
            .layer(from_fn_with_state((gate.clone(), route), admission::admit)),
    )
}

/// The layers of every request, also of unknown paths, outermost first.
pub(super) fn around_everything(router: Router, gate: &Gate) -> Router {
    router.layer(
        ServiceBuilder::new()
            // First: every log line and every response has the request id.
            .layer(from_fn(identify::identify))
            // Outside of the limits: a refusal closes the connection too.
            .layer(from_fn_with_state(gate.clone(), close::close_connection))
            .layer(from_fn_with_state(gate.limits.head, guard::bounded_head))
            .layer(from_fn(guard::one_host))
            .layer(from_fn(compress::tag))
            .layer(compress::layer()),
    )
}
