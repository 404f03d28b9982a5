//! `/api/v2/report` and `/api/v2/identity`.

mod chain;
mod enhanced;
mod identity;
mod networks;
mod portfolio;
mod whole;

use std::sync::Arc;

use crate::ReportSource;
use assay_rollout::{Rollout, cards::Cards};

pub use networks::Networks;

/// The state of the handlers of reports.
#[derive(Clone)]
pub struct ReportRoutes {
    pub source: Arc<dyn ReportSource>,
    pub rollout: Rollout,
    pub cards: Arc<Cards>,
    pub networks: Networks,
}

assay_http::rows! { ReportRoutes:
    GET "/api/v2/report/address/{address}" Report whole::get;
    POST "/api/v2/report/address/{address}" Report enhanced::post;
    GET "/api/v2/report/" Report [several] whole::aggregated;
    GET "/api/v2/report/address/{address}/chain/{chain_id}" Report chain::report;
    GET "/api/v2/report/address/{address}/chain/{chain_id}/summary" Report chain::summary;
    GET "/api/v2/report/address/{address}/total/usd" Report portfolio::portfolio;
    GET "/api/v2/report/address/{address}/total/usd/aggregate" Report portfolio::total;
    GET "/api/v2/identity/address/{address}/attestations" Report identity::attestations;
}
