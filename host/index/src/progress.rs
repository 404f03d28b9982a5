//! How far the index of a chain is, and what it was built for.

use alloy::primitives::Bytes;
use assay_domain::{Address, B256, Protocol};
use serde::{Deserialize, Serialize};

/// This many of the newest checkpoints are all kept. Older ones are thinned out.
const DENSE: usize = 64;

/// A block with its hash. The chain still has the block if it has the same hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub number: u64,
    pub hash: B256,
}

/// A market that is read for all wallets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedMarket {
    pub protocol: Protocol,
    pub address: Address,
    /// The first block that can have a log of the market.
    pub from: u64,
}

/// How the logs of a segment were compared with another source to find missing logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    None,
    /// With the logs of another endpoint.
    Endpoint,
    /// With the bloom filters of the blocks' headers.
    Bloom,
}

/// The number of blocks per kind of check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checked {
    pub unchecked: u64,
    pub by_endpoint: u64,
    pub by_bloom: u64,
}

impl Checked {
    pub(crate) fn add(&mut self, check: Check, blocks: u64) {
        let count = match check {
            Check::None => &mut self.unchecked,
            Check::Endpoint => &mut self.by_endpoint,
            Check::Bloom => &mut self.by_bloom,
        };
        *count = count.saturating_add(blocks);
    }
}

/// The index of one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexProgress {
    /// Entries refer to a market by its index in this list.
    pub markets: Vec<IndexedMarket>,
    /// Everything that decides which logs are read, as given by the caller: markets, signatures, hint contracts.
    pub asked: Bytes,
    /// Ends of segments, ascending. The last is the block through which the index is complete.
    pub checkpoints: Vec<Checkpoint>,
    /// Number of stored events.
    pub events: u64,
    /// Number of stored entries: events, amounts, and notes that logs may be incomplete.
    pub entries: u64,
    pub checked: Checked,
    /// Through this block, `asked` has every contract that the markets listed.
    #[serde(default)]
    pub listed: u64,
    /// How often blocks were removed because the chain replaced them.
    #[serde(default)]
    pub rewinds: u64,
    /// Whether entries above the last checkpoint are still to be removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) rewinding: bool,
}

impl IndexProgress {
    pub(crate) fn new(markets: Vec<IndexedMarket>, asked: Bytes) -> Self {
        let (checkpoints, checked) = (Vec::new(), Checked::default());
        Self { markets, asked, checkpoints, events: 0, entries: 0, checked, listed: 0, rewinds: 0, rewinding: false }
    }

    /// Returns the block through which the index is complete, or `None` before the first segment.
    pub fn through(&self) -> Option<Checkpoint> {
        self.checkpoints.last().copied()
    }

    /// Returns the lowest `from` of the markets.
    pub fn start(&self) -> u64 {
        self.markets.iter().map(|market| market.from).min().unwrap_or(0)
    }

    /// Returns the first block of the next segment.
    pub fn next(&self) -> u64 {
        self.through().map_or_else(|| self.start(), |through| through.number.saturating_add(1))
    }

    /// Returns the newest checkpoint at or below `block`.
    pub fn before(&self, block: u64) -> Option<Checkpoint> {
        self.checkpoints.iter().rev().find(|checkpoint| checkpoint.number <= block).copied()
    }

    /// Returns the index of the market at `address` in the list.
    pub fn market(&self, address: Address) -> Option<usize> {
        self.markets.iter().position(|market| market.address == address)
    }

    /// Whether both describe the same state of the same chain.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let facts = |of: &Self| (of.markets.clone(), of.asked.clone(), of.through(), of.entries, of.events);
        facts(self) == facts(other)
    }

    pub(crate) fn reach(&mut self, through: Checkpoint) {
        self.checkpoints.push(through);
        if self.checkpoints.len() > 2 * DENSE {
            // Halving the older ones repeatedly makes the distance grow with the age. The first one stays.
            let (old, mut place) = (self.checkpoints.len() - DENSE, 0);
            self.checkpoints.retain(|_| {
                place += 1;
                place > old || place % 2 == 1
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_checkpoints_are_all_kept_and_old_ones_thin_out() {
        let mut progress = IndexProgress::new(Vec::new(), Bytes::new());
        for number in 1..=100_000_u64 {
            progress.reach(Checkpoint { number, hash: B256::ZERO });
            assert!(progress.checkpoints.len() <= 2 * DENSE);
            assert_eq!(progress.before(number), progress.through());
        }
        let numbers: Vec<u64> = progress.checkpoints.iter().map(|checkpoint| checkpoint.number).collect();
        assert!(numbers.is_sorted());
        assert!(numbers.ends_with(&(100_000 - DENSE as u64 + 1..=100_000).collect::<Vec<_>>()));
        assert_eq!(numbers[0], 1, "the first stays");
        assert_eq!(progress.before(0), None);
    }
}
