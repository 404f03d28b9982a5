//! The whole URL space.

use axum::{
    Router,
    handler::Handler,
    http::StatusCode,
    routing::{MethodFilter, MethodRouter, on},
};

use super::{
    ApiError, App, admin, agents, backup, docs, identity, middleware, models, ops, report, reputation, sandbox, score,
    usage,
};

/// The one path that takes a component instead of a small body.
pub const UPLOAD: &str = "/api/v2/admin/models";

/// Every route of the service. Collection paths answer with and without the trailing slash.
pub fn routes(app: App) -> Routes {
    Routes::new(app)
        .get("/api/v2/score/address/{address}", score::get)
        .post("/api/v2/score/address/{address}", score::post)
        .get("/api/v2/score/", score::several::mean)
        .get("/api/v2/score", score::several::mean)
        .get("/api/v2/score/batch/", score::several::batch)
        .get("/api/v2/score/batch", score::several::batch)
        .get("/api/v2/score/{id}", score::provenance::mine)
        .get("/api/v2/report/address/{address}", report::get)
        .post("/api/v2/report/address/{address}", report::enhanced::post)
        .get("/api/v2/report/", report::aggregated::aggregated)
        .get("/api/v2/report", report::aggregated::aggregated)
        .get("/api/v2/report/address/{address}/chain/{chain_id}", report::chain::report)
        .get("/api/v2/report/address/{address}/chain/{chain_id}/summary", report::chain::summary)
        .get("/api/v2/report/address/{address}/total/usd", report::portfolio::portfolio)
        .get("/api/v2/report/address/{address}/total/usd/aggregate", report::portfolio::total)
        .get("/api/v2/identity/address/{address}/attestations", identity::attestations)
        .get("/api/v2/agents", agents::list)
        .get("/api/v2/agents/", agents::list)
        .get("/api/v2/agents/search", agents::search)
        .get("/api/v2/agents/search/", agents::search)
        .get("/api/v2/agents/{agent_id}", agents::get)
        .get("/api/v2/agents/{agent_id}/reputation", agents::reputation)
        .post("/api/v2/agents/{agent_id}/reputation", reputation::submit)
        .get("/api/v2/agents/{agent_id}/reputation/status/{submission_id}", reputation::status)
        .get("/api/v2/agents/{agent_id}/reputation/feedback/{submission_id}", reputation::feedback)
        .post("/api/v2/reputation/{agent_id}", reputation::submit)
        .get("/api/v2/reputation/{agent_id}/status/{submission_id}", reputation::status)
        .get("/api/v2/reputation/{agent_id}/feedback/{submission_id}", reputation::feedback)
        .get("/api/v2/sandbox/score/address/{address}", sandbox::score::get)
        .post("/api/v2/sandbox/score/address/{address}", sandbox::score::post)
        .get("/api/v2/sandbox/score/", sandbox::score::mean)
        .get("/api/v2/sandbox/score", sandbox::score::mean)
        .get("/api/v2/sandbox/score/batch/", sandbox::score::batch)
        .get("/api/v2/sandbox/score/batch", sandbox::score::batch)
        .get("/api/v2/sandbox/report/address/{address}", sandbox::report::get)
        .get("/api/v2/sandbox/report/address/{address}/total/usd", sandbox::report::total)
        .get("/api/v2/sandbox/report/address/{address}/chain/{chain_id}/total/usd", sandbox::report::chain_total)
        .get("/api/v2/models", models::list)
        .get("/api/v2/models/", models::list)
        .get("/api/v2/models/compare/address/{address}", models::compare)
        .get("/api/v2/models/{kind}/report", models::report)
        .post(UPLOAD, admin::add)
        .put("/api/v2/admin/models/{kind}/champion", admin::champion)
        .put("/api/v2/admin/models/{kind}/challengers", admin::challengers)
        .post("/api/v2/admin/models/{kind}/rollback", admin::roll_back)
        .delete("/api/v2/admin/models/{kind}/{version}", admin::remove)
        .get("/api/v2/admin/scores/{id}", score::provenance::audited)
        .get("/api/v2/admin/audit", admin::audit)
        .get("/api/v2/admin/audit/", admin::audit)
        .post("/api/v2/admin/backup", backup::make)
        .get("/api/v2/usage", usage::get)
        .get("/api/v2/usage/", usage::get)
        .get("/healthz", ops::health)
        .get("/readyz", ops::ready)
        .get("/metrics", ops::metrics)
        .get("/openapi.json", docs::openapi)
        .get("/docs", docs::moved)
        .get("/docs/", docs::index)
        .get("/docs/{*file}", docs::asset)
}

/// The service as one axum router.
pub fn router(app: App) -> Router {
    routes(app).finish()
}

/// Routes as they are collected: each gets the same steps around it, and the list of them can be compared with the
/// OpenAPI document.
pub struct Routes {
    app: App,
    router: Router<App>,
    list: Vec<(&'static str, &'static str)>,
}

impl Routes {
    fn new(app: App) -> Self {
        Self { app, router: Router::new(), list: Vec::new() }
    }

    #[must_use]
    pub fn get<T: 'static>(self, path: &'static str, handler: impl Handler<T, App>) -> Self {
        self.add("GET", path, on(MethodFilter::GET, handler))
    }

    #[must_use]
    pub fn post<T: 'static>(self, path: &'static str, handler: impl Handler<T, App>) -> Self {
        self.add("POST", path, on(MethodFilter::POST, handler))
    }

    #[must_use]
    pub fn put<T: 'static>(self, path: &'static str, handler: impl Handler<T, App>) -> Self {
        self.add("PUT", path, on(MethodFilter::PUT, handler))
    }

    #[must_use]
    pub fn delete<T: 'static>(self, path: &'static str, handler: impl Handler<T, App>) -> Self {
        self.add("DELETE", path, on(MethodFilter::DELETE, handler))
    }

    fn add(mut self, method: &'static str, path: &'static str, route: MethodRouter<App>) -> Self {
        self.list.push((method, path));
        self.router = self.router.route(path, middleware::around_route(route, method, path, &self.app));
        self
    }

    /// Method and path of every route.
    pub fn list(&self) -> &[(&'static str, &'static str)] {
        &self.list
    }

    /// With answers for what matches no route, and the steps around everything.
    pub fn finish(self) -> Router {
        let app = self.app;
        let router = self.router.fallback(no_route).method_not_allowed_fallback(no_method).with_state(app.clone());
        middleware::around_everything(router, &app)
    }
}

async fn no_route() -> ApiError {
    ApiError::no_route()
}

/// The `Allow` header is axum's.
async fn no_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "This path does not take this method; the Allow header lists those it takes",
    )
}
