//! The bytes of the index: keys, entries, and the numbers that stand for assets.

mod assets;
mod bytes;
mod entries;
mod key;
#[cfg(test)]
mod tests;

pub(crate) use assets::AssetTable;
pub(crate) use entries::{decode, encode};
pub(crate) use key::{EntryKey, MOST_BLOCK, MOST_MARKETS};
