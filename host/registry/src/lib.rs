//! WebAssembly models: found on the shelf, checked, confined, published in one atomic store, and called.
//!
//! The only crate that uses wasmtime. It stores no roles and does not know requests; the owner of the stored roles
//! watches [`Registry::watch_roles`].
//!
//! | folder | owns |
//! |---|---|
//! | `shelf` | the loaded models, and the threads that follow the files |
//! | `examine` | from bytes to a model: the requirements for a file, and the self-test |
//! | `compile` | compiled code, kept for the next start |
//! | `call` | one call of a model, and the checks of its answer |
//! | `confine` | the engines of each class, and the confinement of a call |
//! | `author` | tools for model authors, auditors and benchmarks |

#![cfg_attr(not(test), warn(unreachable_pub))]
#![deny(unsafe_code)]

mod active;
mod author;
mod call;
mod compile;
mod confine;
mod examine;
mod load_error;
mod registry;
mod roles;
mod score_error;
mod settings;
mod shelf;
mod split;

pub use active::ActiveModels;
pub use author::check::{CheckReport, Cost, Problem, SampleScore, check};
#[doc(hidden)]
pub use author::measure;
pub use author::standalone::{Fuel, MeteredModel, StandaloneError, metered, standalone};
pub use author::trial::{Answer, Question, Trial, Trials, wallets};
pub use call::kinds::{BoostModel, CreditModel, OfKind, SandboxModel, SybilModel};
pub use call::mock::{
    Behaviour, ChainValue, MockNft, MockPool, MockPosition, MockReport, MockSubject, MockToken, Phase, Scenario,
};
pub use call::model::{Model, Spent};
pub use call::notes::{LARGEST_CARD, Notes};
pub use call::price::Price;
pub use compile::compiler::{CompileJob, Compiler};
pub use compile::encode::{EncodeError, to_component, to_valid_component};
pub use compile::world::exports;
pub use confine::class::Class;
pub use examine::signature::{PublicKey, SigningKey, signer};
pub use load_error::{LoadError, OpenError, RoleError};
pub use registry::Registry;
pub use roles::{KindRoles, Released, Roles};
pub use score_error::{Refusal, ScoreError};
pub use settings::{Limits, REMOVED, Settings};
pub use shelf::status::{ModelStatus, Role, State};
pub use shelf::supervise::{OutOfService, Reason};
pub use split::{Chosen, KeyPin, NewShare, Ramp, SLOTS, Split, SplitShare};
