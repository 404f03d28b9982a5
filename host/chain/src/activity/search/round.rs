//! The questions of one round trip of a search, and how many there are of them.

use std::collections::BTreeSet;

use super::bracket::Bracket;

/// How exactly transactions are dated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Goal {
    /// To the UTC day.
    Day,
    /// To the block.
    Block,
}

/// Maximum nonces of a round for each transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Width {
    /// Of the first round, which divides the whole chain for both transactions.
    pub first: u64,
    pub later: u64,
}

impl Width {
    /// Few round trips: five rounds divide 33 million blocks (32 to the power of 5).
    pub(super) const WIDE: Self = Self { first: 31, later: 31 };
    /// Few calls in few round trips: six rounds find the day of both transactions among 25 million blocks.
    pub(super) const BALANCED: Self = Self { first: 20, later: 4 };
    /// [`WIDE`](Self::WIDE) on an endpoint that limits its rate.
    pub(super) const PACED: Self = Self { first: 7, later: 7 };
    /// Fewest calls: each round halves.
    pub(super) const HALVING: Self = Self { first: 1, later: 1 };

    pub(super) fn is_halving(self) -> bool {
        self == Self::HALVING
    }

    /// Blocks among which one round decides, and asks for the time of each.
    pub(super) fn decided(self) -> u64 {
        if self.is_halving() { 1 } else { self.later + 1 }
    }
}

/// How a search proceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SearchPlan {
    pub goal: Goal,
    pub width: Width,
    /// Accounts of the chain had nonces before its first block.
    pub genesis_accounts: bool,
}

/// Questions of one round trip: nonces after blocks, and blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SearchRound {
    pub nonces: BTreeSet<u64>,
    pub blocks: BTreeSet<u64>,
    /// The balance after block 0.
    pub first_balance: bool,
}

impl SearchRound {
    pub(super) fn is_empty(&self) -> bool {
        self.nonces.is_empty() && self.blocks.is_empty() && !self.first_balance
    }

    /// The first round, when the nonce is not known yet: it divides the blocks up to `top`.
    pub(super) fn first(top: u64, width: Width) -> Self {
        let all = Bracket { low: 0, high: top, low_seen: true };
        Self { nonces: all.probes(width.first), ..Self::default() }
    }
}
