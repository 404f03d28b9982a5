//! The index of one chain: one reader of its lending markets for all wallets, from their first block to the newest final
//! one, and then after each further one. It begins when it is configured to, or when it would help; a wallet's lending
//! history then begins with what the index has. Answers never wait for the index, and go on without it.

mod agree;
mod asked;
mod budget;
mod check;
mod fetch;
mod follow;
mod histories;
mod indexer;
mod ranges;
mod report;
mod shelf;
mod state;

pub use state::IndexState;

pub(crate) use indexer::Indexer;
pub(crate) use shelf::Shelf;
pub(crate) use state::State;
