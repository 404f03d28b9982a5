//! Lending: a wallet's events in the markets of a chain, and its positions there. Each protocol has a folder, which
//! implements the traits in [`protocols`]; `history` and `position` serve all of them.

mod asset;
pub mod config;
pub mod fuzz;
mod history;
mod lending_read;
mod limits;
mod market;
mod pauses;
mod position;
mod protocols;
mod tolerances;

pub use asset::Asset;
pub use history::hints::{AllHints, Hinted};
pub use history::indexed::{Entry, Index, Indexed, IndexedMarket, What};
pub use history::jobs::{History, Jobs, MarketHistory, Rest, StoredHistory};
pub use history::ledger::failed_pool;
pub use history::named::{Named, WholeRange};
pub use history::past::Past;
pub use history::reader::{Reader, Recent};
pub use history::record::{self, Side};
pub use history::scan::{Mark, Scan, WalletEntries};
pub use history::sums::{Move, Sums};
pub use lending_read::{KnownTokens, LendingRead, MarketResult, PositionGap, Valuation};
pub use market::{Market, has_aliases, owes_in_vaults};
pub use position::balance::Balance;
pub use position::terms_cache::{ChainTerms, SharedTerms, TermsCache, hints};
pub use protocols::{EventKind, FoundAliases, FoundParts, Held, HeldParts, LendingTerms, MarketTerms, Parts, Used};
