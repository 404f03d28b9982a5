//! `/api/v2/models` and `/api/v2/admin/models`.

mod admin;
mod check;
mod dossier;
mod drift;
mod models;
mod split;

use std::sync::Arc;

use assay_access::Access;
use assay_domain::Secret;

use crate::{InputDrift, Rollout, cards::Cards, outcomes::Outcomes};

/// The state of the handlers of models.
#[derive(Clone)]
pub struct RolloutRoutes {
    pub rollout: Rollout,
    pub cards: Arc<Cards>,
    /// The outcomes of the scored wallets.
    pub outcomes: Outcomes,
    pub drift: InputDrift,
    /// The keys, whose names the live split has.
    pub access: Access,
    /// Signs validation packs; absent when not configured.
    pub signer: Option<Secret>,
    /// Whether anyone with a key may download the models.
    pub public_models: bool,
}

assay_http::rows! { RolloutRoutes:
    GET "/api/v2/models" Models models::list;
    GET "/api/v2/models/{kind}/report" Models models::report;
    GET "/api/v2/models/{kind}/{version}/card" Models models::card;
    GET "/api/v2/models/{kind}/{version}/component" Status models::component;
    GET "/api/v2/admin/models/{kind}/{version}/dossier" Admin dossier::get;
    POST "/api/v2/admin/models" Admin [component] admin::add;
    POST "/api/v2/admin/models/check" Admin [component] check::check;
    GET "/api/v2/admin/models/outcomes" Admin models::outcomes;
    GET "/api/v2/admin/models/drift" Admin drift::get;
    PUT "/api/v2/admin/models/{kind}/champion" Admin admin::champion;
    PUT "/api/v2/admin/models/{kind}/challengers" Admin admin::challengers;
    GET "/api/v2/admin/models/{kind}/split" Admin split::get;
    PUT "/api/v2/admin/models/{kind}/split" Admin split::put;
    POST "/api/v2/admin/models/{kind}/rollback" Admin admin::roll_back;
    DELETE "/api/v2/admin/models/{kind}/{version}" Admin admin::remove;
    GET "/api/v2/admin/audit" Admin admin::audit;
}
