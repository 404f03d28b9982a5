//! The sections of the configuration that this crate uses. Each section checks its own values in `problems`.

mod gas;
mod reputation;
mod x402;

pub use gas::Gas;
pub use reputation::Reputation;
pub use x402::X402;
