//! Blocks of which a log was left out, by its pair in the same transaction: the block itself shows all of its logs, or
//! that there are no more.

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
    /// The events and amounts in `found`, and in the blocks that lack a log, if an endpoint can prove these.
    ///
    /// # Errors
    /// [`Fault`] if no endpoint answers now.
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

    /// The markets, by index, and blocks in which `found` lacks a log.
    pub(super) fn lacking(&self, found: &Extract) -> Vec<(usize, u64)> {
        let has_all = |index: usize| self.reader.markets.get(index).is_some_and(Market::logs_everything);
        found.incomplete.keys().copied().filter(|(index, _)| has_all(*index)).collect()
    }
}
