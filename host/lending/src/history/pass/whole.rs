//! Reads the blocks that lack a log whose pair in the same transaction was found. If a block's receipts hash to the
//! root in its header, they have every log: the missing one, or the proof that there is none.

use std::collections::{BTreeSet, HashSet};

use alloy::rpc::types::Log;

use super::Pass;
use crate::{
    history::events::{Extract, FoundLogs},
    limits,
    market::Market,
};
use assay_domain::B256;
use assay_evm::Fault;

impl Pass<'_> {
    /// The events and amounts in `found`, completed by the blocks that lack a log, if an endpoint proves these blocks.
    ///
    /// # Errors
    /// [`Fault`] if no endpoint answers.
    pub(super) async fn whole(&self, mut found: FoundLogs) -> Result<Extract, Fault> {
        let extract = self.extract(&mut found);
        let blocks: BTreeSet<u64> = self.lacking(&extract).into_iter().map(|(_, block)| block).collect();
        if blocks.is_empty() || blocks.len() > limits::WHOLE_BLOCKS {
            return Ok(extract);
        }
        for block in blocks {
            let Some(transactions) = self.reader.client.proven_by_any(block).await? else { continue };
            let known = found.logs.iter().filter(|log| log.block_number == Some(block));
            let named: HashSet<Option<B256>> = known.clone().map(|log| log.transaction_hash).collect();
            let logs = || transactions.iter().flat_map(|transaction| &transaction.logs);
            let places: HashSet<_> = logs().map(|log| (log.block_hash, log.log_index)).collect();
            if known.clone().all(|log| places.contains(&(log.block_hash, log.log_index))) {
                let is_wanted = |log: &Log| self.plan.reads_in_receipts(&self.reader.markets, log);
                let logs = logs().filter(|log| named.contains(&log.transaction_hash) && is_wanted(log));
                found.receipts.extend(logs.cloned());
                found.proven.insert(block);
            }
        }
        Ok(self.extract(&mut found))
    }

    /// The blocks in which `found` lacks a log, each with the index of the market.
    pub(super) fn lacking(&self, found: &Extract) -> Vec<(usize, u64)> {
        let has_all = |index: usize| self.reader.markets.get(index).is_some_and(Market::logs_everything);
        found.incomplete.keys().copied().filter(|(index, _)| has_all(*index)).collect()
    }
}
