//! What the end-to-end tests share: real chains, real hosts, real callers.

pub mod host;
