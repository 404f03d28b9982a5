//! The arithmetic of the stability fee, rounded as the contracts do. `None` if they would revert.

use alloy::primitives::U256;

/// One, in rates and prices.
pub(super) const RAY: U256 = U256::from_limbs([0x9fd0803ce8000000, 0x33b2e3c, 0, 0]);
pub(super) const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// The rate of a kind of collateral after `seconds`, at a `fee` per second.
pub(super) fn accrued(rate: U256, fee: U256, seconds: u64) -> Option<U256> {
    power(fee, seconds)?.checked_mul(rate)?.checked_div(RAY)
}

/// `base` to the power of `times`, each product rounded to the nearest.
fn power(mut base: U256, mut times: u64) -> Option<U256> {
    let half = RAY >> 1_usize;
    let product = |one: U256, other: U256| one.checked_mul(other)?.checked_add(half)?.checked_div(RAY);
    let mut result = if times.is_multiple_of(2) { RAY } else { base };
    times /= 2;
    while times > 0 {
        base = product(base, base)?;
        if times % 2 == 1 {
            result = product(result, base)?;
        }
        times /= 2;
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_has_27_digits() {
        let ten = U256::from(10);
        assert_eq!((RAY, WAD), (ten.pow(U256::from(27)), ten.pow(U256::from(18))));
    }

    #[test]
    fn fees_are_compound_interest_by_the_second() {
        // 5 % a year, the way governance sets it.
        let fee = "1000000001547125957863212448".parse::<U256>().unwrap();
        let year = accrued(RAY, fee, 31_536_000).unwrap();
        let expected = RAY / U256::from(100) * U256::from(105);
        assert!(year.abs_diff(expected) < U256::from(10).pow(U256::from(17)), "{year}");
        assert_eq!(accrued(year, fee, 0), Some(year));
        assert_eq!(accrued(year, RAY, 1_000_000), Some(year), "no fee");
        assert_eq!(accrued(RAY, fee, 1), Some(fee));
        assert_eq!(accrued(U256::MAX, fee, 1), None);
    }
}
