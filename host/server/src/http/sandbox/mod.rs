//! `/api/v2/sandbox/…`: deterministic mock responses in the same form, for integration tests. They cost nothing and
//! read no chain.

pub mod report;
pub mod scenarios;
pub mod score;
