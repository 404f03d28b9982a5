//! The sections of the configuration that this crate uses. Each section checks its own values in `problems`.

mod chains;
mod identity;
mod names;
mod prices;
mod reading;

pub use assay_index::config::IndexMode;
pub use chains::{ChainConfig, NativeConfig, Slugs, TokenConfig, day};
pub use identity::{Data, Identity, Lookup, SourceConfig};
pub use names::{Names, RegistryConfig, UniversalResolver};
pub use prices::{PriceApi, Prices};
pub use reading::{Discovery, ExplorerLimits, NotCovered, ReadOn, Reading, Snapshots, Spare};
