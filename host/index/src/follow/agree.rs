//! Whether the index still agrees with the chain and with the configured markets: blocks that the chain replaced are
//! removed, and an index of other markets or contracts is rebuilt.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;

use super::{
    asked::IndexRequests,
    indexer::{Indexer, Trouble},
};
use crate::{Checkpoint, Index, IndexError, IndexProgress, IndexedMarket};
use assay_domain::Address;
use assay_evm::{Fault, client::pinned};
use assay_lending::Scan;

/// Looks for a checkpoint before new contracts, each twice as far back as the one before.
const LOOKS: u32 = 7;

/// An index with what it is gone on with.
pub(super) struct Agreed {
    pub scan: Arc<Scan>,
    pub progress: IndexProgress,
}

impl Indexer {
    /// The index of this chain, begun if there is none, and without blocks that were replaced. `scan` has every
    /// contract that the markets listed through the block `listed`.
    pub(super) async fn agree(&self, index: &Index, scan: Scan, listed: u64) -> Result<Agreed, Trouble> {
        let progress = match self.with(index, |index, chain| index.progress(chain)).await? {
            None => self.begin(index, &scan).await?,
            Some(progress) if self.answers(&progress, &scan) => progress,
            Some(progress) => self.asked_otherwise(index, progress, &scan).await?,
        };
        let progress = match progress.listed < listed {
            true => self.with(index, move |index, chain| index.list(chain, listed)).await?,
            false => progress,
        };
        let progress = self.still_there(index, progress).await?;
        Ok(Agreed { scan: Arc::new(scan), progress })
    }

    async fn begin(&self, index: &Index, scan: &Scan) -> Result<IndexProgress, Trouble> {
        let places: Vec<usize> = (0..self.markets.len()).filter(|place| scan.reads(*place)).collect();
        let configs = places.iter().filter_map(|place| self.markets.get(*place)).map(|market| &market.config);
        let markets: Vec<_> = configs
            .map(|config| IndexedMarket { protocol: config.protocol, address: config.address, from: config.from_block })
            .collect();
        let asked = IndexRequests::of(scan, &places).bytes();
        self.with(index, move |index, chain| index.begin(chain, &markets, &asked)).await
    }

    /// Whether the index has what `scan` reads, all of it and no more.
    fn answers(&self, progress: &IndexProgress, scan: &Scan) -> bool {
        let asked = self.places(progress, scan).map(|places| IndexRequests::of(scan, &places).bytes());
        asked.is_some_and(|asked| asked == progress.asked)
    }

    /// The places of the index's markets among those of the chain; `None` if they are not those that `scan`
    /// reads, or one was not read from its first block.
    fn places(&self, progress: &IndexProgress, scan: &Scan) -> Option<Vec<usize>> {
        let place = |known: &IndexedMarket| {
            let is_it = |place: &usize| {
                let config = self.markets.get(*place).map(|market| &market.config);
                config.is_some_and(|config| is_read_as(known, config)) && scan.reads(*place)
            };
            (0..self.markets.len()).find(is_it)
        };
        let places: Vec<usize> = progress.markets.iter().map(place).collect::<Option<_>>()?;
        let read = (0..self.markets.len()).filter(|place| scan.reads(*place)).count();
        (places.len() == read).then_some(places)
    }

    /// An index of which something else was asked. If only contracts were added that did not exist at its end, or at
    /// an earlier checkpoint, it is gone on with there. Otherwise the chain is read again.
    async fn asked_otherwise(
        &self,
        index: &Index,
        progress: IndexProgress,
        scan: &Scan,
    ) -> Result<IndexProgress, Trouble> {
        if let Some((asked, added)) = self.added(&progress, scan)
            && let Some(before) = self.before(&progress, &added, scan).await?
        {
            tracing::info!(
                chain = self.chain,
                contracts = added.len(),
                block = before.number,
                "markets have new contracts; the market index goes on with them from this block"
            );
            let asked = asked.bytes();
            return self
                .with(index, move |index, chain| {
                    index.truncate(chain, before.number)?;
                    index.widen(chain, &progress.markets, &asked, Vec::new())
                })
                .await;
        }
        tracing::warn!(
            chain = self.chain,
            "the market index has other markets or contracts than are configured now; the chain is read again"
        );
        self.state.set(|state| (state.through, state.hash) = (None, None));
        self.with(index, |index, chain| index.forget(chain)).await?;
        self.begin(index, scan).await
    }

    /// What is asked now and the contracts that are new in it, if everything else is as it was.
    fn added(&self, progress: &IndexProgress, scan: &Scan) -> Option<(IndexRequests, BTreeSet<Address>)> {
        let places = self.places(progress, scan)?;
        let (old, new) = (IndexRequests::read(&progress.asked, places.len())?, IndexRequests::of(scan, &places));
        let added: BTreeSet<Address> = new.contracts.difference(&old.contracts).copied().collect();
        let without = IndexRequests::of(&scan.without(&added), &places);
        (without == old).then_some((new, added))
    }

    /// The newest checkpoint at which none of `contracts` existed, by the state of that block. If the endpoint does not
    /// keep it, and the terms list each new contract at once, the newest one at which no earlier list had them.
    async fn before(
        &self,
        progress: &IndexProgress,
        contracts: &BTreeSet<Address>,
        scan: &Scan,
    ) -> Result<Option<Checkpoint>, Fault> {
        for look in 0..LOOKS {
            let back = (1_usize << look) - 1;
            let Some(checkpoint) = progress.checkpoints.iter().rev().nth(back) else { return Ok(None) };
            let code = |contract: &Address| ("eth_getCode", json!([contract, pinned(checkpoint.hash)]));
            self.budget.spend(1).await;
            let answers = self.client.batch(contracts.iter().map(code).collect()).await?;
            let answers: Result<Vec<_>, Fault> = answers.into_iter().collect();
            match answers {
                Ok(codes) if codes.iter().all(|code| code == "0x") => return Ok(Some(*checkpoint)),
                Ok(_) => {}
                Err(Fault::NoState | Fault::UnknownBlock | Fault::Refused { .. }) => {
                    return Ok(progress.before(progress.listed).filter(|_| scan.lists_new(contracts)));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(None)
    }

    /// The index through the last of its blocks that the chain still has.
    async fn still_there(&self, index: &Index, progress: IndexProgress) -> Result<IndexProgress, Trouble> {
        let Some(through) = progress.through() else { return Ok(progress) };
        self.budget.spend(1).await;
        if self.has(&[through]).await? == [true] {
            return Ok(progress);
        }
        let there = self.has(&progress.checkpoints).await?;
        let last = there.iter().rposition(|there| *there).and_then(|last| progress.checkpoints.get(last)).copied();
        tracing::warn!(
            chain = self.chain,
            block = through.number,
            back_to = last.map(|last| last.number),
            "the chain was replaced below its finality; the market index goes back and reads it again"
        );
        self.state.set(|state| {
            (state.through, state.hash) = (last.map(|last| last.number), last.map(|last| last.hash));
        });
        let back_to = last.map_or(0, |last| last.number);
        self.with(index, move |index, chain| {
            index.truncate(chain, back_to)?;
            index.progress(chain)?.ok_or(IndexError::Unknown(chain))
        })
        .await
    }

    /// Whether the chain has each of these blocks. An error if a block is missing altogether: the endpoint is behind.
    async fn has(&self, checkpoints: &[Checkpoint]) -> Result<Vec<bool>, Fault> {
        let numbers: Vec<u64> = checkpoints.iter().map(|checkpoint| checkpoint.number).collect();
        let blocks = self.client.blocks(&numbers).await?;
        let has = |(checkpoint, block): (&Checkpoint, Option<assay_evm::Block>)| match block {
            Some(block) => Ok(block.hash == checkpoint.hash),
            None => Err(Fault::Malformed(format!("no block {}", checkpoint.number))),
        };
        checkpoints.iter().zip(blocks).map(has).collect()
    }
}

fn is_read_as(known: &IndexedMarket, config: &assay_lending::config::MarketConfig) -> bool {
    known.address == config.address && known.protocol == config.protocol && known.from <= config.from_block
}
