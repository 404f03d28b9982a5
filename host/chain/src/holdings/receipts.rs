//! The tokens by which lending markets record deposits and debts. They are part of a position, not a holding.

use std::collections::BTreeSet;

use alloy::sol;

use crate::config::ChainConfig;
use assay_domain::{Address, U256};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Bounds, Client},
    fault::Fault,
};
use assay_lending::AllTerms;

sol! {
    /// Implemented by aTokens and debt tokens, and by contracts that wrap one.
    function POOL() external view returns (address pool);
}

/// The tokens of all markets of a chain.
pub(super) struct Receipts {
    tokens: BTreeSet<Address>,
    /// The markets whose tokens are not known.
    unknown: BTreeSet<Address>,
}

impl Receipts {
    /// `terms` are `None` if they cannot be read.
    pub(super) fn new(chain: &ChainConfig, terms: Option<&AllTerms>) -> Self {
        let of_market = |index: usize| terms?.get(index)?.as_ref();
        let unknown = chain.markets.iter().enumerate().filter(|(index, _)| of_market(*index).is_none());
        let unknown = unknown.map(|(_, market)| market.address).collect();
        let tokens = terms.into_iter().flat_map(|terms| terms.iter().flatten()).flat_map(|terms| terms.receipts());
        Self { tokens: tokens.collect(), unknown }
    }

    pub(super) fn contains(&self, token: &Address) -> bool {
        self.tokens.contains(token)
    }

    /// Removes the tokens that may belong to a market whose tokens are not known, and returns whether there were any.
    ///
    /// # Errors
    /// [`Fault`] if the chain did not answer.
    pub(super) async fn remove_unknown(
        &self,
        client: &Client,
        held: &mut Vec<(Address, U256)>,
        head: Block,
    ) -> Result<bool, Fault> {
        if self.unknown.is_empty() || held.is_empty() {
            return Ok(false);
        }
        let calls: Vec<_> = held.iter().map(|(token, _)| (Call::new(*token, &POOLCall {}), Bounds::CONSTANT)).collect();
        let mut answers = client.stranger_calls(&calls, head.hash).await?.into_iter();
        let before = held.len();
        held.retain(|_| returned::<POOLCall>(answers.next().as_ref()).is_none_or(|pool| !self.unknown.contains(&pool)));
        Ok(held.len() < before)
    }
}
