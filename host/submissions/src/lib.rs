//! Everything that moves money or nonces.
//!
//! | module | owns |
//! |---|---|
//! | [`reputation`] | submissions: accepted, scored, documented, given to the registry |
//! | [`x402`] | payments by call: terms, claims, settlement |
//! | [`gas`] | what the account may lose on transactions that bring nothing |
//! | [`feedback`] | the ERC-8004 registries, as the account that gives feedback uses them |
//! | [`ipfs`] | documents on IPFS |

#![cfg_attr(not(test), warn(unreachable_pub))]

#[cfg(test)]
mod adversary;
pub mod config;
pub mod feedback;
pub mod gas;
pub mod ipfs;
pub mod reputation;
pub mod x402;
