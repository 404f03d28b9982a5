//! Reads the rows of a table, one row group after another. Any defect is an error.

use std::{
    fs::File,
    panic::{self, AssertUnwindSafe},
    path::Path,
};

use alloy::primitives::I256;
use assay_domain::{Address, ChainId};
use assay_lending::{Entry, Move, What};
use parquet::{
    column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type},
    file::reader::{FileReader as _, RowGroupReader, SerializedFileReader},
    schema::parser::parse_message_type,
};

use super::row::{EntryRow, INCOMPLETE, MOVED, SCHEMA, event, side_of};
use crate::IndexedMarket;

/// Maximum rows of a row group, which is decoded at once.
const MOST_ROWS: i64 = 1 << 20;

/// A table of one chain.
pub(super) struct RowTable {
    file: SerializedFileReader<File>,
    next: usize,
}

impl RowTable {
    /// # Errors
    /// Says why the file is not such a table.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let file = guarded(|| SerializedFileReader::new(file).map_err(|error| error.to_string()))?;
        let schema = parse_message_type(SCHEMA).map_err(|error| error.to_string())?;
        if file.metadata().file_metadata().schema() != &schema {
            return Err("its columns are others".into());
        }
        if file.metadata().row_groups().iter().any(|group| !(0..=MOST_ROWS).contains(&group.num_rows())) {
            return Err(format!("a row group has more than {MOST_ROWS} rows"));
        }
        Ok(Self { file, next: 0 })
    }

    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Returns the rows of the next group, or `None` at the end.
    ///
    /// # Errors
    /// If a row is invalid; the text names the problem.
    pub(super) fn group(&mut self, chain: ChainId, markets: &[IndexedMarket]) -> Result<Option<Vec<EntryRow>>, String> {
        if self.next == self.file.num_row_groups() {
            return Ok(None);
        }
        let index = self.next;
        self.next += 1;
        let columns = guarded(|| {
            let group = self.file.get_row_group(index).map_err(|error| error.to_string())?;
            RowColumns::read(group.as_ref())
        })?;
        let rows = (0..columns.block.len()).map(|row| columns.row(row, chain, markets).ok_or(row));
        let wrong = |row| format!("row {} of row group {} is none of chain {chain}", row + 1, index + 1);
        rows.collect::<Result<Vec<_>, _>>().map(Some).map_err(wrong)
    }
}

/// The values of a row group.
struct RowColumns {
    chain: Vec<Option<i64>>,
    protocol: Vec<Option<ByteArray>>,
    market: Vec<Option<ByteArray>>,
    wallet: Vec<Option<ByteArray>>,
    block: Vec<Option<i64>>,
    kind: Vec<Option<ByteArray>>,
    time: Vec<Option<i64>>,
    side: Vec<Option<ByteArray>>,
    asset: Vec<Option<ByteArray>>,
    amount: Vec<Option<ByteArray>>,
    fixed_rate: Vec<Option<bool>>,
}

impl RowColumns {
    fn read(group: &dyn RowGroupReader) -> Result<Self, String> {
        Ok(Self {
            chain: column::<Int64Type>(group, 0)?,
            protocol: column::<ByteArrayType>(group, 1)?,
            market: column::<ByteArrayType>(group, 2)?,
            wallet: column::<ByteArrayType>(group, 3)?,
            block: column::<Int64Type>(group, 4)?,
            kind: column::<ByteArrayType>(group, 5)?,
            time: column::<Int64Type>(group, 6)?,
            side: column::<ByteArrayType>(group, 7)?,
            asset: column::<ByteArrayType>(group, 8)?,
            amount: column::<ByteArrayType>(group, 9)?,
            fixed_rate: column::<BoolType>(group, 10)?,
        })
    }

    fn row(&self, row: usize, chain: ChainId, markets: &[IndexedMarket]) -> Option<EntryRow> {
        let number = |column: &[Option<i64>]| column.get(row)?.map(i64::cast_unsigned);
        if number(&self.chain) != Some(chain) {
            return None;
        }
        let (protocol, address) = (text(&self.protocol, row)?, address(&self.market, row)?);
        let own = |market: &IndexedMarket| market.address == address && market.protocol.as_str() == protocol;
        let amount = || I256::from_dec_str(text(&self.amount, row)?).ok();
        let what = match text(&self.kind, row)? {
            MOVED => What::Moved(Move {
                side: side_of(text(&self.side, row)?)?,
                asset: text(&self.asset, row)?.parse().ok()?,
                amount: amount()?,
                fixed_rate: (*self.fixed_rate.get(row)?)?,
            }),
            INCOMPLETE => What::Incomplete { owned: amount()? },
            word => What::Event { kind: event(word)?, time: number(&self.time)? },
        };
        let entry = Entry { block: number(&self.block)?, what };
        Some(EntryRow { wallet: self::address(&self.wallet, row)?, market: markets.iter().position(own)?, entry })
    }
}

fn text(column: &[Option<ByteArray>], row: usize) -> Option<&str> {
    column.get(row)?.as_ref()?.as_utf8().ok()
}

fn address(column: &[Option<ByteArray>], row: usize) -> Option<Address> {
    text(column, row)?.parse().ok()
}

/// Returns all values of a column, `None` for a null.
fn column<T: DataType>(group: &dyn RowGroupReader, index: usize) -> Result<Vec<Option<T::T>>, String> {
    let said = |error: parquet::errors::ParquetError| error.to_string();
    let rows = usize::try_from(group.metadata().num_rows()).map_err(|error| error.to_string())?;
    let reader: ColumnReader = group.get_column_reader(index).map_err(said)?;
    let mut reader: ColumnReaderImpl<T> = get_typed_column_reader(reader);
    let optional = group.metadata().column(index).column_descr().max_def_level() > 0;
    let (mut there, mut values) = (Vec::new(), Vec::new());
    let (read, ..) = reader.read_records(rows, optional.then_some(&mut there), None, &mut values).map_err(said)?;
    if read != rows {
        return Err(format!("column {index} ends before the others"));
    }
    let mut values = values.into_iter();
    if !optional {
        return Ok(values.map(Some).collect());
    }
    Ok(there.into_iter().map(|there| if there > 0 { values.next() } else { None }).collect())
}

/// Turns a panic into an error: the Parquet reader asserts what it expects of a file.
fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("its parts contradict each other".into()))
}
