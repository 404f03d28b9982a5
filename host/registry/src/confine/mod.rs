//! The engines of each class, and the confinement of a call: memory, fuel, deadline, and no imports except printing.

pub(crate) mod class;
pub(crate) mod clock;
pub(crate) mod dump;
pub(crate) mod engine;
pub(crate) mod engines;
pub(crate) mod epochs;
pub(crate) mod guest;
pub(crate) mod shard;
