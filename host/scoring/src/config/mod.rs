//! The sections of the configuration that this crate uses. Each section checks its own values in `problems`.

mod attestation;
mod promotion;
mod scoring;

pub use attestation::{Attestation, account};
pub use promotion::Promotion;
pub use scoring::Scoring;
