//! The middleware, in order. The layers of one route are inside the layers of every request: only a matched route has a
//! name for its metrics.

mod close;
mod guard;
mod identify;
mod limit;
mod measure;
mod origin;

use axum::{
    Router,
    extract::Request,
    middleware::{from_fn, from_fn_with_state},
    routing::MethodRouter,
};
use tower::ServiceBuilder;

use super::{App, bill, route::FixedPaths};
use guard::Guard;
use identify::Identify;
use measure::Measure;

pub(super) use limit::refused_for;

/// The layers of one route, outermost first.
pub(super) fn around_route(
    route: MethodRouter<App>,
    method: &'static str,
    path: &'static str,
    app: &App,
) -> MethodRouter<App> {
    route.route_layer(
        ServiceBuilder::new()
            // Outside of the guard: a panic and a timeout count as responses of the route.
            .layer(Measure::of(method, path))
            // A panic becomes a 500, a timeout a 504, each with a JSON body.
            .layer(Guard::new(app.limits.request)),
    )
}

/// The layers of every request, also of unknown paths, outermost first. `router` is the fallback of an empty router, so
/// that these layers run before it matches the path.
pub(super) fn around_everything(router: Router, app: &App, paths: FixedPaths) -> Router {
    Router::new().fallback_service(
        ServiceBuilder::new()
            // First: every log line and every response has the request id.
            .layer(Identify)
            // Before the layers that depend on the route, and before the router.
            .map_request(move |request: Request| paths.resolve(request))
            // Outside of the limits: a refusal closes the connection too.
            .layer(from_fn_with_state(app.clone(), close::close_connection))
            .layer(from_fn(guard::one_host))
            // Before any work. The rate also identifies the caller.
            .layer(from_fn_with_state(app.clone(), limit::rate))
            .layer(from_fn_with_state(app.clone(), limit::concurrency))
            // Before the extractors: a body that is too large is refused for every caller and every path.
            .layer(from_fn_with_state(app.clone(), guard::body_limit))
            // Innermost: the other layers cost no units.
            .layer(from_fn(bill::add_headers))
            .service(router),
    )
}
