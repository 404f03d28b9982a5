//! Models without code: makes a component from a declaration that has a table or names trained trees.
//!
//! Nothing is compiled. The component is the released `models/tables`, with the data of the model after its memory.
//!
//! | module | owns |
//! |---|---|
//! | `declaration` | `model.toml` |
//! | `language` | the expressions of features, from text to the bytes that `tables` evaluates |
//! | `origin` | trees as LightGBM and XGBoost write them |
//! | `monotone` | the proof that a score never falls, or never rises, with a feature |
//! | `rules`, `card` | the trees, or the scorecard of points or weights of evidence, and how they are packed |
//! | `claims` | what a model says of the future |
//! | `texts` | title, inputs, and the words of the factors |
//! | `pack`, `packed`, `module` | the data, and the component with it |
//! | `template` | the files of a new model |
//! | `matrix`, `wallet` | the table to train on, which the same expressions compute |
//! | `fault`, `files` | a problem and its line; reads files up to a largest size |

mod card;
mod claims;
mod declaration;
mod fault;
mod files;
mod language;
mod matrix;
mod module;
mod monotone;
mod origin;
mod pack;
mod packed;
mod rules;
mod scale;
mod template;
mod texts;
mod wallet;

pub use fault::Fault;
pub use matrix::Matrix;
pub use pack::{Pack, pack};
pub use template::{Language, NewFile, files as template};
pub use wallet::Wallet;
