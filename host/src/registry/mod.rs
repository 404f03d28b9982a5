//! The WebAssembly models.

mod encode;

pub use encode::{EncodeError, to_component};
