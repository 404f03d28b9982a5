//! Compares two models' scores, and measures how well a score separates outcomes: accumulators that take one subject at
//! a time, and published statistics that are computed from them exactly. Pure: no I/O, no clock, and no randomness
//! except a stated seed.
//!
//! A score is a whole number from 300 to 1000, so counts lose nothing: a [`Joint`] of two models' scores has at most
//! 701 × 701 cells for any number of subjects. Every accumulator can be merged with that of another host and stored as
//! JSON.
//!
//! | file | owns |
//! |---|---|
//! | `histogram`, `joint`, `labelled`, `sketch`, `moments` | counts of scores, pairs of scores, outcomes and figures |
//! | `bins` | a sample of a figure, small, in which others are counted |
//! | `quantile`, `edges`, `psi`, `distance`, `rank` | differences of distributions and of orders |
//! | `swap` | subjects that cross a range or a cut-off |
//! | `outcomes`, `logistic`, `deciles` | how well a score separates good outcomes from bad ones |
//! | `interval`, `bootstrap` | the uncertainty of these statistics |

mod bins;
mod bootstrap;
mod deciles;
mod distance;
mod edges;
mod histogram;
mod interval;
mod joint;
mod labelled;
mod logistic;
mod moments;
mod outcomes;
mod psi;
mod quantile;
mod rank;
mod sketch;
mod swap;

pub use bins::{Band, Bins, Figures};
pub use bootstrap::{Plan, Resampled, middle, split_mix};
pub use deciles::DecileRow;
pub use distance::{ks, wasserstein};
pub use edges::Edges;
pub use histogram::Histogram;
pub use interval::{Interval, clustered, wilson};
pub use joint::{Differences, Joint};
pub use labelled::Labelled;
pub use logistic::Logistic;
pub use moments::Moments;
pub use outcomes::Outcomes;
pub use psi::{FLOOR, INVESTIGATE, SIGNIFICANT, chance, psi};
pub use quantile::quantile;
pub use sketch::Sketch;
pub use swap::{Migration, SwapSet};

/// Why stored counts cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a count of score {0}, which no model can give")]
pub struct NoSuchScore(u16);
