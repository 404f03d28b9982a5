//! For authors of models, auditors and benchmarks: every problem of a file, single calls and their cost.

pub(crate) mod check;
pub(crate) mod hints;
pub mod measure;
pub(crate) mod standalone;
pub(crate) mod trial;
