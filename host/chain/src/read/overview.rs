//! What is known of a chain, for people who run the server: its head, its endpoints, its prices and its index.

use super::Chain;
use crate::{prices::PriceStatus, read::ChainStatus};
use assay_evm::endpoint::EndpointStatus;
use assay_index::follow::IndexState;

/// What is known of a chain.
#[derive(Debug, Clone)]
pub struct ChainOverview {
    pub status: ChainStatus,
    /// In the order of the configuration.
    pub endpoints: Vec<EndpointStatus>,
    /// `None` before the first read.
    pub prices: Option<PriceStatus>,
    pub index: IndexState,
}

impl Chain {
    pub(crate) fn overview(&self) -> ChainOverview {
        ChainOverview {
            status: self.status(),
            endpoints: self.client.endpoints(),
            prices: self.prices.status(),
            index: self.index().borrow().clone(),
        }
    }
}
