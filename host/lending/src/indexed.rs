//! Histories that begin with what an index of all wallets has: its entries are counted as if the logs through its last
//! block had just been fetched, and the read goes on after that block.

use std::{fmt::Debug, sync::Arc};

use futures::future::BoxFuture;

use crate::{
    entries::Entry,
    events::Extract,
    everyone::{Everyone, asked},
    hints::{AllHints, Hint},
    market::Market,
    pass::Pass,
    plan::Plan,
    reader::Reader,
    records::Settled,
};
use assay_domain::{Address, B256};
use assay_evm::{Block, Fault};

/// The markets of one chain, read for all wallets.
pub trait Index: Debug + Send + Sync {
    /// What it has of `wallet`; `None` where it has nothing now, or ends before block `least`.
    fn history(&self, wallet: Address, least: u64) -> BoxFuture<'static, Option<Indexed>>;
}

/// What an index has of one wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// Its last block, which was final when it was read.
    pub through: u64,
    pub hash: B256,
    pub markets: Vec<IndexedMarket>,
}

/// All entries of one wallet in one market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedMarket {
    pub address: Address,
    /// The block at which the reading of the market began.
    pub from: u64,
    /// The digest of what was asked, by [`Everyone::asked`].
    pub asked: B256,
    pub entries: Vec<Entry>,
}

impl Reader {
    /// What the index has of `wallet`, where one of its `records` is missing or ends well before the index does.
    pub(super) async fn indexed(&self, wallet: Address, records: &[Option<Settled>]) -> Option<Indexed> {
        let index = self.index.as_ref()?;
        let known = records.iter().map(|record| record.as_ref().map(|record| record.through));
        let least = known.min()?.map_or(0, |through| through.saturating_add(self.finality));
        let is_wallet = Everyone::is_wallet(&self.markets, wallet);
        if is_wallet { index.history(wallet, least).await } else { None }
    }

    /// `records` with those of the markets whose history can begin with `indexed`. `doubted` markets are read from the
    /// node.
    ///
    /// # Errors
    /// [`Fault`] where old state that explains the entries cannot be read.
    pub(super) async fn begun(
        &self,
        wallet: Address,
        mut records: Vec<Option<Settled>>,
        indexed: &Indexed,
        hints: &AllHints,
        doubted: &[usize],
    ) -> Result<Vec<Option<Settled>>, Fault> {
        let (mut found, mut serving) = (Extract::default(), vec![None; self.markets.len()]);
        let markets = self.markets.iter().zip(hints.iter()).zip(records.iter_mut()).zip(&mut serving);
        for (index, (((market, hints), record), serves)) in markets.enumerate() {
            let Some(hints) = hints.as_ref().filter(|_| !doubted.contains(&index)) else { continue };
            if let Some(part) = indexed.of(market, hints).filter(|_| self.is_behind(record.as_ref(), indexed)) {
                // A record without amounts would be read again.
                *record = record.take().filter(|record| record.sums.is_some() || !market.protocol.adds_up(hints));
                found.add_entries(index, &part.entries);
                *serves = Some(hints.clone());
            }
        }
        if serving.iter().all(Option::is_none) {
            return Ok(records);
        }
        metrics::counter!("assay_index_histories_total", "chain" => self.chain.to_string()).increment(1);
        let through = Block { number: indexed.through, hash: indexed.hash, time: 0 };
        let plan = Plan::tail(&self.markets, Arc::from(serving), wallet);
        Pass::new(self, plan, records, &[], through, Some(through)).counted(found, through.number).await
    }

    /// Whether a record ends so far before `indexed` that the index saves queries.
    fn is_behind(&self, record: Option<&Settled>, indexed: &Indexed) -> bool {
        record.is_none_or(|record| record.through.saturating_add(self.finality) < indexed.through)
    }
}

impl Indexed {
    /// The entries of `market`, where all of its blocks were read, by these `hints`.
    fn of(&self, market: &Market, hints: &[Hint]) -> Option<&IndexedMarket> {
        let part = self.markets.iter().find(|part| part.address == market.config.address)?;
        (part.from <= market.config.from_block && part.asked == asked(market, hints)).then_some(part)
    }
}
