//! From bytes to compiled code, kept for the next start.

pub(crate) mod compiled;
pub(crate) mod compiler;
pub(crate) mod encode;
mod features;
pub(crate) mod world;
