//! Lending: a wallet's events in the markets of a chain, and its positions there. Each protocol has a folder, which
//! implements the traits in `protocol`; the other modules serve all protocols.

mod asset;
pub mod config;
pub mod fuzz;
mod history;
mod market;
mod position;
mod protocols;

pub use asset::Asset;
pub use history::hints::{AllHints, Hinted};
pub use history::indexed::{Entry, Index, Indexed, IndexedMarket, What};
pub use history::jobs::{History, Jobs, Rest, Stored};
pub use history::ledger::failed_pool;
pub use history::named::{Named, WholeRange};
pub use history::past::{AllPasts, Past};
pub use history::reader::{Reader, Recent};
pub use history::record::{self, Side};
pub use history::scan::{Mark, Scan, WalletEntries};
pub use history::sums::{Move, Sums};
pub use market::{Market, has_aliases, owes_in_vaults};
pub use position::balance::Balance;
pub use position::cross_check::{AllSums, State, cross_check};
pub use position::terms_cache::{AllTerms, TermsCache, hints, wallet_hints};
pub use protocols::{EventKind, FoundAliases, FoundParts, Held, HeldParts, LendingTerms, MarketTerms, Parts, Used};
