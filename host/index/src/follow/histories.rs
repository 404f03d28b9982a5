//! The index as the source of a wallet's lending history.

use futures::{FutureExt, future::BoxFuture};
use tokio::task::spawn_blocking;

use super::{asked::IndexRequests, state::FollowState};
use crate::{History, Index};
use assay_domain::{Address, ChainId};
use assay_evm::Block;
use assay_lending::{Indexed, IndexedMarket};

impl assay_lending::Index for FollowState {
    fn is_ready(&self) -> bool {
        self.is_in_step()
    }

    fn history(&self, wallet: Address, least: u64) -> BoxFuture<'static, Option<Indexed>> {
        let ready = self.through().is_some_and(|through| through >= least);
        let index = self.index.get().filter(|_| ready).cloned();
        let (chain, end) = (self.chain, self.end());
        async move { Some(ended(read(index?, chain, wallet).await?, end)) }.boxed()
    }
}

async fn read(index: Index, chain: ChainId, wallet: Address) -> Option<Indexed> {
    match spawn_blocking(move || index.history(chain, wallet)).await {
        Ok(Ok(history)) => indexed(history?),
        Ok(Err(error)) => {
            tracing::warn!(chain, %error, "the market index cannot be read; the history is read from the node");
            None
        }
        Err(error) => {
            tracing::error!(chain, %error, "the market index cannot be read");
            None
        }
    }
}

/// What the index had through block `end`.
fn ended(mut indexed: Indexed, end: Option<Block>) -> Indexed {
    if let Some(end) = end.filter(|end| end.number < indexed.through) {
        (indexed.through, indexed.hash) = (end.number, end.hash);
        for market in &mut indexed.markets {
            market.entries.retain(|entry| entry.block <= end.number);
        }
    }
    indexed
}

fn indexed(History { progress, entries }: History) -> Option<Indexed> {
    let through = progress.through()?;
    let asked = IndexRequests::read(&progress.asked, progress.markets.len())?;
    let markets = progress.markets.iter().zip(asked.markets).zip(entries);
    let markets = markets.map(|((market, asked), entries)| IndexedMarket {
        address: market.address,
        from: market.from,
        asked,
        entries,
    });
    let is_checked = progress.checked.unchecked == 0;
    Some(Indexed { through: through.number, hash: through.hash, is_checked, markets: markets.collect() })
}
