//! The values of one column in some rows.

use parquet::{
    basic::{ConvertedType, LogicalType},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::DataType,
    errors::ParquetError,
    schema::types::ColumnDescriptor,
};

use super::cell::Cell;

#[derive(Debug, Default)]
pub(crate) struct Strip {
    cells: Vec<Cell>,
    /// The end of the cells of each row.
    ends: Vec<usize>,
}

impl Strip {
    /// The cells of one row.
    pub(crate) fn row(&self, row: usize) -> &[Cell] {
        let end = |row: usize| self.ends.get(row).copied().unwrap_or_default();
        let start = row.checked_sub(1).map_or(0, end);
        self.cells.get(start..end(row)).unwrap_or_default()
    }
}

/// Reads the next `rows` rows of a column.
///
/// # Errors
/// If the column is damaged or has an unknown type.
pub(crate) fn strip(
    column: &mut ColumnReader,
    described: &ColumnDescriptor,
    rows: usize,
) -> Result<Strip, ParquetError> {
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

/// Assigns the values to rows. The format stores with each value its definition level and whether it begins a row.
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
    // Constant levels are not stored.
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
