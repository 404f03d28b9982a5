//! Credit models in handwritten WebAssembly text, and files that a server must refuse. No guest toolchain is needed.

mod credit;
mod files;
mod module;
mod refused;

pub use credit::{Credit, EVERY_HUNDREDTH, IN_PRODUCTION, act};
pub use files::{bombs, extra_field, later_generation, slow_to_compile, slow_to_compile_too, truncated, wrong_world};
pub use module::component;
pub(crate) use module::{CONTRACTS, Data, module};
pub use refused::{Refused, refused};
