//! Writes rows as a table and computes its digest.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use alloy::hex;
use assay_lending::What;
use parquet::{
    basic::{Compression, ZstdLevel},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type},
    errors::{ParquetError, Result},
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};
use sha2::{Digest as _, Sha256};

use super::row::{EntryRow, SCHEMA, Texts, address, kind, side};
use assay_domain::ChainId;

/// Rows per row group.
pub(super) const GROUP: usize = 1 << 16;

/// An unfinished table.
pub(super) struct SegmentWriter {
    file: SerializedFileWriter<HashedFile>,
    chain: ChainId,
    rows: Vec<EntryRow>,
}

/// A finished table.
pub(super) struct Written {
    pub sha256: String,
    pub bytes: u64,
}

impl SegmentWriter {
    pub(super) fn create(path: &Path, chain: ChainId) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("assay ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let file = HashedFile { file: File::create(path)?, hasher: Sha256::new(), bytes: 0 };
        let file = SerializedFileWriter::new(file, parse_message_type(SCHEMA)?.into(), properties.into())?;
        Ok(Self { file, chain, rows: Vec::with_capacity(GROUP) })
    }

    pub(super) fn write(&mut self, row: EntryRow, texts: &mut Texts) -> io::Result<()> {
        self.rows.push(row);
        if self.rows.len() == GROUP { Ok(self.flush(texts)?) } else { Ok(()) }
    }

    pub(super) fn finish(mut self, texts: &mut Texts) -> io::Result<Written> {
        self.flush(texts)?;
        let HashedFile { file, hasher, bytes } = self.file.into_inner()?;
        file.sync_all()?;
        Ok(Written { sha256: hex::encode(hasher.finalize()), bytes })
    }

    fn flush(&mut self, texts: &mut Texts) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let chain = self.chain.cast_signed();
        let mut group = self.file.next_row_group()?;
        let group_ref = &mut group;
        required::<Int64Type>(group_ref, &rows, |_| chain)?;
        required::<ByteArrayType>(group_ref, &rows, |row| texts.market(row.market).0)?;
        required::<ByteArrayType>(group_ref, &rows, |row| texts.market(row.market).1)?;
        wallets(group_ref, &rows)?;
        required::<Int64Type>(group_ref, &rows, |row| row.entry.block.cast_signed())?;
        required::<ByteArrayType>(group_ref, &rows, |row| texts.word(kind(&row.entry.what)))?;
        what(group_ref, &rows, texts)?;
        group.close()?;
        Ok(())
    }
}

type RowGroup<'a> = SerializedRowGroupWriter<'a, HashedFile>;

/// Writes the wallet column. Rows of one wallet are adjacent, so its text is computed once.
fn wallets(group: &mut RowGroup<'_>, rows: &[EntryRow]) -> Result<()> {
    let (mut last, mut text) = (None, ByteArray::default());
    required::<ByteArrayType>(group, rows, |row| {
        if last.replace(row.wallet) != Some(row.wallet) {
            text = address(row.wallet);
        }
        text.clone()
    })
}

/// Writes the columns that depend on the kind of entry.
fn what(group: &mut RowGroup<'_>, rows: &[EntryRow], texts: &mut Texts) -> Result<()> {
    let moved = |row: &EntryRow| if let What::Moved(moved) = row.entry.what { Some(moved) } else { None };
    optional::<Int64Type>(group, rows, |row| match row.entry.what {
        What::Event { time, .. } => Some(time.cast_signed()),
        What::Moved(_) | What::Incomplete { .. } => None,
    })?;
    optional::<ByteArrayType>(group, rows, |row| Some(texts.word(side(moved(row)?.side))))?;
    optional::<ByteArrayType>(group, rows, |row| Some(texts.asset(moved(row)?.asset)))?;
    optional::<ByteArrayType>(group, rows, |row| match row.entry.what {
        What::Moved(moved) => Some(moved.amount.to_string().into_bytes().into()),
        What::Incomplete { owned } => Some(owned.to_string().into_bytes().into()),
        What::Event { .. } => None,
    })?;
    optional::<BoolType>(group, rows, |row| Some(moved(row)?.fixed_rate))
}

fn required<T: DataType>(
    group: &mut RowGroup<'_>,
    rows: &[EntryRow],
    value: impl FnMut(&EntryRow) -> T::T,
) -> Result<()> {
    let values: Vec<T::T> = rows.iter().map(value).collect();
    put::<T>(group, &values, None)
}

fn optional<T: DataType>(
    group: &mut RowGroup<'_>,
    rows: &[EntryRow],
    value: impl FnMut(&EntryRow) -> Option<T::T>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = rows.iter().map(value).collect();
    let there: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    put::<T>(group, &values, Some(&there))
}

fn put<T: DataType>(group: &mut RowGroup<'_>, values: &[T::T], there: Option<&[i16]>) -> Result<()> {
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("a column is not in the schema".into()))?;
    column.typed::<T>().write_batch(values, there, None)?;
    column.close()
}

/// A file, with the digest of the bytes written.
struct HashedFile {
    file: File,
    hasher: Sha256,
    bytes: u64,
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
