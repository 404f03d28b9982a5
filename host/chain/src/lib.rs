//! Reading of chains: for an address its activity, holdings, lending positions, lending history and attestations on all
//! configured chains, as one snapshot. A chain that cannot be read is a failed part of a snapshot, never a failed
//! request. Also the readers of names and prices.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod activity;
pub mod config;
mod explorer;
#[doc(hidden)]
pub mod fuzz;
mod holdings;
pub mod identity;
pub mod known;
mod lifetime;
mod limits;
mod names;
mod pauses;
pub mod prices;
mod read;
mod snapshots;
mod tolerances;

pub use assay_index::follow::IndexState;
pub use assay_lending::LiquidationLog;
pub use names::{NameError, NameSource};
pub use read::{CLOCK_SUSPECTED, ChainOverview, ChainStatus, MomentError, NO_OLD_STATE, old_state};
pub use snapshots::{Chains, PastBlock, Read, Settings};
