//! What is written to a chain: transactions of one account, signed and persisted before they are sent, and payments by
//! signature. It reads what it needs of the chain and keeps nothing itself.

pub mod payment;
pub mod sender;
