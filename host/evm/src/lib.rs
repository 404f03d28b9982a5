//! Reading Ethereum-like chains: endpoints with bounds of time, size and rate, calls and logs at one block, and guarded
//! fetches from addresses that strangers write. It knows nothing of credit.

pub mod call;
pub mod client;
pub mod config;
pub mod endpoint;
pub mod fault;
pub mod guarded;
mod intake;
pub mod logs;
pub mod redact;
pub mod single_flight;
pub mod span;
pub mod transport;
mod wording;
