//! How many others an address dealt with, counted in bounded room: the smallest hashes of them are kept. While nothing
//! had to be left out the count is exact; above, how far the kept hashes reach tells how many there are, to about 4 in
//! 100.

use std::collections::BTreeSet;

use alloy::primitives::keccak256;

use assay_domain::Address;

/// Hashes kept.
const KEPT: usize = 512;

/// Counts `other`, and tells whether a hash had to be left out for it.
pub(super) fn count(others: &mut BTreeSet<u64>, other: Address) -> bool {
    let hash = keccak256(other);
    let hash = hash.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte));
    others.insert(hash);
    others.len() > KEPT && others.pop_last().is_some()
}

/// How many there are.
pub(super) fn number(others: &BTreeSet<u64>, left_out: bool) -> u32 {
    let kept = u32::try_from(others.len()).unwrap_or(u32::MAX);
    match others.last() {
        Some(largest) if left_out => {
            (f64::from(kept.saturating_sub(1)) / (*largest as f64 / u64::MAX as f64)).round() as u32
        }
        _ => kept,
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
        assert!(others.len() <= KEPT);
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
