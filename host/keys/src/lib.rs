//! API keys over HTTP: minting, the list and revocation for admins, and the usage of the caller's own key. Scopes and
//! prices are in `access`.

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod bodies;
mod minting;
pub mod responses;
mod usage;

use assay_access::Access;

/// The state of the handlers of keys.
#[derive(Clone)]
pub struct KeysState {
    pub access: Access,
}

assay_http::rows! { KeysState:
    GET "/api/v2/admin/keys" Admin minting::list;
    POST "/api/v2/admin/keys" Admin minting::mint;
    PATCH "/api/v2/admin/keys/{name}" Admin minting::change;
    DELETE "/api/v2/admin/keys/{name}" Admin minting::revoke;
    GET "/api/v2/usage" Usage usage::get;
}
