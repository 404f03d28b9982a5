//! The state of one read of an address. Rows in final blocks are settled: counted once and stored. Later rows are read
//! again with every read.

use super::{records::ActivityProgress, tally};
use crate::explorer::{ExplorerList, ExplorerRow};
use assay_domain::{Address, Seen, time_from_unix};
use assay_evm::client::Block;

/// A read in progress.
pub(super) struct ListingState {
    pub wallet: Address,
    pub settled: ActivityProgress,
    /// Rows after the final block.
    tail: Vec<ExplorerRow>,
    pub final_block: u64,
}

impl ListingState {
    pub(super) fn new(wallet: Address, settled: ActivityProgress, final_block: u64) -> Self {
        Self { wallet, settled, tail: Vec::new(), final_block }
    }

    /// Adds rows of an explorer's list, each block with all its rows; whether more is settled now.
    pub(super) fn take(&mut self, list: ExplorerList, rows: Vec<ExplorerRow>, may_settle: bool) -> bool {
        let mut grown = false;
        for row in rows {
            let settles = may_settle && row.block <= self.final_block;
            if !settles {
                self.tail.push(row);
                continue;
            }
            tally::add(&mut self.settled, self.wallet, &row);
            *tally::from(&mut self.settled, list) = row.block.saturating_add(1);
            if self.settled.anchor.is_none_or(|anchor| anchor.block < row.block) {
                self.settled.anchor = Some(Seen { block: row.block, time: time_from_unix(row.time) });
                self.settled.anchor_hash = None;
            }
            grown = true;
        }
        grown
    }

    /// First block that is not settled in some list of tokens.
    pub(super) fn from(&mut self) -> u64 {
        ExplorerList::TOKENS.into_iter().map(|list| *tally::from(&mut self.settled, list)).min().unwrap_or(0)
    }

    /// Adds the rows of all lists of tokens through block `through`. They come from the chain itself, so spans without
    /// rows are settled too. Rows that another source settled before are not counted again.
    pub(super) fn take_all(&mut self, rows: impl IntoIterator<Item = ExplorerRow>, through: u64) {
        for row in rows {
            if row.block < *tally::from(&mut self.settled, row.list) {
                continue;
            }
            if row.block <= self.final_block {
                tally::add(&mut self.settled, self.wallet, &row);
            } else {
                self.tail.push(row);
            }
        }
        let next = through.min(self.final_block).saturating_add(1);
        for list in ExplorerList::TOKENS {
            let from = tally::from(&mut self.settled, list);
            *from = next.max(*from);
        }
    }

    /// Makes `block` the one by which the next read checks what is settled.
    pub(super) fn anchor(&mut self, block: Block) {
        if self.settled.anchor.is_none_or(|anchor| anchor.block < block.number) {
            self.settled.anchor = Some(Seen { block: block.number, time: block.moment() });
            self.settled.anchor_hash = Some(block.hash);
        }
    }

    /// The progress with the rows that are not settled.
    pub(super) fn with_tail(&self) -> ActivityProgress {
        let mut progress = self.settled.clone();
        self.tail.iter().for_each(|row| tally::add(&mut progress, self.wallet, row));
        progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{B256, U256};

    fn row(list: ExplorerList, block: u64) -> ExplorerRow {
        let [from, to, contract] = [1, 2, 3].map(Address::repeat_byte);
        let (value, token) = (U256::ZERO, (list != ExplorerList::Transfers).then_some(U256::ONE));
        ExplorerRow {
            list,
            block,
            time: 0,
            hash: B256::ZERO,
            from,
            to: Some(to),
            contract: Some(contract),
            value,
            token,
            index: None,
        }
    }

    #[test]
    fn what_an_explorer_settled_is_not_counted_again() {
        let settled =
            ActivityProgress { transfers_from: 50, multi_from: 20, transfers: 3, ..ActivityProgress::default() };
        let mut reading = ListingState::new(Address::repeat_byte(2), settled, 80);
        assert_eq!(reading.from(), 0);
        reading.take_all(
            [
                row(ExplorerList::Transfers, 49),
                row(ExplorerList::Transfers, 50),
                row(ExplorerList::Multi, 19),
                row(ExplorerList::Collectibles, 1),
            ],
            70,
        );
        assert_eq!((reading.settled.transfers, reading.from(), reading.settled.transfers_from), (5, 71, 71));
        // The last blocks are read anew with every read.
        reading.take_all([row(ExplorerList::Transfers, 80), row(ExplorerList::Transfers, 81)], 90);
        assert_eq!((reading.settled.transfers, reading.with_tail().transfers, reading.from()), (6, 7, 81));
    }
}
