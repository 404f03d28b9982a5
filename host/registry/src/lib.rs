//! The WebAssembly models: found on the shelf, checked, confined, published by one pointer store, and asked.
//!
//! The only place that knows wasmtime. It keeps no roles and knows no requests: whoever does watches
//! [`Registry::watch_roles`].
//!
//! | file | owns |
//! |---|---|
//! | `registry`, `lineup`, `roles`, `status` | what others call |
//! | `loader`, `shelf`, `book` | files that come and go, on one thread |
//! | `benching` | models that fail and leave service |
//! | `examine`, `world`, `contract`, `encode`, `selftest`, `samples`, `compiled` | from bytes to a model |
//! | `model`, `answer`, `mock` | the questions, and the checks of the answers |
//! | `check`, `lone`, `measure` | what a model author, a backtest, an auditor and a benchmark want to know |
//! | `twins` | the same models apart, counted in fuel, for what must not disturb an answer |
//! | `engine`, `lane`, `call`, `clock`, `abi` | confinement, and the shapes that cross it |

#![deny(unsafe_code)]

mod abi;
mod answer;
mod benching;
mod book;
mod call;
mod check;
mod clock;
mod compiled;
mod contract;
mod encode;
mod engine;
mod examine;
mod lane;
mod lineup;
mod load_error;
mod loader;
mod lone;
#[doc(hidden)]
pub mod measure;
mod mock;
mod model;
#[expect(clippy::module_inception, reason = "the noun of this folder")]
mod registry;
mod roles;
mod samples;
mod score_error;
mod selftest;
mod settings;
mod shelf;
mod status;
mod twins;
mod world;

pub use benching::Benching;
pub use check::{CheckReport, Cost, Problem, check};
pub use encode::{EncodeError, to_component};
pub use lineup::Lineup;
pub use load_error::{LoadError, RoleError};
pub use lone::{Counting, Fuel, LoneError, counting, lone};
pub use mock::{ChainValue, MockNft, MockPool, MockPosition, MockReport, MockToken};
pub use model::{Model, Spent};
pub use registry::{OpenError, Registry};
pub use roles::{KindRoles, Roles};
pub use score_error::{Refusal, ScoreError};
pub use settings::{Limits, Settings};
pub use status::{ModelStatus, Reason, Role, State};
