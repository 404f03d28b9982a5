//! Reads a table in batches of rows. Damage is an error that names the column and the rows. Memory holds one page of
//! each column and one batch.

use std::{
    fs::File,
    io,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Once,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use parquet::{
    basic::CompressionCodec,
    column::reader::{ColumnReader, get_column_reader},
    errors::ParquetError,
    file::reader::{FileReader as _, SerializedFileReader},
    schema::types::ColumnDescPtr,
};

use super::{
    MAX_ENTRIES,
    cell::Cell,
    pages::{MAX_VALUES, Pages},
    schema::{Place, places},
    strip::{Strip, strip},
    table::{self, Columns, LISTS, Wallet},
};
use serde_json::Value;

use crate::record::Record;
use assay_domain::features::Features;

/// Supported: uncompressed, snappy, zstd.
const READABLE: [CompressionCodec; 3] =
    [CompressionCodec::UNCOMPRESSED, CompressionCodec::SNAPPY, CompressionCodec::ZSTD];

/// The columns of the wallet or of one of its lists, in the order of [`table::all`]; `None` for a missing column.
type Group = Vec<Option<Strip>>;

/// Some rows, by column.
#[derive(Debug)]
pub(crate) struct RowBatch {
    rows: usize,
    /// As in [`table::all`].
    groups: Vec<Group>,
    /// Unknown columns by their names.
    others: Vec<(String, Strip)>,
}

impl RowBatch {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// # Errors
    /// Which column has a wrong value.
    pub(crate) fn record(&self, row: usize) -> Result<Record, String> {
        let group = |index: usize| self.groups.get(index).map_or(&[] as &[_], Vec::as_slice);
        let cells = group(0).iter().map(|strip| strip.as_ref().and_then(|strip| strip.row(row).first()));
        let Wallet { id, outcome, as_of, cluster } = Wallet::read(cells)?;
        let [chains, markets, holdings, identity] = LISTS;
        let features = Features {
            as_of,
            chains: list(chains, group(1), row)?,
            markets: list(markets, group(2), row)?,
            holdings: list(holdings, group(3), row)?,
            identity: list(identity, group(4), row)?,
        };
        let other = |(name, strip): &(String, Strip)| {
            let value = strip.row(row).first().map_or(Ok(Value::Null), Cell::json);
            value.map(|value| (name.clone(), value)).map_err(|reason| format!("{name}: {reason}"))
        };
        let other = self.others.iter().map(other).collect::<Result<_, _>>()?;
        Record { id, outcome, cluster, features, other }.checked()
    }
}

fn list<C: Columns>(name: &str, strips: &[Option<Strip>], row: usize) -> Result<Vec<C>, String> {
    let mut counts = strips.iter().flatten().map(|strip| strip.row(row).len());
    let count = counts.next().unwrap_or(0);
    if counts.any(|other| other != count) {
        return Err(format!("{name}: its columns differ in how many entries there are; the file is damaged"));
    }
    if count > MAX_ENTRIES {
        return Err(format!("{name}: {count} entries, where a wallet may have {MAX_ENTRIES}"));
    }
    let cells = |at: usize| strips.iter().map(move |strip| strip.as_ref().and_then(|strip| strip.row(row).get(at)));
    (0..count).map(|at| C::read(cells(at)).map_err(|reason| format!("{name}[{at}].{reason}"))).collect()
}

/// A table, row group by row group.
pub(crate) struct TableRows {
    file: SerializedFileReader<File>,
    /// The place of each column of the file.
    places: Vec<Place>,
    next_group: usize,
    columns: Vec<ColumnReader>,
    left_in_group: u64,
    left_in_pages: Arc<AtomicU64>,
    read: u64,
    /// Rows of the whole table.
    pub rows: u64,
}

impl TableRows {
    /// # Errors
    /// Why the file is not a table of features.
    pub(crate) fn open(file: File) -> io::Result<Self> {
        let file = guarded("its footer", || SerializedFileReader::new(file))?;
        let metadata = file.metadata();
        let places = places(metadata.file_metadata().schema_descr()).map_err(io::Error::other)?;
        let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
        if let Some(packed) = chunks.map(|chunk| chunk.compression_codec()).find(|packed| !READABLE.contains(packed)) {
            return Err(io::Error::other(format!(
                "it is compressed with {packed:?}; write it with snappy, zstd or no compression"
            )));
        }
        let count = |rows| {
            u64::try_from(rows).map_err(|_| io::Error::other("a row group has less than no rows; the file is damaged"))
        };
        let rows = metadata.row_groups().iter().map(|group| count(group.num_rows())).sum::<io::Result<u64>>()?;
        let left_in_pages = Arc::new(AtomicU64::new(0));
        Ok(Self { file, places, next_group: 0, columns: Vec::new(), left_in_group: 0, left_in_pages, read: 0, rows })
    }

    /// At most `most` rows; `None` at the end.
    ///
    /// # Errors
    /// What is damaged, with its position.
    pub(crate) fn batch(&mut self, most: usize) -> io::Result<Option<RowBatch>> {
        while self.left_in_group == 0 {
            if self.next_group == self.file.num_row_groups() {
                return Ok(None);
            }
            self.open_group()?;
        }
        let rows = most.min(usize::try_from(self.left_in_group).unwrap_or(most));
        let mut groups: Vec<Group> =
            table::all().iter().map(|(_, columns)| columns.iter().map(|_| None).collect()).collect();
        let mut others = Vec::new();
        let descriptions = self.file.metadata().file_metadata().schema_descr_ptr();
        for ((column, described), place) in self.columns.iter_mut().zip(descriptions.columns()).zip(&self.places) {
            if *place == Place::Nowhere {
                continue;
            }
            self.left_in_pages.store((rows * MAX_ENTRIES) as u64 + u64::from(MAX_VALUES), Relaxed);
            let what = format!("column {}, rows {} to {}", described.path(), self.read + 1, self.read + rows as u64);
            let strip = guarded(&what, || strip(column, described, rows))?;
            match place {
                Place::Known(group, place) => {
                    if let Some(to) = groups.get_mut(*group).and_then(|group| group.get_mut(*place)) {
                        *to = Some(strip);
                    }
                }
                Place::Other(name) => others.push((name.clone(), strip)),
                Place::Nowhere => {}
            }
        }
        self.left_in_group -= rows as u64;
        self.read += rows as u64;
        Ok(Some(RowBatch { rows, groups, others }))
    }

    fn open_group(&mut self) -> io::Result<()> {
        let index = self.next_group;
        self.columns = guarded(&format!("row group {}", index + 1), || {
            let (group, schema) =
                (self.file.get_row_group(index)?, self.file.metadata().file_metadata().schema_descr_ptr());
            let column = |(number, described): (usize, &ColumnDescPtr)| {
                let pages = group.get_column_page_reader(number)?;
                Ok(get_column_reader(described.clone(), Box::new(Pages::new(pages, self.left_in_pages.clone()))))
            };
            schema.columns().iter().enumerate().map(column).collect::<Result<Vec<_>, ParquetError>>()
        })?;
        self.left_in_group = self
            .file
            .metadata()
            .row_groups()
            .get(index)
            .and_then(|group| u64::try_from(group.num_rows()).ok())
            .unwrap_or(0);
        self.next_group += 1;
        Ok(())
    }
}

thread_local! {
    static GUARDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Calls `read` and adds `what` to its error. The file is untrusted and the parquet reader asserts some of its claims,
/// so a panic is damage too, and it is not printed.
fn guarded<T>(what: &str, read: impl FnOnce() -> Result<T, ParquetError>) -> io::Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let printing = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                printing(panic);
            }
        }));
    });
    GUARDED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    let reason = match done {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => format!("{error}; the file is cut off or damaged, so write or copy it again"),
        Err(_) => "the file is damaged, so write or copy it again".into(),
    };
    Err(io::Error::other(format!("{what}: {reason}")))
}
