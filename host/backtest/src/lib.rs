//! Models side by side on a file of features: how they differ, for whom, by how much and at what cost, and where the
//! file says what became of the wallets, which one foresaw it.
//!
//! A file is read once, as a stream; what is kept of it are counts, so memory does not grow with it. It reads no chain
//! and no store.
//!
//! | file | owns |
//! |---|---|
//! | `record` | what a features file says of a wallet, and its form as a line of JSON |
//! | `lines`, `columns` | the two forms of a features file: JSON lines and Parquet |
//! | `load` | the models, by version or by file |
//! | `source`, `run` | from a file to counts, on every core |
//! | `tally`, `pair`, `movers`, `figures` | the counts, and the wallets and figures worth naming |
//! | `report`, `compare`, `outcome`, `verdict` | what the counts say |
//! | `summary`, `page` | for a terminal, for a browser |

mod columns;
mod compare;
mod figures;
mod lines;
mod load;
mod movers;
mod outcome;
mod page;
mod pair;
mod record;
mod report;
mod run;
mod source;
mod summary;
mod tally;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

pub use columns::Writer as TableWriter;
pub use load::{LoadFailure, Loaded, load};
pub use page::page;
pub use record::{BadLine, MAX_LINE, Record};
pub use report::{About, Identity, Report, report};
pub use run::{Progress, Run, RunError, Scorer, run};
pub use source::{Chunk, Source, is_table};
pub use summary::summary;
pub use tally::Tally;
pub use words::grouped;
