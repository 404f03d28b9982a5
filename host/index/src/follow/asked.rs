//! What was asked for an index, as it is kept beside it: for each market the digest of what was asked for it, and the
//! contracts of its hints.

use std::collections::BTreeSet;

use alloy::primitives::Bytes;

use assay_domain::{Address, B256};
use assay_lending::Scan;

/// One digest for each market, then the contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexRequests {
    pub markets: Vec<B256>,
    pub contracts: BTreeSet<Address>,
}

impl IndexRequests {
    /// What `scan` asks for the markets at `places`.
    pub(crate) fn of(scan: &Scan, places: &[usize]) -> Self {
        let markets = places.iter().map(|place| scan.asked(*place).unwrap_or_default()).collect();
        Self { markets, contracts: scan.hint_contracts() }
    }

    /// From the bytes of an index of so many `markets`; `None` if they are something else.
    pub(crate) fn read(bytes: &Bytes, markets: usize) -> Option<Self> {
        let (digests, contracts) = bytes.split_at_checked(markets.checked_mul(32)?)?;
        let (digests, contracts) = (digests.chunks_exact(32), contracts.chunks_exact(20));
        contracts.remainder().is_empty().then(|| Self {
            markets: digests.map(B256::from_slice).collect(),
            contracts: contracts.map(Address::from_slice).collect(),
        })
    }

    pub(crate) fn bytes(&self) -> Bytes {
        let digests = self.markets.iter().flat_map(|digest| digest.0);
        digests.chain(self.contracts.iter().flat_map(|contract| contract.0.0)).collect::<Vec<u8>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_read_as_it_was_written() {
        let asked = IndexRequests {
            markets: vec![B256::repeat_byte(1), B256::repeat_byte(2)],
            contracts: [3, 4, 5].map(Address::repeat_byte).into(),
        };
        assert_eq!(IndexRequests::read(&asked.bytes(), 2), Some(asked.clone()));
        assert_eq!(IndexRequests::read(&asked.bytes(), 1), None);
        assert_eq!(IndexRequests::read(&Bytes::new(), 1), None);
    }
}
