//! The chains that reports name, those that this server answers about, and the lending protocols that it does not read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_chain::{config::NotCovered, known};
use assay_domain::ChainId;
use assay_http::ApiError;
use axum::http::StatusCode;

use crate::Contents;

/// The chains of a server. Cheap to clone.
#[derive(Clone)]
pub struct Networks {
    inner: Arc<NetworkTable>,
}

struct NetworkTable {
    names: BTreeMap<ChainId, String>,
    /// `None` for a server that answers about every chain with a name.
    configured: Option<BTreeSet<ChainId>>,
    not_covered: Vec<NotCovered>,
}

impl Networks {
    /// The chains of the contract and of the configuration; only the latter are answered about.
    pub fn new(configured: BTreeMap<ChainId, String>, not_covered: Vec<NotCovered>) -> Self {
        let ids = configured.keys().copied().collect();
        Self::of(configured, Some(ids), not_covered)
    }

    /// The same, for a server that answers about each of them.
    pub fn all(configured: BTreeMap<ChainId, String>, not_covered: Vec<NotCovered>) -> Self {
        Self::of(configured, None, not_covered)
    }

    fn of(
        names: BTreeMap<ChainId, String>,
        configured: Option<BTreeSet<ChainId>>,
        not_covered: Vec<NotCovered>,
    ) -> Self {
        let names = known::names().chain(names).collect();
        Self { inner: Arc::new(NetworkTable { names, configured, not_covered }) }
    }

    /// `None` for a chain that is neither in the contract nor in the configuration.
    pub fn name(&self, id: ChainId) -> Option<&str> {
        self.inner.names.get(&id).map(String::as_str)
    }

    /// The name of a chain, or a name made of its id.
    pub fn label(&self, id: ChainId) -> String {
        self.name(id).map_or_else(|| format!("Chain {id}"), str::to_owned)
    }

    /// # Errors
    /// 502 for a chain that the API defines and this server has not configured.
    pub fn require(&self, id: ChainId) -> Result<(), ApiError> {
        if self.inner.configured.as_ref().is_none_or(|configured| configured.contains(&id)) {
            return Ok(());
        }
        let detail = format!("Chain {id} is not configured on this server; its operator can add it");
        Err(ApiError::coded(StatusCode::BAD_GATEWAY, "chain_not_configured", detail))
    }

    /// The lending protocols whose history a report does not have.
    pub fn not_covered(&self, contents: &Contents) -> Vec<String> {
        let of_config = self.inner.not_covered.iter().filter_map(|lender| lender.on(&contents.read_on));
        contents.without_pool().map(str::to_owned).chain(of_config.map(str::to_owned)).collect()
    }
}
