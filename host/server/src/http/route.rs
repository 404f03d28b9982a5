//! One route as data, and the lookup of a route before the router runs.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::Request,
    http::uri::{PathAndQuery, Uri},
};

use super::state::Limits;
use crate::access::Price;

/// A route without its handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    /// As the router, the metrics and the OpenAPI document write it.
    pub path: &'static str,
    pub admission: Admission,
    pub body: BodySize,
}

/// What a route demands of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A key, or a payment, at this price.
    Priced(Price),
    /// No key; requests count against the rate of their address.
    Public,
    /// No key and no rate: the operator's tools call it, also while the server is overloaded.
    Operation,
}

/// The size limit of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodySize {
    /// `http.max_body_bytes`.
    Small,
    /// `models.max_component_bytes`.
    Component,
}

impl BodySize {
    pub fn limit(self, limits: &Limits) -> BodyLimit {
        match self {
            Self::Small => BodyLimit { most: limits.body, with_large: limits.body },
            Self::Component => BodyLimit { most: limits.component, with_large: limits.large_component },
        }
    }
}

/// The size limit of the body of one request, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit {
    pub most: u64,
    /// The same on a server that takes large models.
    pub with_large: u64,
}

/// The routes without path parameters. Every route answers with and without a slash at the end of its path: before the
/// router runs, a request for the other form is given the path of its route. No path ends with a parameter and a slash,
/// so that a path which is none of these loses the slash at its end.
#[derive(Clone)]
pub struct FixedPaths(Arc<HashMap<String, Route>>);

impl FixedPaths {
    pub fn new(routes: &[Route]) -> Self {
        let fixed = || routes.iter().filter(|route| !route.path.contains('{'));
        let mut by_path: HashMap<String, Route> = fixed().map(|route| (other_form(route.path), *route)).collect();
        // `/docs` and `/docs/` are two routes: a path of its own has precedence.
        by_path.extend(fixed().map(|route| (route.path.to_owned(), *route)));
        Self(Arc::new(by_path))
    }

    /// Gives `request` its route as an extension, and the path of that route.
    pub fn resolve(&self, mut request: Request) -> Request {
        let path = request.uri().path();
        let route = self.0.get(path).copied();
        let own = route.map_or_else(|| without_slash(path), |route| route.path);
        if own != path
            && let Some(uri) = with_path(request.uri(), own)
        {
            *request.uri_mut() = uri;
        }
        if let Some(route) = route {
            request.extensions_mut().insert(route);
        }
        request
    }
}

/// `path` with a slash at its end where it has none, and without it where it has one.
fn other_form(path: &str) -> String {
    path.strip_suffix('/').map_or_else(|| format!("{path}/"), str::to_owned)
}

/// `path` without the one slash at its end.
fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').filter(|path| !path.is_empty() && !path.ends_with('/')).unwrap_or(path)
}

fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path_and_query = PathAndQuery::try_from(format!("{path}{query}")).ok()?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path_and_query);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_path_answers_with_and_without_a_slash() {
        let route = |path| Route { method: "GET", path, admission: Admission::Public, body: BodySize::Small };
        let paths =
            FixedPaths::new(&[route("/list/"), route("/one"), route("/docs"), route("/docs/"), route("/a/{b}")]);
        let resolved = |uri: &str| {
            let request = paths.resolve(Request::builder().uri(uri).body(Body::empty()).unwrap());
            let known = request.extensions().get::<Route>().map(|route| route.path);
            (request.uri().to_string(), known)
        };
        for (uri, expected, path) in [
            ("/list?a=%2C&b", "/list/?a=%2C&b", Some("/list/")),
            ("/list/?a", "/list/?a", Some("/list/")),
            ("/one/", "/one", Some("/one")),
            ("/docs", "/docs", Some("/docs")),
            ("/docs/", "/docs/", Some("/docs/")),
            ("/one//", "/one//", None),
            ("/a/b", "/a/b", None),
            ("/a/b/?c=/", "/a/b?c=/", None),
            ("/a/b//", "/a/b//", None),
            ("/", "/", None),
        ] {
            assert_eq!(resolved(uri), (expected.to_owned(), path), "{uri}");
        }
    }
}
