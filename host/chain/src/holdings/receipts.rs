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
use assay_lending::ChainTerms;

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
    pub(super) fn new(chain: &ChainConfig, terms: Option<&ChainTerms>) -> Self {
        let known = terms.into_iter().flat_map(ChainTerms::iter).map(Option::is_some);
        let markets = chain.markets.iter().zip(known.chain(std::iter::repeat(false)));
        let unknown = markets.filter(|(_, is_known)| !is_known).map(|(market, _)| market.address).collect();
        Self { tokens: terms.into_iter().flat_map(ChainTerms::receipt_tokens).collect(), unknown }
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
