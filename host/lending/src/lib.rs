//! Lending: a wallet's events in the markets of a chain, and its positions there. Each protocol has a folder, which
//! implements the traits in `protocols`; `history` and `position` serve all of them, in the terms
//! of `figures`; `jobs` runs one read per wallet, and `lending_read` joins histories and positions.

mod asset;
pub mod config;
mod figures;
pub mod fuzz;
mod history;
mod jobs;
mod lending_read;
mod limits;
mod liquidations;
mod market;
mod pauses;
mod position;
mod protocols;
mod tolerances;

pub use asset::Asset;
pub use figures::balance::Balance;
pub use figures::hints::{AllHints, Hinted, is_number};
pub use figures::indexed::{Entry, Index, Indexed, IndexedMarket, What};
pub use figures::record::{self, Side};
pub use figures::sums::{Move, Sums};
pub use history::ledger::{MarketHistory, failed_pool};
pub use history::named::{Named, WholeRange};
pub use history::past::Past;
pub use history::read::Blocks;
pub use history::reader::{Reader, Recent};
pub use history::scan::{Mark, Scan, WalletEntries};
pub use jobs::{History, Jobs, Rest, StoredHistory};
pub use lending_read::{KnownHistory, KnownTokens, LendingRead, MarketResult, PositionGap, Valuation};
pub use liquidations::LiquidationLog;
pub use market::{Market, hides_liquidations, owes_in_vaults};
pub use position::terms_cache::{ChainTerms, SharedTerms, TermsCache, hints};
pub use protocols::{
    AccountView, EventKind, FoundAliases, FoundParts, Held, HeldParts, LendingTerms, MarketTerms, Parts, Used,
};
