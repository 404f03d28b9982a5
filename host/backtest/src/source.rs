//! A features file as a stream of chunks of records, with the digest of what was read. Its first bytes say whether it
//! is a Parquet table or JSON lines; its name says nothing.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _},
    path::Path,
};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    columns::{MAGIC, RowBatch, TableRows},
    lines::LineStream,
    record::{BadLine, Record},
};
use assay_domain::Digest;

/// Records in a chunk: enough that passing one to a thread costs little compared with scoring it, and few enough that
/// all cores end at about the same time.
const RECORDS: usize = 128;

/// The unit of record numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordUnit {
    Line,
    Row,
}

impl RecordUnit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Row => "row",
        }
    }
}

/// An open file.
pub struct RecordSource {
    form: SourceForm,
    /// Size of the file in bytes when it was opened.
    pub size: u64,
    chunks: u64,
    records: u64,
}

enum SourceForm {
    Lines(LineStream),
    /// A table, with the file itself for its digest.
    Table(Box<TableRows>, File),
}

/// Some records in the form of the file.
pub struct RecordChunk {
    /// Counted from 0.
    pub index: u64,
    /// Number of the first record, counted from 1.
    pub first: u64,
    /// Bytes of the file read so far, this chunk included.
    pub through: u64,
    raw: RawRecords,
}

enum RawRecords {
    /// A line that is too long is cut after the limit.
    Lines(Vec<Vec<u8>>),
    Rows(RowBatch),
}

/// Whether the file exists and is a Parquet table by its first bytes.
pub fn is_table(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *MAGIC
}

impl RecordSource {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::other("it is a folder"));
        }
        let mut reader = BufReader::with_capacity(256 << 10, file);
        let form = if !reader.fill_buf()?.starts_with(MAGIC) {
            SourceForm::Lines(LineStream::new(reader)?)
        } else if metadata.is_file() {
            let file = reader.into_inner();
            SourceForm::Table(Box::new(TableRows::open(file.try_clone()?)?), file)
        } else {
            return Err(io::Error::other(
                "a Parquet table is not read from its beginning to its end, so it must be a file and no pipe",
            ));
        };
        Ok(Self { form, size: metadata.len(), chunks: 0, records: 0 })
    }

    pub fn unit(&self) -> RecordUnit {
        if matches!(self.form, SourceForm::Lines(_)) { RecordUnit::Line } else { RecordUnit::Row }
    }

    /// The next records; `None` at the end.
    pub fn chunk(&mut self) -> io::Result<Option<RecordChunk>> {
        let (index, first) = (self.chunks, self.records + 1);
        let (raw, through) = match &mut self.form {
            SourceForm::Lines(lines) => (RawRecords::Lines(lines.next(RECORDS)?), lines.bytes()),
            SourceForm::Table(rows, _) => match rows.batch(RECORDS)? {
                Some(batch) => {
                    // Columns are not read one after the other, so the share of rows stands for that of bytes.
                    let share = (self.records + batch.rows() as u64) as f64 / rows.rows.max(1) as f64;
                    (RawRecords::Rows(batch), (self.size as f64 * share) as u64)
                }
                None => return Ok(None),
            },
        };
        let chunk = RecordChunk { index, first, through, raw };
        self.chunks += 1;
        self.records += chunk.count() as u64;
        Ok((chunk.count() > 0).then_some(chunk))
    }

    /// SHA-256 of everything read.
    pub fn digest(self) -> io::Result<Digest> {
        match self.form {
            SourceForm::Lines(lines) => Ok(lines.digest()),
            SourceForm::Table(_, mut file) => {
                let mut digest = Sha256::new();
                file.rewind()?;
                io::copy(&mut file, &mut digest)?;
                Ok(Digest(digest.finalize().into()))
            }
        }
    }
}

impl RecordChunk {
    pub fn count(&self) -> usize {
        match &self.raw {
            RawRecords::Lines(lines) => lines.len(),
            RawRecords::Rows(batch) => batch.rows(),
        }
    }

    /// Each record with its number; `None` if a line is blank.
    pub fn records(&self) -> impl Iterator<Item = (u64, Result<Option<Record>, BadLine>)> {
        (self.first..).zip(0..self.count()).map(|(line, index)| {
            let record = match &self.raw {
                RawRecords::Lines(lines) => lines.get(index).map_or(Ok(None), |text| Record::read(line, text)),
                RawRecords::Rows(batch) => batch.record(index).map(Some).map_err(|reason| BadLine { line, reason }),
            };
            (line, record)
        })
    }
}
