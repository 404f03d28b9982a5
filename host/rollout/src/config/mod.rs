//! The sections of the configuration that this crate uses. Each section checks its own values in `problems`.

mod promotion;
mod scoring;

pub use promotion::Promotion;
pub use scoring::Scoring;
