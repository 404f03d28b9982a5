//! Writes to a chain: transactions of one account, and payments by signature (ERC-3009). This crate stores nothing: the
//! caller persists a signed transaction before it sends it.

pub mod nonce;
pub mod payment;
pub mod sender;
