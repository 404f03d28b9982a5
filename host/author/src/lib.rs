//! Models without code: a declaration, and trees or a table that others trained, become a component.
//!
//! Nothing is compiled. The component is `models/tables`, as it was released, with the data of the model behind it.
//!
//! | module | owns |
//! |---|---|
//! | `declaration` | `model.toml` |
//! | `language` | the expressions of features, from text to the bytes that `tables` evaluates |
//! | `origin` | trees as LightGBM and XGBoost write them |
//! | `monotone` | the proof that a score never falls, or never rises, with a feature |
//! | `card` | scorecards of points or weights of evidence |
//! | `pack`, `packed`, `module` | the data, and the component with it |
//! | `template` | the files of a new model |
//! | `matrix`, `wallet` | the table to train on, from the same expressions |
//! | `fault`, `files` | what is wrong with which line; files read up to a bound |

mod card;
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
mod scale;
mod template;
mod wallet;

pub use fault::Fault;
pub use matrix::Matrix;
pub use pack::{Pack, pack};
pub use template::{Language, NewFile, files as template};
pub use wallet::Wallet;
