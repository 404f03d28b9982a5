//! The sections of the configuration that this crate uses. Each section checks its own values in `problems`.

mod agents;
mod ipfs;

pub use agents::Agents;
pub use ipfs::{Ipfs, Pinning};
