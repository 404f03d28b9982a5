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
//! | `kind` | text | an event: `supply`, `withdraw`, `borrow`, `repay`, `liquidation`; `moved`: an amount; `incomplete`: the logs of this block may not show everything |
//! | `time` | uint64 or null | of an event, seconds since 1970 |
//! | `side` | text or null | of an amount: `supply`, `debt`, `base` (supply if positive, debt if negative), `collateral` |
//! | `asset` | text or null | of an amount, address in lower case; after `scaled:`, divided by Aave's index |
//! | `amount` | text or null | decimal, in the asset's smallest unit, without interest; negative if it reduces the side. Of `incomplete`: what the wallet owned at least |
//! | `fixed_rate` | bool or null | the amount is debt at a fixed rate |

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
