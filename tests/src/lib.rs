//! End-to-end tests on real parts.

pub mod hostile;
