//! A list read page after page. No page but the first is asked for where that can be avoided: the next one begins with
//! the last block of the one before, whose rows are dropped until all of them are there. So no row can fall between two
//! pages, and the bound of 10,000 rows that explorers set to counting pages holds for one block alone.

use std::collections::BTreeSet;

use super::{Explorer, List, Refusal, Row};
use assay_domain::Address;

/// Rows in one page: what free plans give at most. Where that is too much at once, fewer are asked for in that one
/// read: large rows of one address say nothing of the others.
const PAGE: u64 = 1_000;
const SMALLEST_PAGE: u64 = 10;
/// Explorers refuse pages further than this many rows in.
const WINDOW: u64 = 10_000;
/// An answer of so many rows or more that is a round number may have been cut there, whatever was asked for.
const SMALLEST_CUT: usize = 100;
const ROUND: usize = 50;

/// A list of `wallet` that is being read.
pub(crate) struct Pages<'a> {
    explorer: &'a Explorer,
    list: List,
    wallet: Address,
    from: u64,
    to: u64,
    page: u64,
    size: u64,
    /// Rows of the block `from`, while one block fills whole pages.
    held: Vec<Row>,
    done: bool,
    /// Some rows could not be read.
    pub damaged: bool,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(explorer: &'a Explorer, list: List, wallet: Address, from: u64, to: u64) -> Self {
        Self {
            explorer,
            list,
            wallet,
            from,
            to,
            page: 1,
            size: PAGE,
            held: Vec::new(),
            done: from > to,
            damaged: false,
        }
    }

    /// Nothing is left to ask for.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// The rows of the next blocks, each block whole, in the order of the chain; `None` at the end.
    ///
    /// # Errors
    /// [`Refusal`] where the list cannot be read on.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Row>>, Refusal> {
        loop {
            if self.done {
                return Ok(None);
            }
            let page =
                match self.explorer.page(self.list, self.wallet, (self.from, self.to), (self.page, self.size)).await {
                    Ok(page) => page,
                    // Pages of another size do not go on from those before.
                    Err(Refusal::TooLarge) if self.size > SMALLEST_PAGE => {
                        (self.page, self.size, self.held) = (1, (self.size / 2).max(SMALLEST_PAGE), Vec::new());
                        continue;
                    }
                    Err(refusal) => return Err(refusal),
                };
            if let Some(rows) = self.take(page)? {
                return Ok(Some(rows));
            }
        }
    }

    /// Takes a page in: the rows of all blocks that are whole now, or `None` where that needs another page.
    fn take(&mut self, written: Vec<serde_json::Value>) -> Result<Option<Vec<Row>>, Refusal> {
        let count = written.len();
        let full = count as u64 >= self.size || (count >= SMALLEST_CUT && count.is_multiple_of(ROUND));
        let read: Vec<Row> = written.into_iter().filter_map(|row| Row::read(self.list, row)).collect();
        self.damaged |= read.len() < count;
        let in_order = read.is_sorted_by_key(|row| row.block);
        let mut rows = std::mem::take(&mut self.held);
        rows.extend(read.into_iter().filter(|row| (self.from..=self.to).contains(&row.block)));
        let last = rows.iter().map(|row| row.block).max();
        if !full {
            self.done = true;
            return Ok(Some(self.own(rows)));
        }
        let (true, Some(last)) = (in_order, last) else {
            // Which rows such a page leaves out nobody can say.
            return Err(Refusal::Malformed("a full page out of order or of other blocks".into()));
        };
        if rows.iter().any(|row| row.block < last) {
            rows.retain(|row| row.block < last);
            (self.from, self.page) = (last, 1);
            return Ok(Some(self.own(rows)));
        }
        if (self.page + 1).saturating_mul(self.size) > WINDOW {
            return Err(Refusal::TooLarge);
        }
        (self.from, self.page, self.held) = (last, self.page + 1, rows);
        Ok(None)
    }

    /// Those of `rows` that are the wallet's, each once, in the order of the chain.
    fn own(&self, mut rows: Vec<Row>) -> Vec<Row> {
        let mut seen = BTreeSet::new();
        rows.retain(|row| (row.from == self.wallet || row.to == Some(self.wallet)) && seen.insert(row.identity()));
        rows.sort_by_key(|row| (row.block, row.index));
        rows
    }
}
