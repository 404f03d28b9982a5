//! Writes records as a table. The file is readable after [`Writer::finish`].

use std::{fs::File, io};

use parquet::{
    basic::Compression,
    data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type},
    errors::{ParquetError, Result},
    file::{
        properties::WriterProperties,
        writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::{parser::parse_message_type, types::Type},
};

use super::{
    cell::{Cell, CellKind},
    table::{self, Column, Columns, Wallet},
};
use crate::record::Record;

/// Rows of a row group.
pub(crate) const GROUP: usize = 1 << 15;

/// An unfinished table.
pub struct Writer {
    file: SerializedFileWriter<File>,
    rows: Vec<Record>,
}

impl Writer {
    pub fn new(file: File) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("assay ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let file = SerializedFileWriter::new(file, schema()?.into(), properties.into())?;
        Ok(Self { file, rows: Vec::new() })
    }

    pub fn write(&mut self, record: Record) -> io::Result<()> {
        self.rows.push(record);
        if self.rows.len() == GROUP { Ok(self.flush()?) } else { Ok(()) }
    }

    /// Completes the file.
    pub fn finish(mut self) -> io::Result<File> {
        self.flush()?;
        Ok(self.file.into_inner()?)
    }

    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        let wallet = |row: &Record| Wallet {
            id: row.id.clone(),
            outcome: row.outcome,
            as_of: row.features.as_of,
            cluster: row.cluster.clone(),
        };
        strips(&mut group, false, &rows, |row| vec![wallet(row)])?;
        strips(&mut group, true, &rows, |row| row.features.chains.iter().collect())?;
        strips(&mut group, true, &rows, |row| row.features.markets.iter().collect())?;
        strips(&mut group, true, &rows, |row| row.features.holdings.iter().collect())?;
        strips(&mut group, true, &rows, |row| row.features.identity.iter().collect())?;
        group.close()?;
        Ok(())
    }
}

/// The Parquet schema of the columns of [`table`].
fn schema() -> Result<Type> {
    let columns = |columns: &[Column]| -> String { columns.iter().map(column).collect() };
    let groups = table::all().iter().fold(String::new(), |text, (list, members)| match list {
        None => text + &columns(members),
        Some(list) => {
            text + &format!(
                "required group {list} (LIST) {{ repeated group list {{ required group element {{ {} }} }} }}\n",
                columns(members)
            )
        }
    });
    parse_message_type(&format!("message wallet {{ {groups} }}"))
}

fn column(Column { name, kind, optional }: &Column) -> String {
    let repetition = if *optional { "optional" } else { "required" };
    let (physical, meaning) = match kind {
        CellKind::Bool => ("boolean", ""),
        CellKind::U32 => ("int32", "(INTEGER(32,false))"),
        CellKind::U64 => ("int64", "(INTEGER(64,false))"),
        CellKind::F64 => ("double", ""),
        CellKind::Text => ("binary", "(STRING)"),
    };
    format!("{repetition} {physical} {name} {meaning};\n")
}

/// Writes the columns of one group. `entries` are the wallet, or the entries of one of its lists.
fn strips<'a, C: ColumnEntry>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    list: bool,
    rows: &'a [Record],
    entries: impl Fn(&'a Record) -> Vec<C>,
) -> Result<()> {
    let columns = C::Columns::columns();
    let mut cells: Vec<Vec<Cell>> = columns.iter().map(|_| Vec::new()).collect();
    let (mut repeated, mut there) = (Vec::new(), Vec::new());
    for row in rows {
        let entries = entries(row);
        if entries.is_empty() {
            repeated.push(0);
            there.push(false);
        }
        for (number, entry) in entries.iter().enumerate() {
            repeated.push(i16::from(number > 0));
            there.push(true);
            for (to, cell) in cells.iter_mut().zip(entry.columns().write()) {
                to.push(cell);
            }
        }
    }
    for (column, cells) in columns.iter().zip(cells) {
        let mut defined = Vec::with_capacity(there.len());
        let mut own = cells.iter();
        for there in &there {
            let is = *there && own.next().is_some_and(|cell| *cell != Cell::Null);
            defined.push(i16::from(list && *there) + i16::from(column.optional && is));
        }
        let levels = (defined, if list { Some(repeated.as_slice()) } else { None });
        let mut writer =
            group.next_column()?.ok_or_else(|| ParquetError::General("a column is not in the schema".into()))?;
        put(&mut writer, column.kind, &cells, (&levels.0, levels.1))?;
        writer.close()?;
    }
    Ok(())
}

/// A value with columns, or a reference to one.
trait ColumnEntry {
    type Columns: Columns;
    fn columns(&self) -> &Self::Columns;
}

impl ColumnEntry for Wallet {
    type Columns = Self;
    fn columns(&self) -> &Self {
        self
    }
}

impl<C: Columns> ColumnEntry for &C {
    type Columns = C;
    fn columns(&self) -> &C {
        self
    }
}

type Levels<'a> = (&'a [i16], Option<&'a [i16]>);

fn put(writer: &mut SerializedColumnWriter<'_>, kind: CellKind, cells: &[Cell], levels: Levels<'_>) -> Result<()> {
    let whole = |cell: &Cell| if let Cell::Whole(value) = cell { Some(*value) } else { None };
    match kind {
        CellKind::Bool => {
            typed::<BoolType>(
                writer,
                cells,
                levels,
                |cell| if let Cell::Bool(value) = cell { Some(*value) } else { None },
            )
        }
        CellKind::U32 => typed::<Int32Type>(writer, cells, levels, |cell| Some((whole(cell)? as u32).cast_signed())),
        CellKind::U64 => typed::<Int64Type>(writer, cells, levels, |cell| Some((whole(cell)? as u64).cast_signed())),
        CellKind::F64 => {
            typed::<DoubleType>(
                writer,
                cells,
                levels,
                |cell| if let Cell::Real(value) = cell { Some(*value) } else { None },
            )
        }
        CellKind::Text => typed::<ByteArrayType>(writer, cells, levels, |cell| {
            if let Cell::Text(text) = cell { Some(text.clone()) } else { None }
        }),
    }
}

fn typed<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    cells: &[Cell],
    (defined, repeated): Levels<'_>,
    value: impl Fn(&Cell) -> Option<T::T>,
) -> Result<()> {
    let values: Vec<T::T> = cells.iter().filter_map(value).collect();
    writer.typed::<T>().write_batch(&values, Some(defined), repeated)?;
    Ok(())
}
