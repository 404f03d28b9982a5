//! `/api/v2/sandbox/…`: deterministic mocks of the same shapes, for integration tests. They cost nothing and read no
//! chain.

pub mod report;
pub mod score;
