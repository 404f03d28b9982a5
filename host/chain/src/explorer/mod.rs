//! Block explorers with the module/action API of Etherscan v2, which Blockscout also has: the lists of an address, read
//! in pages. Other modules interpret the rows.

mod answer;
mod chain_url;
mod host;
mod indexed;
mod logs;
mod pages;
mod refusal;
mod row;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use url::Url;

pub(super) use indexed::ExplorerLogs;
pub(super) use pages::ListPages;
pub(super) use refusal::ExplorerRefusal;
pub(super) use row::ExplorerRow;

use crate::config::{ChainConfig, ExplorerLimits};
use assay_domain::{Address, ChainId};
use assay_evm::endpoint::Http;
use host::ExplorerHost;

/// Pause after an explorer refused a chain that its plan does not include.
const DENIED_PAUSE: Duration = Duration::from_secs(600);

/// The lists that an explorer has of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExplorerList {
    /// Transactions from and to the address. Internal transactions are in a separate list, which is not read: they do
    /// not show when and with whom the address acted.
    Transactions,
    /// ERC-20 transfers.
    Transfers,
    /// ERC-721 transfers.
    Collectibles,
    /// ERC-1155 transfers.
    Multi,
}

impl ExplorerList {
    pub(super) const ALL: [Self; 4] = [Self::Transactions, Self::Transfers, Self::Collectibles, Self::Multi];
    /// The lists of token transfers.
    pub(super) const TOKENS: [Self; 3] = [Self::Transfers, Self::Collectibles, Self::Multi];

    fn action(self) -> &'static str {
        match self {
            Self::Transactions => "txlist",
            Self::Transfers => "tokentx",
            Self::Collectibles => "tokennfttx",
            Self::Multi => "token1155tx",
        }
    }
}

/// The hosts of all chains' explorers, one for each key: an explorer's limits count all calls with a key.
pub(super) struct Explorers {
    http: Http,
    limits: ExplorerLimits,
    hosts: Mutex<HashMap<String, Arc<ExplorerHost>>>,
}

/// One chain's explorer.
pub(super) struct Explorer {
    chain: ChainId,
    url: Url,
    host: Arc<ExplorerHost>,
    /// The end of the pause for this chain.
    denied: Mutex<Option<(Instant, ExplorerRefusal)>>,
}

impl Explorers {
    pub(super) fn new(http: &Http, limits: &ExplorerLimits) -> Self {
        Self { http: http.clone(), limits: limits.clone(), hosts: Mutex::default() }
    }

    /// The explorer of a chain that has one.
    pub(super) fn of(&self, chain: &ChainConfig) -> Option<Explorer> {
        let url = chain_url::of_chain(Url::parse(chain.explorer.as_ref()?.expose()).ok()?, chain.id);
        let query = url.query_pairs().filter(|(name, _)| !chain_url::names_chain(name));
        let account =
            query.fold(url.authority().to_owned(), |account, (name, value)| format!("{account} {name}={value}"));
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let host = hosts
            .entry(account)
            .or_insert_with(|| Arc::new(ExplorerHost::new(self.http.clone(), &url, &self.limits)))
            .clone();
        Some(Explorer { chain: chain.id, url, host, denied: Mutex::default() })
    }
}

/// A page of the rows in some blocks.
#[derive(Debug, Clone, Copy)]
struct PageOf {
    from: u64,
    to: u64,
    /// From 1.
    number: u64,
    /// Rows of a page.
    size: u64,
}

impl Explorer {
    /// A page of a list about `of`, oldest rows first, unparsed.
    ///
    /// # Errors
    /// [`ExplorerRefusal`] after retries.
    async fn page(&self, list: ExplorerList, of: Address, page: PageOf) -> Result<Vec<Value>, ExplorerRefusal> {
        let PageOf { from, to, number, size } = page;
        let own = [("address", format!("{of:#x}")), ("startblock", from.to_string()), ("endblock", to.to_string())];
        let pages = [("page", number.to_string()), ("offset", size.to_string()), ("sort", "asc".to_owned())];
        self.list("account", list.action(), own.into_iter().chain(pages)).await
    }

    /// The rows that an action of a module lists.
    ///
    /// # Errors
    /// [`ExplorerRefusal`] after retries.
    async fn list(
        &self,
        module: &str,
        action: &str,
        parameters: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Result<Vec<Value>, ExplorerRefusal> {
        if let Some((until, refusal)) = &*self.denied.lock().unwrap_or_else(PoisonError::into_inner)
            && *until > Instant::now()
        {
            return Err(refusal.clone());
        }
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair("module", module).append_pair("action", action).extend_pairs(parameters);
        match self.host.list(url, self.chain).await {
            Ok(rows) => Ok(rows),
            Err(refusal) => {
                if let ExplorerRefusal::NotThisChain(_) = &refusal {
                    let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
                    tracing::warn!(chain = self.chain, explorer = self.host.name(), %refusal,
                        "explorer does not serve this chain; the node alone is read");
                    *denied = Some((Instant::now() + DENIED_PAUSE, refusal.clone()));
                }
                Err(refusal)
            }
        }
    }
}
