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

use crate::{
    ApiError, Gate, middleware,
    route::{Admission, Route},
};

/// A route with its handler.
pub struct Row {
    pub route: Route,
    handler: MethodRouter,
}

impl Row {
    pub fn new<S, T>(route: Route, handler: impl Handler<T, S>, state: &S) -> Self
    where
        S: Clone + Send + Sync + 'static,
        T: 'static,
    {
        let method = match route.method {
            "POST" => MethodFilter::POST,
            "PUT" => MethodFilter::PUT,
            "PATCH" => MethodFilter::PATCH,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        Self { route, handler: on(method, handler).with_state(state.clone()) }
    }

    /// A page, or another GET route without a key that the document of the API does not have.
    pub fn page<S, T>(path: &'static str, handler: impl Handler<T, S>, state: &S) -> Self
    where
        S: Clone + Send + Sync + 'static,
        T: 'static,
    {
        Self::new(Route::new("GET", path, Admission::Public), handler, state)
    }

    /// The same, which pages of every origin may read.
    #[must_use]
    pub fn open(self) -> Self {
        Self { route: self.route.open(), ..self }
    }
}

/// Declares the handlers of a crate: its `routes`, and their `operations` in the document. A row is: method, path,
/// admission, what is special about its route, handler, and a separate operation id if the handler has a second path.
#[macro_export]
macro_rules! rows {
    (
        $state:ty:
        $($method:ident $path:literal $admission:ident $([$($special:ident)+])? $($handler:ident)::+
          $(as $id:literal)?;)*
    ) => {
        /// The routes of this crate.
        pub fn routes(state: &$state) -> Vec<$crate::Row> {
            vec![$({
                let route = $crate::Route::new(stringify!($method), $path, $crate::admission!($admission));
                $crate::Row::new(route$($(.$special())+)?, $($handler)::+, state)
            }),*]
        }

        /// The operations of these routes in the document.
        pub fn operations() -> Vec<$crate::Operation> {
            vec![$({
                #[derive(utoipa::OpenApi)]
                #[openapi(paths($($handler)::+))]
                struct Handler;
                $crate::Operation {
                    method: $crate::Method::$method,
                    path: $path,
                    admission: $crate::admission!($admission),
                    id: None$(.or(Some($id)))?,
                    handler: <Handler as utoipa::OpenApi>::openapi(),
                }
            }),*]
        }
    };
}

/// The admission of a row by its name: `Operation`, `Public`, or a price class.
#[macro_export]
macro_rules! admission {
    (Operation) => {
        $crate::Admission::Operation
    };
    (Public) => {
        $crate::Admission::Public
    };
    ($price:ident) => {
        $crate::Admission::Priced($crate::PriceClass::$price)
    };
}

/// The router of these rows, with responses for unknown paths and methods, and the middleware around every request.
/// Every route answers with and without a slash at the end of its path, unless the other path is a separate route.
pub fn router(gate: &Gate, rows: Vec<Row>) -> Router {
    let paths: BTreeSet<&str> = rows.iter().map(|row| row.route.path).collect();
    let (mut router, mut of_paths) = (Router::new(), BTreeMap::<String, Vec<Route>>::new());
    for Row { route, handler } in rows {
        let handler = middleware::around_route(handler, route, gate);
        let other = route.other_path().filter(|other| !paths.contains(other.as_str()));
        for path in other.into_iter().chain([route.path.to_owned()]) {
            router = router.route(&path, handler.clone());
            of_paths.entry(path).or_default().push(route);
        }
    }
    for (path, routes) in of_paths {
        router = router.route(&path, preflight(gate, routes.into()));
    }
    let unmatched = |handler: MethodRouter| middleware::admitted(handler, Route::NONE, gate);
    let router = router.fallback(unmatched(any(no_route))).method_not_allowed_fallback(unmatched(any(no_method)));
    middleware::around_everything(router, gate)
}

/// Answers OPTIONS for the routes of one path.
fn preflight(gate: &Gate, routes: Arc<[Route]>) -> MethodRouter {
    let answer =
        async move |State(gate): State<Gate>, headers: HeaderMap| middleware::preflight(&gate, &routes, &headers);
    on(MethodFilter::OPTIONS, answer).with_state(gate.clone())
}

async fn no_route() -> ApiError {
    ApiError::no_route()
}

/// axum adds the `Allow` header.
async fn no_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "This path does not support this method; the Allow header lists the methods that it supports",
    )
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, extract::Request};
    use tower::ServiceExt as _;

    use super::*;
    use crate::{Components, extract::Upload};
    use assay_access::{Access, PriceClass};
    use assay_store::Store;

    #[tokio::test]
    async fn the_row_of_a_route_decides_who_may_call_it_and_how_much_he_may_send() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&assay_store::config::Store::embedded(folder.path().join("store"))).await.unwrap();
        let defaults: toml::Table = toml::from_str(include_str!("../../server/src/config/defaults.toml")).unwrap();
        let access: assay_access::config::Access<toml::Value> = defaults["access"].clone().try_into().unwrap();
        let needs_large = |_: &str, most| ApiError::too_large(most);
        let components = Components { largest: 16 << 20, large: 64 << 20, needs_large };
        let http = defaults["http"].clone().try_into().unwrap();
        let gate = Gate::new(&http, components, Access::new(&access, store), false);
        let most = gate.limits.body as usize;
        let length = async |Upload(bytes): Upload| bytes.len().to_string();
        let public = |path| Route::new("POST", path, Admission::Public);
        let rows = vec![
            Row::new(Route::new("POST", "/admin/{id}", Admission::Priced(PriceClass::Admin)), async || "never", &()),
            Row::new(public("/small/{id}"), length, &()),
            Row::new(public("/large/{id}").component(), length, &()),
        ];
        let router = router(&gate, rows);
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
