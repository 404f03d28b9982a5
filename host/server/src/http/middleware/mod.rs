//! Everything around a handler, in order. The steps around a single route are inside those around every request,
//! because only a matched route has a name to be counted under.

mod guard;
mod identify;
mod leave;
mod limit;
mod measure;
mod origin;

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
    routing::MethodRouter,
};
use tower::ServiceBuilder;

use super::{App, bill};
use guard::Guard;
use identify::Identify;
use measure::Measure;

pub(super) use limit::Identified;

/// The steps around one route, outermost first.
pub(super) fn around_route(
    route: MethodRouter<App>,
    method: &'static str,
    path: &'static str,
    app: &App,
) -> MethodRouter<App> {
    route.route_layer(
        ServiceBuilder::new()
            // Counts and times under the route's pattern, whatever happens further in: a panic and a timeout are
            // answers too.
            .layer(Measure::of(method, path))
            // A panic becomes a 500, a handler that takes too long a 504; both are bodies a client can read.
            .layer(Guard::new(app.limits.request)),
    )
}

/// The steps around every request, unmatched ones too, outermost first.
pub(super) fn around_everything(router: Router, app: &App) -> Router {
    router.layer(
        ServiceBuilder::new()
            // First, so that every line logged and every answer carries the request's id.
            .layer(Identify)
            // A refusal takes leave as well.
            .layer(from_fn_with_state(app.clone(), leave::close_connection))
            // Before any work: who comes too often, or into a full house, is sent away. The first also finds out who
            // calls.
            .layer(from_fn_with_state(app.clone(), limit::rate))
            .layer(from_fn_with_state(app.clone(), limit::room))
            // Before anything looks at the request: a body that is too large is refused whoever sent it, wherever to.
            .layer(from_fn_with_state(app.clone(), guard::body_limit))
            // Inside the others, which charge nobody.
            .layer(from_fn(bill::show)),
    )
}
