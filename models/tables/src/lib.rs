//! A credit model whose rules are data. `assay model pack model.toml` puts trees or a scorecard behind this code without
//! a compiler, and `assay features table` evaluates the same expressions with the same code, so training and serving
//! cannot differ.
//!
//! | module | owns |
//! |---|---|
//! | `fields` | the lists and fields that an expression can read |
//! | `code` | an expression as bytes, and its value |
//! | `data` | the packed data, read in place |
//! | `margin` | the sum of trees, of a scorecard or of a network, and what each feature adds to it |
//! | `forest` | the leaf that a wallet reaches in a tree, and the steps on the way |
//! | `shapley` | the same with Shapley values in place of steps |
//! | `network` | linear models and small networks, and what each feature adds to them |
//! | `link` | the calibration of a margin |
//! | `wallet` | the features of a wallet as the source of expressions |
//! | `words` | the text of a factor with figures in it |
//! | `answer` | a score with its points, and its factors in words |
//! | `export`, `memory` | the component: its functions, and its memory between code and data |

mod answer;
pub mod code;
pub mod data;
#[cfg(target_arch = "wasm32")]
mod export;
pub mod fields;
mod forest;
pub mod link;
mod margin;
#[cfg(target_arch = "wasm32")]
mod memory;
pub mod network;
mod shapley;
mod wallet;
mod words;

pub use answer::{Answer, Part, answer, decile, judged, points};
pub use code::{Source, days, value};
pub use data::Data;
pub use forest::Values;
pub use margin::{margin, values};
