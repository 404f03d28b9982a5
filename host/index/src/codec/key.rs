//! The key of a wallet's entries in one market and one segment: wallet, market, block of the first entry. A wallet's
//! history is all keys that begin with its address, ordered by market and block.

use assay_domain::Address;

/// Highest block number that fits into five bytes.
pub(crate) const MOST_BLOCK: u64 = (1 << 40) - 1;
/// Maximum markets per chain: two bytes.
pub(crate) const MOST_MARKETS: usize = 1 << 16;

const BYTES: usize = 27;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryKey {
    pub wallet: Address,
    /// Index of the market in the chain's list.
    pub market: u16,
    pub block: u64,
}

impl EntryKey {
    pub(crate) fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let [.., a, b, c, d, e] = self.block.to_be_bytes();
        let parts = self.wallet.iter().copied().chain(self.market.to_be_bytes()).chain([a, b, c, d, e]);
        bytes.iter_mut().zip(parts).for_each(|(to, part)| *to = part);
        bytes
    }

    /// Returns `None` if `bytes` is not a key.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (wallet, rest) = bytes.split_first_chunk::<20>()?;
        let (market, block) = rest.split_first_chunk::<2>()?;
        let [a, b, c, d, e] = *<&[u8; 5]>::try_from(block).ok()?;
        Some(Self {
            wallet: Address::from(*wallet),
            market: u16::from_be_bytes(*market),
            block: u64::from_be_bytes([0, 0, 0, a, b, c, d, e]),
        })
    }

    /// Returns an upper bound of all keys of a wallet.
    pub(crate) fn after(wallet: Address) -> [u8; BYTES] {
        Self { wallet, market: u16::MAX, block: MOST_BLOCK }.bytes()
    }
}
