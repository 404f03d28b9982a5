//! The middleware, in order. Each layer of a route is made from its row in the table of routes.

mod admission;
mod close;
mod cors;
mod guard;
mod identify;
mod measure;
mod origin;
mod rate_refusal;

use axum::{
    Router,
    http::{HeaderName, HeaderValue},
    middleware::{from_fn, from_fn_with_state, map_response},
    response::Response,
    routing::MethodRouter,
};
use tower::ServiceBuilder;

use super::{App, route::Route};
use measure::Handles;

/// Marks the responses of a sandbox.
const SANDBOX: HeaderName = HeaderName::from_static("x-assay-sandbox");

pub(super) use cors::preflight;
pub(super) use rate_refusal::refused_for;

/// The layers of one route, outermost first.
pub(super) fn around_route(handler: MethodRouter<App>, route: Route, app: &App) -> MethodRouter<App> {
    let guarded = handler.route_layer(
        ServiceBuilder::new()
            // Outside of the guard: a panic and a timeout count as responses of the route.
            .layer(from_fn_with_state(Handles::of(route), measure::measure))
            // A panic becomes a 500, a timeout a 504, each with a JSON body.
            .layer(from_fn_with_state(app.limits.request, guard::guard))
            // Before the extractors: no handler of a priced route runs without a key or a payment.
            .layer(from_fn(admission::require_key)),
    );
    admitted(guarded, route, app)
}

/// `handler` behind the limits of its route.
pub(super) fn admitted(handler: MethodRouter<App>, route: Route, app: &App) -> MethodRouter<App> {
    handler.layer(
        ServiceBuilder::new()
            // Outside of the limits: a page reads a refusal too.
            .layer(from_fn_with_state((app.clone(), route), cors::share))
            .layer(from_fn_with_state((app.clone(), route), admission::admit)),
    )
}

/// The layers of every request, also of unknown paths, outermost first.
pub(super) fn around_everything(router: Router, app: &App) -> Router {
    let router = if app.is_sandbox { router.layer(map_response(mark_mock)) } else { router };
    router.layer(
        ServiceBuilder::new()
            // First: every log line and every response has the request id.
            .layer(from_fn(identify::identify))
            // Outside of the limits: a refusal closes the connection too.
            .layer(from_fn_with_state(app.clone(), close::close_connection))
            .layer(from_fn(guard::one_host)),
    )
}

async fn mark_mock(mut response: Response) -> Response {
    response.headers_mut().insert(SANDBOX, HeaderValue::from_static("true"));
    response
}
