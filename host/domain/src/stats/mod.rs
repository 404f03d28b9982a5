//! How two models' scores are compared, and how well a score tells outcomes apart: accumulators that take one subject
//! at a time, and the published statistics that can be computed from them exactly. Pure: no I/O, no clock, no
//! randomness but a stated seed.
//!
//! A score is a whole number from 300 to 1000, so counts say everything: a [`Joint`] of two models' scores has at most
//! 701 × 701 cells, however many subjects it has seen. Every accumulator can be merged with that of another host and
//! kept as JSON.
//!
//! | file | owns |
//! |---|---|
//! | `histogram`, `joint`, `labelled`, `sketch`, `moments` | what is accumulated: scores, pairs of scores, pairs with an outcome, any figure |
//! | `quantile`, `edges`, `psi`, `distance`, `rank` | how distributions and orders differ |
//! | `swap` | who crosses a range or a cut-off |
//! | `outcomes`, `logistic`, `deciles` | how well a score tells those who failed from those who did not |
//! | `interval`, `bootstrap` | how sure all that is |

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

pub use bootstrap::{Plan, Resampled};
pub use deciles::DecileRow;
pub use distance::{ks, wasserstein};
pub use edges::Edges;
pub use histogram::Histogram;
pub use interval::{Interval, wilson};
pub use joint::{Differences, Joint};
pub use labelled::Labelled;
pub use logistic::Logistic;
pub use moments::Moments;
pub use outcomes::Outcomes;
pub use psi::{FLOOR, INVESTIGATE, SIGNIFICANT, psi};
pub use quantile::quantile;
pub use sketch::{Band, Figures, Sketch};
pub use swap::{Migration, SwapSet};

/// Why kept counts cannot be taken up again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a count of score {0}, which no model can give")]
pub struct NoSuchScore(u16);
