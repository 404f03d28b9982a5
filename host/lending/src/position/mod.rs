//! Positions: what a wallet has and owes in the markets of a chain, and whether its history can have led there.

pub(crate) mod absent;
pub(crate) mod accounts;
pub(crate) mod cross_check;
pub(crate) mod terms_cache;
