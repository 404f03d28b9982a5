//! The index: the actions of all wallets in the lending markets of a chain, as [`assay_lending::Entry`], in a separate
//! folder. A market is read once for all wallets; after that, one read of this folder returns a wallet's history. All
//! of it can be read from the chain again.
//!
//! A chain's index is complete through one block. [`Index::append`] adds the entries of the next blocks together with
//! that block, so a process killed at any moment has both or neither. [`Index::truncate`] removes the blocks that a
//! reorganisation replaced.
//!
//! All calls of [`Index`] block on the disk; an async caller uses `spawn_blocking`.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod append;
mod codec;
pub mod config;
mod error;
mod folder;
pub mod follow;
mod history;
mod index;
mod items;
mod limits;
mod owing;
mod pauses;
mod progress;
pub mod segments;
mod status;
#[cfg(test)]
mod tests;
mod truncate;
mod wallets;
mod widen;

pub use append::Segment;
pub use error::IndexError;
pub use history::History;
pub use index::Index;
pub use items::WalletEntries;
pub use owing::Owing;
pub use progress::{Check, Checked, Checkpoint, IndexProgress, IndexedMarket};
pub use status::{ChainStatus, OnDisk, Status};
pub use wallets::Wallets;
