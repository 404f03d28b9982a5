//! The task that builds the index of one chain: it reads the lending markets once for all wallets, from their first
//! block to the newest final one, and then each new final block. It starts when the configuration says so, or when the
//! index would save requests; a wallet's lending history then begins with what the index has. Answers never wait for
//! the index, and go on without it.

mod agree;
mod asked;
mod check;
mod fetch;
mod histories;
mod indexer;
mod lazy;
mod metrics;
mod ranges;
mod state;
mod task;
#[cfg(test)]
mod tests;

pub use indexer::{Budget, Indexer};
pub use lazy::LazyIndex;
pub use state::{FollowState, IndexState};
