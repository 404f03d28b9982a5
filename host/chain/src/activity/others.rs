//! The number of counterparties of an address, in bounded memory, by a sketch of the smallest hashes (KMV). It is exact
//! while no hash is left out; beyond that, it is estimated from the largest hash in the sketch, to about 4 in 100.

use std::collections::BTreeSet;

use alloy::primitives::keccak256;

use assay_domain::Address;

/// Hashes in the sketch.
const MAX_HASHES: usize = 512;

/// Counts `other`; whether a hash was left out for it.
pub(super) fn count(others: &mut BTreeSet<u64>, other: Address) -> bool {
    let hash = keccak256(other);
    let hash = hash.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte));
    others.insert(hash);
    others.len() > MAX_HASHES && others.pop_last().is_some()
}

/// The number of counterparties.
pub(super) fn number(others: &BTreeSet<u64>, left_out: bool) -> u32 {
    let hashes = u32::try_from(others.len()).unwrap_or(u32::MAX);
    match others.last() {
        Some(largest) if left_out => {
            (f64::from(hashes.saturating_sub(1)) / (*largest as f64 / u64::MAX as f64)).round() as u32
        }
        _ => hashes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(number_of: u32) -> u32 {
        let (mut others, mut left_out) = (BTreeSet::new(), false);
        for _ in 0..2 {
            for i in 0..number_of {
                left_out |= count(&mut others, Address::from_word(alloy::primitives::U256::from(i).into()));
            }
        }
        assert!(others.len() <= MAX_HASHES);
        number(&others, left_out)
    }

    #[test]
    fn few_are_counted_and_many_are_told_within_bounds() {
        for few in [0, 1, 49, 512] {
            assert_eq!(counted(few), few);
        }
        for many in [513, 2_000, 50_000] {
            assert!(f64::from(counted(many).abs_diff(many)) < 0.15 * f64::from(many), "{} of {many}", counted(many));
        }
    }
}
