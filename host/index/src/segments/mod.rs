//! The index as files: Parquet tables of entries, and a manifest with their digests. Another host can import them
//! instead of reading the chains, and an analyst can query them with common tools.
//!
//! A table has one row per entry, ordered by wallet, market and block:
//!
//! | column | type | is |
//! |---|---|---|
//! | `chain_id` | uint64 | |
//! | `protocol` | text | its neutral name, such as `lenderA_v3` |
//! | `market` | text | address in lower case |
//! | `wallet` | text | address in lower case |
//! | `block` | uint64 | |
//! | `kind` | text | an event's kind, `moved` or `incomplete`, see below |
//! | `time` | uint64 or null | of an event, seconds since 1970 |
//! | `side` | text or null | of an amount: `supply`, `debt`, `base` or `collateral` |
//! | `asset` | text or null | of an amount, address in lower case; after `scaled:`, divided by Aave's index |
//! | `amount` | text or null | decimal, in the asset's smallest unit, without interest |
//! | `fixed_rate` | bool or null | the amount is debt at a fixed rate |
//!
//! Events are `supply`, `withdraw`, `borrow`, `repay` and `liquidation`. `moved` is an amount; a negative one reduces
//! its side, and `base` is supply if positive and debt if negative. `incomplete`: the logs of this block may not show
//! everything, and its amount is what the wallet owned at least.

mod error;
mod export;
mod import;
mod manifest;
mod read;
mod row;
mod take;
mod write;

pub use error::SegmentsError;
pub use export::export;
pub use import::{Import, import};
pub use manifest::{ExportedChain, ExportedFile, MANIFEST, Manifest};
