//! Compares models on a file of features: how their scores differ, for which wallets, by how much and at what cost. If
//! the file has outcomes, it shows which model predicts them better.
//!
//! The file is read once, as a stream, into counts: memory does not grow with it. No chain and no store is read.
//!
//! | file | owns |
//! |---|---|
//! | `record` | one wallet of a features file, and its line of JSON |
//! | `lines`, `columns` | the two forms of a features file: JSON lines and Parquet |
//! | `load` | the models, by version or by file |
//! | `source`, `run`, `rows` | reads the file and scores it on every core |
//! | `tally`, `pair`, `movers` | the counts |
//! | `graded`, `resample`, `grade` | one model on the records with an outcome |
//! | `report`, `models`, `compare`, `shift`, `outcome`, `verdict` | the statistics of the counts |
//! | `summary`, `page`, `words` | the result for a terminal and for a browser |

#![cfg_attr(not(test), warn(unreachable_pub))]

mod columns;
mod compare;
mod grade;
mod graded;
mod lines;
mod load;
mod models;
mod movers;
mod outcome;
mod page;
mod pair;
mod record;
mod report;
mod resample;
mod rows;
mod run;
mod shift;
mod source;
mod summary;
mod tally;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

pub use columns::Writer as TableWriter;
pub use grade::{GradeBounds, GradeRequest};
pub use graded::{By, ExternalScore, Grading};
pub use load::{LoadFailure, Loaded, load};
pub use models::ModelIdentity;
pub use page::page;
pub use record::{BadLine, MAX_LINE, Record};
pub use report::{About, BacktestReport, Baseline, FeaturesFile, report};
pub use rows::header;
pub use run::{Progress, Run, RunError, Scorer, run};
pub use source::{RecordChunk, RecordSource, is_table};
pub use summary::summary;
pub use tally::Tally;
pub use words::grouped;
