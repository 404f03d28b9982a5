//! Reading a list page by page. The next request asks for the first page from the last block of the page before, whose
//! rows are dropped and read again with the rest of that block. So no row is lost between pages, and the limit of
//! 10,000 rows that explorers set to page numbers applies only within one block.

use std::collections::BTreeSet;

use super::{Explorer, ExplorerList, ExplorerRefusal, ExplorerRow, PageOf};
use assay_domain::Address;

/// Rows per page: the maximum of free plans. After a page that is too large, the rest of that read uses smaller pages.
pub(super) const PAGE: u64 = 1_000;
const SMALLEST_PAGE: u64 = 10;
/// Explorers refuse pages beyond this many rows.
const WINDOW: u64 = 10_000;
/// A response with at least this many rows, and a round number of them, may be truncated, whatever the requested size.
const SMALLEST_CUT: usize = 100;
const ROUND: usize = 50;

/// One read of a list of `wallet`.
pub(crate) struct ListPages<'a> {
    explorer: &'a Explorer,
    list: ExplorerList,
    wallet: Address,
    from: u64,
    to: u64,
    page: u64,
    size: u64,
    /// Rows of the block `from`, while it fills several pages.
    pending: Vec<ExplorerRow>,
    done: bool,
    /// Some rows could not be read.
    pub damaged: bool,
}

impl<'a> ListPages<'a> {
    pub(crate) fn new(explorer: &'a Explorer, list: ExplorerList, wallet: Address, from: u64, to: u64) -> Self {
        Self {
            explorer,
            list,
            wallet,
            from,
            to,
            page: 1,
            size: PAGE,
            pending: Vec::new(),
            done: from > to,
            damaged: false,
        }
    }

    /// The list is read to its end.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// The rows of the next blocks, all rows of each, in the order of the chain; `None` at the end.
    ///
    /// # Errors
    /// [`ExplorerRefusal`].
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<ExplorerRow>>, ExplorerRefusal> {
        loop {
            if self.done {
                return Ok(None);
            }
            let page = PageOf { from: self.from, to: self.to, number: self.page, size: self.size };
            let page = match self.explorer.page(self.list, self.wallet, page).await {
                Ok(page) => page,
                // Pages of different sizes do not continue each other.
                Err(ExplorerRefusal::TooLarge) if self.size > SMALLEST_PAGE => {
                    (self.page, self.size, self.pending) = (1, (self.size / 2).max(SMALLEST_PAGE), Vec::new());
                    continue;
                }
                Err(refusal) => return Err(refusal),
            };
            if let Some(rows) = self.take(page)? {
                return Ok(Some(rows));
            }
        }
    }

    /// Takes a page: the rows of all blocks that are complete now, or `None` if another page is needed.
    fn take(&mut self, page: Vec<serde_json::Value>) -> Result<Option<Vec<ExplorerRow>>, ExplorerRefusal> {
        let count = page.len();
        let full = may_be_cut(count, self.size);
        let read: Vec<ExplorerRow> = page.into_iter().filter_map(|row| ExplorerRow::read(self.list, row)).collect();
        self.damaged |= read.len() < count;
        let in_order = read.is_sorted_by_key(|row| row.block);
        let mut rows = std::mem::take(&mut self.pending);
        rows.extend(read.into_iter().filter(|row| (self.from..=self.to).contains(&row.block)));
        let last = rows.iter().map(|row| row.block).max();
        if !full {
            self.done = true;
            return Ok(Some(self.own(rows)));
        }
        let (true, Some(last)) = (in_order, last) else {
            // It is unknown which rows such a page leaves out.
            return Err(ExplorerRefusal::Malformed("a full page out of order or of other blocks".into()));
        };
        if rows.iter().any(|row| row.block < last) {
            rows.retain(|row| row.block < last);
            (self.from, self.page) = (last, 1);
            return Ok(Some(self.own(rows)));
        }
        if (self.page + 1).saturating_mul(self.size) > WINDOW {
            return Err(ExplorerRefusal::TooLarge);
        }
        (self.from, self.page, self.pending) = (last, self.page + 1, rows);
        Ok(None)
    }

    /// The rows of the wallet, each once, in the order of the chain.
    fn own(&self, mut rows: Vec<ExplorerRow>) -> Vec<ExplorerRow> {
        let mut seen = BTreeSet::new();
        rows.retain(|row| (row.from == self.wallet || row.to == Some(self.wallet)) && seen.insert(row.identity()));
        rows.sort_by_key(|row| (row.block, row.index));
        rows
    }
}

/// Whether an answer of `count` rows to a request for `size` rows may be truncated.
pub(super) fn may_be_cut(count: usize, size: u64) -> bool {
    count as u64 >= size || (count >= SMALLEST_CUT && count.is_multiple_of(ROUND))
}
