//! Histories that begin with what an index of all wallets has: its entries are counted as if the logs through its last
//! block had just been fetched, and the read goes on after that block.

use std::sync::Arc;

use crate::{
    events::Extract,
    everyone::{Everyone, asked},
    hints::{AllHints, Hint},
    indexed::{Indexed, IndexedMarket},
    market::Market,
    pass::Pass,
    plan::Plan,
    reader::Reader,
    records::Settled,
};
use assay_domain::Address;
use assay_evm::{Block, Fault};

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
            if let Some(part) = part_of(indexed, market, hints).filter(|_| self.is_behind(record.as_ref(), indexed)) {
                // A record that lacks a part would be read again.
                *record = record.take().filter(|record| !record.lacks_part(market, Some(hints)));
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

/// The entries of `market`, where all of its blocks were read, by these `hints`.
fn part_of<'a>(indexed: &'a Indexed, market: &Market, hints: &[Hint]) -> Option<&'a IndexedMarket> {
    let part = indexed.markets.iter().find(|part| part.address == market.config.address)?;
    (part.from <= market.config.from_block && part.asked == asked(market, hints)).then_some(part)
}
