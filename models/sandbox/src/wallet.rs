//! A mock wallet: what is drawn from an address before any answer is given.

use crate::{
    band::{self, Band},
    dice::Dice,
    places::{CHAINS, Chain},
    score,
};

/// The sandbox's last day, 2026-01-01T00:00:00Z: everything happened before it, so that no answer ever lies in the
/// future.
pub const LAST: u64 = 1_767_225_600;
pub const DAY: u64 = 86_400;

/// Topics, each with a stream of its own.
pub mod topic {
    pub const LIFE: u64 = 1;
    pub const TOKENS: u64 = 2;
    pub const NFTS: u64 = 3;
    pub const LENDING: u64 = 4;
    pub const FACTORS: u64 = 5;
}

/// The life of a wallet in figures.
pub struct Wallet {
    pub score: u32,
    pub band: &'static Band,
    pub chains: Vec<&'static Chain>,
    /// Unix seconds.
    pub first_transaction: u64,
    pub transactions: u64,
    /// What all tokens together are worth, about.
    pub dollars: u64,
}

impl Wallet {
    pub fn of(address: &[u8]) -> Self {
        let score = score(address);
        let band = band::of(score);
        let mut dice = Dice::new(address, topic::LIFE);
        let mut drawn = |range: &std::ops::RangeInclusive<u64>| dice.within(range.clone());
        let first_transaction = LAST - drawn(&band.days) * DAY - drawn(&(0..=DAY));
        let transactions = drawn(&band.transactions);
        let dollars = drawn(&band.dollars);
        let count = usize::try_from(drawn(&band.chains)).unwrap_or(1);
        let chains = dice.choose(count, CHAINS.len()).into_iter().filter_map(|at| CHAINS.get(at)).collect();
        Self { score, band, chains, first_transaction, transactions, dollars }
    }
}
