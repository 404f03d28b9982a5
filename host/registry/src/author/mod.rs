//! For model authors, auditors and benchmarks: all problems of a file, single calls and their cost.

mod behaviour;
pub(crate) mod check;
pub(crate) mod hints;
pub mod measure;
pub(crate) mod standalone;
pub(crate) mod trial;
