//! WebAssembly models: found on the shelf, checked, confined, published in one atomic store, and called.
//!
//! The only crate that uses wasmtime. It stores no roles and knows no requests; the owner of the stored roles watches
//! [`Registry::watch_roles`].
//!
//! | file | owns |
//! |---|---|
//! | `registry`, `active`, `kinds`, `roles`, `status` | what other crates use |
//! | `shared`, `catalogue`, `loader`, `admit`, `background`, `shelf` | the loaded models, and the threads that follow the files |
//! | `supervise`, `reason`, `tally` | counts of calls, and models that fail and go out of service |
//! | `examine`, `whole`, `bounds`, `world`, `contract`, `encode`, `selftest`, `samples` | from bytes to a model |
//! | `compiler`, `compiled` | compiled code, kept for the next start |
//! | `attempts`, `rejections` | files that ended the server, and files that were refused |
//! | `model`, `deciles`, `answer`, `mock` | one call of a model, and the checks of its answer |
//! | `signature` | who signed a file |
//! | `check`, `hints`, `trial`, `dump`, `written` | for model authors: every problem, one call after the other, its traces |
//! | `standalone`, `measure` | for backtests, auditors and benchmarks |
//! | `class`, `price` | how much of the host a model may use, and what it costs |
//! | `shadow_engine` | copies of models on a second engine that counts fuel |
//! | `engines`, `engine`, `scan`, `shard`, `clock` | the engines of each class |
//! | `guest`, `call`, `linked`, `abi` | confinement of a call, and the types that cross it |

#![deny(unsafe_code)]

mod abi;
mod active;
mod admit;
mod answer;
mod attempts;
mod background;
mod bounds;
mod call;
mod catalogue;
mod check;
mod class;
mod clock;
mod compiled;
mod compiler;
mod contract;
mod deciles;
mod dump;
mod encode;
mod engine;
mod engines;
mod examine;
mod guest;
mod hints;
mod kinds;
mod linked;
mod load_error;
mod loader;
#[doc(hidden)]
pub mod measure;
mod mock;
mod model;
mod notes;
mod price;
mod reason;
mod registry;
mod rejections;
mod roles;
mod samples;
mod scan;
mod score_error;
mod selftest;
mod settings;
mod shadow_engine;
mod shard;
mod shared;
mod shelf;
mod signature;
mod standalone;
mod status;
mod supervise;
mod tally;
mod trial;
mod whole;
mod world;
mod written;

pub use active::ActiveModels;
pub use check::{CheckReport, Cost, Problem, SampleScore, check};
pub use class::Class;
pub use compiler::{Compiler, Job};
pub use encode::{EncodeError, to_component};
pub use kinds::{BoostModel, CreditModel, OfKind, SandboxModel, SybilModel};
pub use load_error::{LoadError, OpenError, RoleError};
pub use mock::{
    Behaviour, ChainValue, MockNft, MockPool, MockPosition, MockReport, MockSubject, MockToken, PaymentRefusal, Phase,
    Scenario,
};
pub use model::{Model, Spent};
pub use notes::{LARGEST_CARD, Notes};
pub use price::Price;
pub use reason::{OutOfService, Reason};
pub use registry::Registry;
pub use roles::{KindRoles, Roles};
pub use score_error::{Refusal, ScoreError};
pub use settings::{Limits, Settings};
pub use signature::{PublicKey, SigningKey, signer};
pub use standalone::{Fuel, MeteredModel, StandaloneError, metered, standalone};
pub use status::{ModelStatus, Role, State};
pub use trial::{Answer, Question, Trial, Trials, wallets};
pub use world::exports;
