//! Builds the axum router from routes and their handlers.

use axum::{
    Router,
    handler::Handler,
    http::{Method, StatusCode},
    routing::{MethodFilter, MethodRouter, on},
};

use super::{
    ApiError, App,
    extract::{Admits, Admitted},
    middleware,
    route::{Admission, BodySize, FixedPaths, Route},
};

/// Routes as they are collected. Each gets the same middleware.
pub struct Routes {
    app: App,
    router: Router<App>,
    list: Vec<Route>,
}

impl Routes {
    pub(super) fn new(app: App) -> Self {
        Self { app, router: Router::new(), list: Vec::new() }
    }

    /// A GET route without a key, in addition to the table.
    #[must_use]
    pub fn get<T: 'static>(self, path: &'static str, handler: impl Handler<T, App>) -> Self {
        let route = Route { method: "GET", path, admission: Admission::Public, body: BodySize::Small };
        self.mount(route, on(MethodFilter::GET, handler))
    }

    /// A route of the table. The arguments `T` of the handler must demand the admission `A`.
    #[must_use]
    pub(super) fn add<A: Admits, T: Admitted<A> + 'static>(
        self,
        (method, path, body): (Method, &'static str, BodySize),
        handler: impl Handler<T, App>,
    ) -> Self {
        let (name, filter) = match method {
            Method::POST => ("POST", MethodFilter::POST),
            Method::PUT => ("PUT", MethodFilter::PUT),
            Method::DELETE => ("DELETE", MethodFilter::DELETE),
            _ => ("GET", MethodFilter::GET),
        };
        self.mount(Route { method: name, path, admission: A::ADMISSION, body }, on(filter, handler))
    }

    fn mount(mut self, route: Route, handler: MethodRouter<App>) -> Self {
        let wrapped = middleware::around_route(handler, route.method, route.path, &self.app);
        self.router = self.router.route(route.path, wrapped);
        self.list.push(route);
        self
    }

    /// Method and path of every route.
    pub fn list(&self) -> Vec<(&'static str, &'static str)> {
        self.list.iter().map(|route| (route.method, route.path)).collect()
    }

    /// The router, with responses for unknown paths and methods, and the middleware around every request.
    pub fn finish(self) -> Router {
        let (app, paths) = (self.app, FixedPaths::new(&self.list));
        let router = self.router.fallback(no_route).method_not_allowed_fallback(no_method).with_state(app.clone());
        middleware::around_everything(router, &app, paths)
    }
}

async fn no_route() -> ApiError {
    ApiError::no_route()
}

/// axum adds the `Allow` header.
async fn no_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "This path does not take this method; the Allow header lists those it takes",
    )
}
