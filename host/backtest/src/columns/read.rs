//! From a table to batches of rows. What is damaged ends in an error that names the column and the rows; memory holds
//! one page of each column and one batch.

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
    basic::{CompressionCodec, ConvertedType, LogicalType},
    column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader},
    data_type::DataType,
    errors::ParquetError,
    file::reader::{FileReader as _, SerializedFileReader},
    schema::types::{ColumnDescPtr, ColumnDescriptor, SchemaDescriptor},
};

use super::{
    MAX_ENTRIES,
    cell::Cell,
    pages::{MAX_VALUES, Pages},
    table::{self, Columns, LISTS, Wallet},
};
use crate::record::Record;
use assay_domain::features::Features;

/// What pandas, polars and Spark write unless told otherwise, and nothing at all.
const READABLE: [CompressionCodec; 3] =
    [CompressionCodec::UNCOMPRESSED, CompressionCodec::SNAPPY, CompressionCodec::ZSTD];

/// The cells of one column in some rows.
#[derive(Debug, Default)]
pub struct Strip {
    cells: Vec<Cell>,
    /// Where the cells of each row end.
    ends: Vec<usize>,
}

impl Strip {
    fn row(&self, row: usize) -> &[Cell] {
        let end = |row: usize| self.ends.get(row).copied().unwrap_or_default();
        let start = row.checked_sub(1).map_or(0, end);
        self.cells.get(start..end(row)).unwrap_or_default()
    }
}

/// The strips of the wallet itself or of one of its lists, in the order of its columns; `None` where the file has no
/// such column.
type Group = Vec<Option<Strip>>;

/// Some rows, column by column.
#[derive(Debug)]
pub struct Batch {
    rows: usize,
    /// As in [`table::all`].
    groups: Vec<Group>,
}

impl Batch {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// # Errors
    /// Which column holds what it must not.
    pub fn record(&self, row: usize) -> Result<Record, String> {
        let group = |index: usize| self.groups.get(index).map_or(&[] as &[_], Vec::as_slice);
        let cells = group(0).iter().map(|strip| strip.as_ref().and_then(|strip| strip.row(row).first()));
        let Wallet { id, outcome, as_of } = Wallet::read(cells)?;
        let [chains, markets, holdings, identity] = LISTS;
        let features = Features {
            as_of,
            chains: list(chains, group(1), row)?,
            markets: list(markets, group(2), row)?,
            holdings: list(holdings, group(3), row)?,
            identity: list(identity, group(4), row)?,
        };
        Record { id, outcome, features }.checked()
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
pub struct Rows {
    file: SerializedFileReader<File>,
    /// For each column of the file the group and the place in it that it fills; `None` of one that says nothing.
    places: Vec<Option<(usize, usize)>>,
    next_group: usize,
    columns: Vec<ColumnReader>,
    left_in_group: u64,
    left_in_pages: Arc<AtomicU64>,
    read: u64,
    /// Rows of the whole table.
    pub rows: u64,
}

impl Rows {
    /// # Errors
    /// Why the file is no table of features.
    pub fn open(file: File) -> io::Result<Self> {
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
    /// What is damaged, and where.
    pub fn batch(&mut self, most: usize) -> io::Result<Option<Batch>> {
        while self.left_in_group == 0 {
            if self.next_group == self.file.num_row_groups() {
                return Ok(None);
            }
            self.open_group()?;
        }
        let rows = most.min(usize::try_from(self.left_in_group).unwrap_or(most));
        let mut groups: Vec<Group> =
            table::all().iter().map(|(_, columns)| columns.iter().map(|_| None).collect()).collect();
        let descriptions = self.file.metadata().file_metadata().schema_descr_ptr();
        for ((column, described), place) in self.columns.iter_mut().zip(descriptions.columns()).zip(&self.places) {
            let Some((group, place)) = place else { continue };
            self.left_in_pages.store((rows * MAX_ENTRIES) as u64 + u64::from(MAX_VALUES), Relaxed);
            let what = format!("column {}, rows {} to {}", described.path(), self.read + 1, self.read + rows as u64);
            let strip = guarded(&what, || strip(column, described, rows))?;
            if let Some(to) = groups.get_mut(*group).and_then(|group| group.get_mut(*place)) {
                *to = Some(strip);
            }
        }
        self.left_in_group -= rows as u64;
        self.read += rows as u64;
        Ok(Some(Batch { rows, groups }))
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

/// Does `read`, and says where it failed. The bytes are anybody's, and the reader of the format asserts some of what
/// they claim: a panic there is damage as well, and nothing that needs to be printed.
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

/// Where each column of the file belongs.
fn places(schema: &SchemaDescriptor) -> Result<Vec<Option<(usize, usize)>>, String> {
    let groups = table::all();
    let mut places: Vec<Option<(usize, usize)>> = Vec::new();
    for column in schema.columns() {
        let (path, parts) = (column.path().string(), column.path().parts());
        let unknown = || {
            format!("there is no column {path} in a features file; leave it out, or give it the name that it has there")
        };
        let (list, name) = match parts {
            [name] => (None, name),
            [list, .., name] => (Some(list.as_str()), name),
            [] => return Err(unknown()),
        };
        let group = groups.iter().position(|(group, _)| *group == list).ok_or_else(unknown)?;
        // A list that is empty in every row is one of nothing to pandas and polars.
        if list.is_some() && parts.len() == 3 && column.logical_type_ref() == Some(&LogicalType::Unknown) {
            places.push(None);
            continue;
        }
        let known = |columns: &[table::Column]| columns.iter().position(|known| known.name == *name);
        let place = groups.get(group).and_then(|(_, columns)| known(columns)).ok_or_else(unknown)?;
        let wanted = i16::from(list.is_some());
        if column.max_rep_level() != wanted {
            let wanted = if wanted == 0 { "one value a row" } else { "a list of structs" };
            return Err(format!(
                "column {path} is nested otherwise than it should be: {} is {wanted}",
                list.unwrap_or(name)
            ));
        }
        if let Some(meaning) = foreign(column) {
            return Err(format!(
                "column {path} holds {meaning}; times are whole seconds since 1970 (UTC) and amounts are floats"
            ));
        }
        if places.contains(&Some((group, place))) {
            return Err(format!("column {path} is there twice"));
        }
        places.push(Some((group, place)));
    }
    for (index, (list, columns)) in groups.iter().enumerate() {
        // A list may be missing as a whole.
        if list.is_some() && places.iter().flatten().all(|(group, _)| *group != index) {
            continue;
        }
        for (place, column) in columns.iter().enumerate() {
            if !column.optional && !places.contains(&Some((index, place))) {
                let list = list.map(|list| format!("{list}.")).unwrap_or_default();
                return Err(format!("there is no column {list}{}, without which nothing can be scored", column.name));
            }
        }
    }
    Ok(places)
}

/// What a column's numbers mean, where it is not what they are.
fn foreign(column: &ColumnDescriptor) -> Option<&'static str> {
    match column.logical_type_ref() {
        Some(LogicalType::Timestamp(_) | LogicalType::Date | LogicalType::Time(_)) => {
            return Some("times of another kind");
        }
        Some(LogicalType::Decimal(_)) => return Some("decimals"),
        _ => {}
    }
    match column.converted_type() {
        ConvertedType::DATE
        | ConvertedType::TIME_MILLIS
        | ConvertedType::TIME_MICROS
        | ConvertedType::TIMESTAMP_MILLIS
        | ConvertedType::TIMESTAMP_MICROS
        | ConvertedType::INTERVAL => Some("times of another kind"),
        ConvertedType::DECIMAL => Some("decimals"),
        _ => None,
    }
}

fn strip(column: &mut ColumnReader, described: &ColumnDescriptor, rows: usize) -> Result<Strip, ParquetError> {
    let unsigned = match described.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(
            described.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        ),
    };
    let other = || Err(ParquetError::General(format!("{} is no type of a features file", described.physical_type())));
    match column {
        ColumnReader::BoolColumnReader(column) => pull(column, described, rows, Cell::Bool),
        ColumnReader::Int32ColumnReader(column) => pull(column, described, rows, |value| {
            Cell::Whole(if unsigned { value.cast_unsigned().into() } else { value.into() })
        }),
        ColumnReader::Int64ColumnReader(column) => pull(column, described, rows, |value| {
            Cell::Whole(if unsigned { value.cast_unsigned().into() } else { value.into() })
        }),
        ColumnReader::FloatColumnReader(column) => pull(column, described, rows, |value| Cell::Real(value.into())),
        ColumnReader::DoubleColumnReader(column) => pull(column, described, rows, Cell::Real),
        ColumnReader::ByteArrayColumnReader(column) => pull(column, described, rows, Cell::Text),
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => other(),
    }
}

/// The values of a column with their places: the format keeps with each how deep it is defined and whether it begins a
/// row.
fn pull<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    described: &ColumnDescriptor,
    rows: usize,
    cell: impl Fn(T::T) -> Cell,
) -> Result<Strip, ParquetError> {
    let damaged = |words: &str| ParquetError::General(words.into());
    let (mut defined, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let (_, _, levels) = column.read_records(rows, Some(&mut defined), Some(&mut repeated), &mut values)?;
    let (full, entry, list) =
        (described.max_def_level(), described.repeated_ancestor_def_level(), described.max_rep_level() > 0);
    let mut values = values.into_iter();
    let mut strip = Strip { cells: Vec::with_capacity(levels), ends: Vec::with_capacity(rows) };
    // Levels that are always the same are not kept.
    let mut defined = defined.into_iter().chain(std::iter::repeat_n(full, if full == 0 { levels } else { 0 }));
    let mut repeated = repeated.into_iter().chain(std::iter::repeat_n(0, if list { 0 } else { levels }));
    for number in 0..levels {
        let (Some(defined), Some(repeated)) = (defined.next(), repeated.next()) else {
            return Err(damaged("levels are missing"));
        };
        if repeated == 0 {
            if number > 0 {
                strip.ends.push(strip.cells.len());
            }
        } else if number == 0 {
            return Err(damaged("a list begins nowhere"));
        }
        if defined == full {
            strip.cells.push(cell(values.next().ok_or_else(|| damaged("values are missing"))?));
        } else if defined >= entry {
            strip.cells.push(Cell::Null);
        }
    }
    strip.ends.push(strip.cells.len());
    if strip.ends.len() != rows || levels == 0 {
        return Err(damaged("the column ends before the others"));
    }
    Ok(strip)
}
