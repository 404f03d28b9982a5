//! Lending: the events of a wallet in the markets of a chain, and its positions there. Each protocol has a folder,
//! which implements the traits in `protocol`; the other modules serve all protocols.

mod aave;
mod balance;
mod begin;
mod comet;
pub mod config;
mod crosscheck;
mod ctoken;
mod doubts;
mod entries;
mod events;
mod everyone;
pub mod fuzz;
mod hints;
mod indexed;
mod jobs;
mod ledger;
mod market;
mod named;
mod pass;
mod past;
mod plan;
pub mod progress;
mod protocol;
mod read;
mod reader;
mod receipts;
mod records;
mod sums;
mod tally;
mod terms;
mod whole;

pub use balance::Balance;
pub use crosscheck::{AllSums, State, cross_check};
pub use entries::{Entry, What};
pub use everyone::{Everyone, Mark, WalletEntries};
pub use indexed::{Index, Indexed, IndexedMarket};
pub use jobs::{History, Jobs, Rest, Stored};
pub use ledger::failed_pool;
pub use market::Market;
pub use named::{Named, WholeRange};
pub use past::{AllPasts, Past};
pub use protocol::{EventKind, Held, HeldParts, LendingTerms, MarketTerms};
pub use reader::{Reader, Recent};
pub use sums::Move;
pub use terms::{AllTerms, TermsCache, hints};
