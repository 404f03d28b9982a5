//! Positions in markets that are parts of one contract: which of them a wallet used is known once its history is read.

use tokio::time::{Instant, timeout_at};

use super::Chain;
use crate::{
    holdings::{Account, ChainState},
    prices::Quotes,
};
use assay_domain::{Address, Coverage, PoolHistory};
use assay_evm::client::Block;
use assay_lending::{AllHints, AllSums, Sums, Used};

/// The histories of a wallet, one entry per market.
pub(super) struct Histories<'a> {
    pub pools: &'a [PoolHistory],
    pub sums: &'a AllSums,
    pub hints: &'a AllHints,
}

impl Histories<'_> {
    /// What moved in a market; `None` if not all of it was read.
    fn whole(&self, index: usize) -> Option<&Sums> {
        self.pools.get(index).filter(|pool| pool.coverage == Coverage::Complete)?;
        self.sums.get(index)?.as_ref()
    }
}

impl Chain {
    /// Reads the positions in parts of markets into the account. Those that are not read by `deadline` are unread, as
    /// are those whose history is not complete. Adds the prices of their tokens to the quotes.
    pub(super) async fn read_parts(
        &self,
        wallet: Address,
        account: &mut Account,
        quotes: &mut Quotes,
        histories: &Histories<'_>,
        head: Block,
        deadline: Instant,
    ) {
        let none = Sums::default();
        for index in 0..histories.pools.len() {
            let Some(terms) = account.terms(index).cloned() else { continue };
            let sums = histories.whole(index);
            let hints = histories.hints.get(index).and_then(Option::as_deref).unwrap_or_default();
            let used = Used { sums: sums.unwrap_or(&none), hints };
            let Some(read) = terms.parts(&self.client, wallet, used, head) else { continue };
            let read = async {
                let parts = if sums.is_some() { read.await? } else { None };
                if let Some(parts) = &parts {
                    self.add_prices(parts.tokens(), quotes).await;
                }
                let state = ChainState { client: &self.client, config: &self.config, head };
                account.read_parts(wallet, index, parts, &quotes.prices, &state).await
            };
            let read = timeout_at(deadline, read).await;
            if !matches!(read, Ok(Ok(()))) {
                tracing::warn!(chain = self.id(), ?read, "a position in the markets of one contract cannot be read");
                account.forget(index);
            }
        }
    }

    /// Adds the prices of those of `tokens` that the chain's own sources do not price.
    async fn add_prices(&self, tokens: impl IntoIterator<Item = Address>, quotes: &mut Quotes) {
        let unpriced = |token: &Address| !quotes.prices.contains_key(&Some(*token));
        let configured = |token: &Address| self.config.tokens.iter().any(|known| known.address == *token);
        let tokens: Vec<_> = tokens.into_iter().filter(|token| unpriced(token) && !configured(token)).collect();
        if !tokens.is_empty() {
            let found = self.prices.found(&tokens).await;
            quotes.is_external |= !found.prices.is_empty();
            quotes.prices.extend(found.prices);
        }
    }
}
