//! The pages of one column, with a limit on the values that are decoded at once: a few bytes of a page can encode any
//! number of values.

use parquet::{
    column::page::{Page, PageMetadata, PageReader},
    errors::{ParquetError, Result},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// The most values of one page; writers end a page after some ten thousand, few after a million.
pub(crate) const MAX_VALUES: u32 = 1 << 24;

/// Reads pages until they have more values than are left.
pub(crate) struct Pages {
    inner: Box<dyn PageReader>,
    /// Values that may still be decoded for the current rows.
    left: Arc<AtomicU64>,
}

impl Pages {
    pub(crate) fn new(inner: Box<dyn PageReader>, left: Arc<AtomicU64>) -> Self {
        Self { inner, left }
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        let Some(data) = page.as_ref().filter(|page| !page.is_dictionary_page()) else { return Ok(page) };
        let values = u64::from(data.num_values());
        if values > u64::from(MAX_VALUES)
            || self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(values)).is_err()
        {
            return Err(ParquetError::General("a list has more entries than a wallet may have".into()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
