//! The engines of each class, and what confines a call: memory, fuel, deadline, no imports but printing.

pub(crate) mod class;
pub(crate) mod clock;
pub(crate) mod dump;
pub(crate) mod engine;
pub(crate) mod engines;
pub(crate) mod guest;
pub(crate) mod shard;
