//! What an address holds on one chain: the native currency, configured tokens and lending positions in one request, and
//! the listed tokens that the chain says it still holds.

mod account;
mod found;
mod label;
mod pair;
mod receipts;
mod tokens;

pub(super) use account::{NATIVE_DECIMALS, WalletAccount};
pub(super) use found::{Finder, FoundTokens};
