//! The whole of Assay on real parts: one binary, so that the chains are started once.

mod errors;
mod sandbox;
