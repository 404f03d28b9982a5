//! Writes to a chain: the transactions of one account, its nonces, and the gas that it may lose. The caller persists a
//! signed transaction before it sends it.

pub mod gas;
pub mod nonce;
pub mod sender;
