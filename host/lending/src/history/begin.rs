//! Histories that begin with the index: its entries are counted as if the logs through its last block had just been
//! fetched, and the read continues after that block.

use std::{collections::BTreeSet, sync::Arc};

use futures::future::join_all;

use crate::{
    figures::{
        hints::{AllHints, Hint, is_number},
        indexed::{Entry, Indexed, IndexedMarket, What},
    },
    history::{
        events::Extract,
        pass::Pass,
        plan::Plan,
        reader::Reader,
        scan::{Scan, asked},
        settled::SettledHistory,
    },
    market::Market,
};
use assay_domain::{Address, B256};
use assay_evm::{Block, Fault};

impl Reader {
    /// The index's history of `wallet`, if one of its `records` is missing or ends well before the index does.
    pub(crate) async fn indexed(&self, wallet: Address, records: &[Option<SettledHistory>]) -> Option<Indexed> {
        let index = self.index.as_ref()?;
        let known = records.iter().map(|record| record.as_ref().map(|record| record.through));
        let least = known.min()?.map_or(0, |through| through.saturating_add(self.finality));
        let is_wallet = Scan::is_wallet(&self.markets, wallet) && !is_number(wallet);
        if is_wallet { index.history(wallet, least).await } else { None }
    }

    /// Returns `records` with new ones for the markets whose history can begin with `indexed`. `doubted` markets are
    /// read from the node.
    ///
    /// # Errors
    /// [`Fault`] if old state that explains the entries cannot be read.
    pub(crate) async fn begun(
        &self,
        wallet: Address,
        mut records: Vec<Option<SettledHistory>>,
        indexed: &Indexed,
        hints: &AllHints,
        doubted: &[usize],
    ) -> Result<Vec<Option<SettledHistory>>, Fault> {
        let (mut found, mut serving) = (Extract::default(), vec![None; self.markets.len()]);
        let of_words = self.of_words(wallet, hints, indexed).await;
        let markets = self.markets.iter().zip(hints.iter()).zip(records.iter_mut()).zip(&mut serving);
        for (index, (((market, hints), record), serves)) in markets.enumerate() {
            let Some(hints) = hints.as_ref().filter(|_| !doubted.contains(&index)) else { continue };
            let entries = entries_of(wallet, indexed, &of_words, market, hints);
            // The node's receipts, or another endpoint, may have what the index lacks.
            let entries = entries.filter(|entries| !lacks_logs(market, entries));
            if let Some(entries) = entries.filter(|_| self.is_behind(record.as_ref(), indexed)) {
                // A record that lacks a part would be read again anyway.
                *record = record.take().filter(|record| !record.lacks_part(market, Some(hints)));
                found.add_entries(index, &entries);
                *serves = Some(hints.clone());
            }
        }
        if serving.iter().all(Option::is_none) {
            return Ok(records);
        }
        metrics::counter!("assay_index_histories_total", "chain" => self.chain.to_string()).increment(1);
        let through = Block { number: indexed.through, hash: indexed.hash, time: 0 };
        let plan = Plan::tail(&self.markets, Arc::from(serving), wallet);
        Pass::new(self, plan, records, &[], through, Some(through))
            .counted(found, (through.number, indexed.is_checked))
            .await
    }

    /// The index's history of each word that identifies a wallet by its `hints`, through the same block as `indexed`.
    async fn of_words(&self, wallet: Address, hints: &AllHints, indexed: &Indexed) -> Vec<(B256, Indexed)> {
        let Some(index) = &self.index else { return Vec::new() };
        let words = words(wallet, hints.iter().flatten().flatten());
        let read = words.into_iter().map(|word| async move {
            let found = index.history(Address::from_word(word), indexed.through).await?;
            Some((word, found)).filter(|(_, found)| (found.through, found.hash) == (indexed.through, indexed.hash))
        });
        join_all(read).await.into_iter().flatten().collect()
    }

    /// Whether a record ends so far before `indexed` that the index saves queries.
    fn is_behind(&self, record: Option<&SettledHistory>, indexed: &Indexed) -> bool {
        record.is_none_or(|record| record.through.saturating_add(self.finality) < indexed.through)
    }
}

/// The words in `hints` that identify `wallet`.
fn words<'a>(wallet: Address, hints: impl Iterator<Item = &'a Hint>) -> BTreeSet<B256> {
    hints.flat_map(|hint| hint.aliases(wallet.into_word())).collect()
}

/// The entries of a wallet and its aliases in `market`; `None` if one of them is not known.
fn entries_of(
    wallet: Address,
    indexed: &Indexed,
    of_words: &[(B256, Indexed)],
    market: &Market,
    hints: &[Hint],
) -> Option<Vec<Entry>> {
    let mut parts = vec![(wallet.into_word(), part_of(indexed, market, hints)?.entries.as_slice())];
    for word in words(wallet, hints.iter()) {
        let (_, indexed) = of_words.iter().find(|(known, _)| *known == word)?;
        parts.push((word, &part_of(indexed, market, hints)?.entries));
    }
    match market.protocol.aliases() {
        Some(aliases) => aliases.joined(&parts, hints),
        None => parts.first().map(|(_, entries)| entries.to_vec()),
    }
}

/// Whether a log of `market` was left out of its `entries`.
fn lacks_logs(market: &Market, entries: &[Entry]) -> bool {
    market.logs_everything() && entries.iter().any(|entry| matches!(entry.what, What::Incomplete { .. }))
}

/// The entries of `market`, if all its blocks were indexed with these `hints`.
pub(super) fn part_of<'a>(indexed: &'a Indexed, market: &Market, hints: &[Hint]) -> Option<&'a IndexedMarket> {
    let part = indexed.markets.iter().find(|part| part.address == market.config.address)?;
    (part.from <= market.config.from_block && part.asked == asked(market, hints)).then_some(part)
}
