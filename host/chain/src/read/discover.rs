//! The tokens and transfers of a wallet that an explorer or the node's logs list, the listed tokens that it still
//! holds, and their prices.

use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use super::{Chain, plan::ReadPlan};
use crate::{
    activity::{Histories, Listed, records::ActivityProgress},
    holdings::{Finder, FoundTokens},
    prices::FoundPrices,
};
use assay_domain::{Address, Origin, Prices};
use assay_evm::client::Block;
use assay_lending::{Rest, SharedTerms};

/// The source of a chain that has one.
pub(super) struct Discovery {
    pub histories: Histories,
    pub finder: Finder,
}

/// The input of a discovery.
pub(super) struct DiscoveryQuestion<'a> {
    pub wallet: Address,
    pub plan: &'a ReadPlan,
    pub terms: SharedTerms,
    pub head: Block,
    pub deadline: Instant,
}

/// The listed tokens and transfers of a wallet, and the tokens that it holds.
pub(super) struct Discovered {
    pub listed: Listed,
    pub found: FoundTokens,
    pub prices: FoundPrices,
    pub from: Origin,
}

impl Chain {
    /// Whether an explorer lists the transactions of this chain.
    pub(super) fn has_list(&self) -> bool {
        self.discovery.as_ref().is_some_and(|discovery| discovery.histories.lists_transactions())
    }

    /// `None` for a chain without a source. The rest is the listing, if it continues after the deadline. `sent` gets
    /// the number of transactions sent, if all are listed.
    pub(super) async fn discover(
        &self,
        stored: ActivityProgress,
        question: DiscoveryQuestion<'_>,
        sent: oneshot::Sender<Option<u64>>,
    ) -> (Option<Discovered>, Option<Rest>) {
        let DiscoveryQuestion { wallet, plan, terms, head, deadline } = question;
        let Some(Discovery { histories, finder }) = &self.discovery else { return (None, None) };
        // The last quarter of the time is for looking up the listed tokens.
        let listing_deadline = deadline - deadline.saturating_duration_since(Instant::now()) / 4;
        let (listed, rest) = histories.read(wallet, stored, plan.listed_anchor(), head, listing_deadline).await;
        // The receiver may be gone.
        let _ = sent.send(listed.sent());
        let find = async { finder.find(wallet, &listed.progress, terms.await.ok(), head).await };
        let found = match timeout_at(deadline, find).await {
            Ok(Ok(found)) => found,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.config.id, %fault, "listed tokens cannot be looked up");
                FoundTokens::default()
            }
            Err(_) => FoundTokens::default(),
        };
        let tokens = found.to_price();
        let prices = match tokens.is_empty() {
            true => FoundPrices::default(),
            false => timeout_at(deadline, self.prices.found(&tokens))
                .await
                .unwrap_or_else(|_| FoundPrices { prices: Prices::new(), lacking: tokens.into_iter().collect() }),
        };
        let from = if histories.lists_transactions() { Origin::Explorer } else { Origin::Chain };
        (Some(Discovered { listed, found, prices, from }), rest)
    }
}
