//! A features file as a Parquet table: one wallet a row, and the columns of its JSON form under the same names.
//!
//! `id`, `outcome` and `as_of` are plain columns; `chains`, `markets`, `holdings` and `identity` are lists of structs,
//! as pandas and polars read the JSON lines. Columns are matched by name. An optional column may be missing. An unknown
//! plain column is carried along, unless its name is almost a known one; an unknown column of a list is an error.

mod cell;
mod pages;
mod read;
mod schema;
mod strip;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::{RowBatch, TableRows};
pub use write::Writer;

/// The first and the last bytes of every Parquet file.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";
/// The most entries that one list of a wallet may have.
const MAX_ENTRIES: usize = 10_000;
