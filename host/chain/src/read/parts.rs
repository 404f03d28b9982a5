//! Positions in markets that are parts of one contract: which of them a wallet used is known once its history is read.

use std::collections::BTreeSet;

use futures::{FutureExt, future::BoxFuture};
use tokio::time::Instant;

use super::Chain;
use crate::{config::ChainConfig, holdings::NATIVE_DECIMALS, prices::Quotes};
use assay_domain::{Address, Prices};
use assay_evm::client::Block;
use assay_lending::{KnownTokens, LendingRead};

/// The tokens that a chain is configured with, and those whose prices were looked up.
struct Tokens<'a> {
    chain: &'a Chain,
    quotes: &'a mut Quotes,
}

impl Chain {
    /// Reads the positions in parts of markets. Adds the prices of their tokens to the quotes.
    pub(super) async fn read_parts(
        &self,
        lending: &mut LendingRead,
        quotes: &mut Quotes,
        head: Block,
        deadline: Instant,
    ) {
        lending.read_parts(&self.client, head, deadline, &mut Tokens { chain: self, quotes }).await;
    }
}

impl KnownTokens for Tokens<'_> {
    fn decimals(&self, token: Address) -> Option<u8> {
        let ChainConfig { tokens, native, .. } = &self.chain.config;
        let configured = tokens.iter().find(|known| known.address == token).map(|known| known.decimals);
        configured.or_else(|| native.wrapped.filter(|wrapped| *wrapped == token).map(|_| NATIVE_DECIMALS))
    }

    /// Only of tokens that the chain's own sources do not price.
    fn price(&mut self, tokens: BTreeSet<Address>) -> BoxFuture<'_, ()> {
        let Self { chain, quotes } = self;
        let unpriced = |token: &Address| !quotes.prices.contains_key(&Some(*token));
        let configured = |token: &Address| chain.config.tokens.iter().any(|known| known.address == *token);
        let tokens: Vec<_> = tokens.into_iter().filter(|token| unpriced(token) && !configured(token)).collect();
        let add = async move {
            if !tokens.is_empty() {
                let found = chain.prices.found(&tokens).await;
                quotes.is_external |= !found.prices.is_empty();
                quotes.prices.extend(found.prices);
            }
        };
        add.boxed()
    }

    fn prices(&self) -> &Prices {
        &self.quotes.prices
    }
}
