//! A features file as a Parquet table: one wallet a row, and the columns of its JSON form under the same names.
//!
//! `id`, `outcome` and `as_of` are plain columns; `chains`, `markets`, `holdings` and `identity` are lists of structs,
//! which is what pandas and polars make of the JSON lines and what they take apart again with `explode`. Columns are
//! matched by name. One that a model may do without can be missing; one that is not known is refused, so that a
//! misspelt one does not silently count as absent.

mod cell;
mod pages;
mod read;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Batch, Rows};
pub use write::Writer;

/// The first and the last bytes of every Parquet file.
pub const MAGIC: &[u8; 4] = b"PAR1";
/// The most entries that one list of a wallet may have.
const MAX_ENTRIES: usize = 10_000;
