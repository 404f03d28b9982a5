//! The sections of the configuration that this crate uses. Each section checks its own values in `problems`.

mod reputation;
mod x402;

pub use reputation::Reputation;
pub use x402::X402;
