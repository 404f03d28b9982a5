//! Batch jobs: a caller sends a table of wallets, and gets each row back with its score.
//!
//! | module | owns |
//! |---|---|
//! | [`table`] | the rows and columns that a caller sends, as CSV or JSON |
//! | `row` | what became of a row |
//! | `records`, `jobs` | jobs as their owners create, pause and remove them |
//! | `worker` | the reading of all jobs by one host of the server, and their payment |
//! | `result` | the rows as JSON, CSV or Parquet |
//! | `routes`, `bodies` | `/api/v2/score/batch` |

#![cfg_attr(not(test), warn(unreachable_pub))]

mod bodies;
pub mod config;
mod jobs;
mod records;
pub mod responses;
mod result;
mod routes;
mod row;
pub mod table;
mod worker;

pub use jobs::Jobs;
pub use routes::{BatchRoutes, operations, routes};
