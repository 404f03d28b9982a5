//! Reads EVM chains: endpoints with limits of time, size and rate, calls and logs at one block, and guarded fetches
//! from URLs that third parties publish. Knows nothing about credit.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod anchors;
pub mod body;
mod bounded;
pub mod call;
pub mod client;
pub mod config;
pub mod endpoint;
pub mod failover;
pub mod fault;
pub mod guarded;
mod intake;
mod limits;
pub mod logs;
mod pauses;
pub mod redact;
mod request;
pub mod single_flight;
pub mod span;
mod wording;

pub use call::{Call, returned};
pub use client::Client;
pub use fault::Fault;
pub use request::{Ask, Block};
pub use span::Span;
