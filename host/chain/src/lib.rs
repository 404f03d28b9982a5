//! Reading of chains: for an address its activity, holdings, lending positions, lending history and attestations on all
//! configured chains, as one snapshot. A chain that cannot be read is a failed part of a snapshot, never a failed
//! request. Also the readers of names and prices.

mod activity;
pub mod config;
mod explorer;
#[doc(hidden)]
pub mod fuzz;
mod holdings;
pub mod identity;
mod index;
pub mod known;
mod lifetime;
mod names;
pub mod prices;
mod read;
mod snapshots;

pub use index::IndexState;
pub use names::NameError;
pub use read::{CLOCK_SUSPECTED, ChainOverview, ChainStatus, MomentError, NO_OLD_STATE, old_state};
pub use snapshots::{Chains, PastBlock, Read};
