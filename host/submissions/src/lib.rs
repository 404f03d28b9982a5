//! Everything that moves money or nonces.
//!
//! | module | owns |
//! |---|---|
//! | [`reputation`] | submissions: accepted, scored, documented, given to the registry |
//! | [`x402`] | payments by call: terms, claims, settlement |
//! | [`ipfs`] | documents on IPFS |

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod config;
pub mod ipfs;
pub mod reputation;
pub mod x402;
