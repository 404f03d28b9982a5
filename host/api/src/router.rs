//! Builds the axum router from routes and their handlers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::{
    Router,
    extract::State,
    handler::Handler,
    http::{HeaderMap, StatusCode},
    routing::{MethodFilter, MethodRouter, any, on},
};

use super::{
    ApiError, App, middleware,
    route::{Admission, Route},
};

/// Routes as they are collected.
pub struct Routes {
    app: App,
    routes: Vec<(Route, MethodRouter<App>)>,
}

impl Routes {
    pub(super) fn new(app: App) -> Self {
        Self { app, routes: Vec::new() }
    }

    /// A GET route without a key, in addition to the table.
    #[must_use]
    pub fn get<T: 'static>(self, path: &'static str, handler: impl Handler<T, App>) -> Self {
        self.add(Route::new("GET", path, Admission::Public), handler)
    }

    #[must_use]
    pub(super) fn add<T: 'static>(mut self, route: Route, handler: impl Handler<T, App>) -> Self {
        let method = match route.method {
            "POST" => MethodFilter::POST,
            "PUT" => MethodFilter::PUT,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        let handler = middleware::around_route(on(method, handler), route, &self.app);
        self.routes.push((route, handler));
        self
    }

    /// Method and path of every route.
    pub fn list(&self) -> Vec<(&'static str, &'static str)> {
        self.routes.iter().map(|(route, _)| (route.method, route.path)).collect()
    }

    /// The router, with responses for unknown paths and methods, and the middleware around every request. Every route
    /// answers with and without a slash at the end of its path, unless the other path is a route of its own.
    pub fn finish(self) -> Router {
        let Self { app, routes } = self;
        let paths: BTreeSet<&str> = routes.iter().map(|(route, _)| route.path).collect();
        let (mut router, mut of_paths) = (Router::new(), BTreeMap::<String, Vec<Route>>::new());
        for (route, handler) in routes {
            let other = route.other_path().filter(|other| !paths.contains(other.as_str()));
            for path in other.into_iter().chain([route.path.to_owned()]) {
                router = router.route(&path, handler.clone());
                of_paths.entry(path).or_default().push(route);
            }
        }
        for (path, routes) in of_paths {
            router = router.route(&path, preflight(routes.into()));
        }
        let unmatched = |handler: MethodRouter<App>| middleware::admitted(handler, Route::NONE, &app);
        let router = router
            .fallback(unmatched(any(no_route)))
            .method_not_allowed_fallback(unmatched(any(no_method)))
            .with_state(app.clone());
        middleware::around_everything(router, &app)
    }
}

/// Answers OPTIONS for the routes of one path.
fn preflight(routes: Arc<[Route]>) -> MethodRouter<App> {
    let answer = async move |State(app): State<App>, headers: HeaderMap| middleware::preflight(&app, &routes, &headers);
    on(MethodFilter::OPTIONS, answer)
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

#[cfg(test)]
mod tests {
    use axum::{body::Body, extract::Request};
    use tower::ServiceExt as _;

    use super::*;
    use crate::extract::Upload;
    use crate::sample::Sample;
    use assay_access::PriceClass;

    #[tokio::test]
    async fn the_row_of_a_route_decides_who_may_call_it_and_how_much_he_may_send() {
        let sample = Sample::new().await;
        let most = sample.app.limits.body as usize;
        let length = async |Upload(bytes): Upload| bytes.len().to_string();
        let public = |path| Route::new("POST", path, Admission::Public);
        let router = Routes::new(sample.app.clone())
            .add(Route::new("POST", "/admin/{id}", Admission::Priced(PriceClass::Admin)), async || "never")
            .add(public("/small/{id}"), length)
            .add(public("/large/{id}").component(), length)
            .finish();
        for (path, bytes, status) in [
            ("/admin/1", 0, 401),
            ("/small/1", most, 200),
            ("/small/1", most + 1, 413),
            ("/small/1/", most + 1, 413),
            ("/large/1", most + 1, 200),
            ("/large/1/", most + 1, 200),
            ("/none/1", most + 1, 413),
            ("/none/1", most, 404),
        ] {
            let request = Request::post(path).header("content-length", bytes).body(Body::from(vec![b'1'; bytes]));
            let response = router.clone().oneshot(request.unwrap()).await.unwrap();
            assert_eq!(response.status(), status, "{path} {bytes}");
        }
    }

    #[test]
    fn the_other_path_of_a_route() {
        for (path, other) in [
            ("/list/", Some("/list")),
            ("/one", Some("/one/")),
            ("/a/{b}", Some("/a/{b}/")),
            ("/docs/{*file}", None),
            ("/", None),
        ] {
            assert_eq!(Route::new("GET", path, Admission::Public).other_path().as_deref(), other, "{path}");
        }
    }
}
