//! The sections of the configuration that this crate reads.

mod agents;
mod chains;
mod identity;
mod ipfs;
mod names;
mod prices;
mod snapshots;

pub use agents::Agents;
pub use chains::{ChainConfig, Discovery, ExplorerLimits, NativeConfig, Reading, Slugs, TokenConfig, day};
pub use identity::{Data, Identity, Lookup, SourceConfig};
pub use ipfs::{Ipfs, Pinning};
pub use names::{Names, RegistryConfig};
pub use prices::{PriceApi, Prices};
pub use snapshots::Snapshots;
