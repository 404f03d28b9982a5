//! Everything read from chains: one client per chain, and for an address its activity, holdings, lending positions and
//! lending history on all of them as one snapshot. A chain that cannot be read is a failed part of a snapshot, never a
//! failed request. And the little that is written: transactions of one account, and documents for IPFS.

mod activity;
mod agents;
pub mod config;
mod explorer;
#[doc(hidden)]
pub mod fuzz;
mod holdings;
pub mod identity;
mod ipfs;
mod names;
pub mod prices;
mod read;
mod snapshots;

pub use agents::{
    AgentChange, AgentEvent, AgentRegistries, AgentsError, Documents, Located, Mark, Outside, Token, base64,
};
pub use ipfs::{Ipfs, IpfsError, cid};
pub use names::NameError;
pub use snapshots::{ChainStatus, Chains, Read};
