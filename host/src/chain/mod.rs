//! Everything read from chains: one client per chain, and for an address its activity, holdings, lending positions and lending
//! history on all of them as one snapshot. A chain that cannot be read is a failed part of a snapshot, never a failed request.

mod activity;
mod call;
mod client;
mod endpoint;
mod explorer;
mod fault;
mod holdings;
mod lending;
mod prices;
mod read;
mod redact;
mod snapshots;
mod span;
mod transport;
mod verify;
mod wording;

pub use snapshots::{ChainStatus, Chains, NotResolved, Read};
pub use verify::{Finding, verify};
