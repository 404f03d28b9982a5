//! Splits a base amount into the part that moved supply and the part that moved debt.

use crate::tolerances;
use assay_domain::U256;

/// Whether `supply`, which the market logs right after `amount`, can be the part of it that moved supply. A larger one
/// belongs to another action of the same transaction.
pub(super) fn is_part(amount: U256, supply: U256) -> bool {
    supply.saturating_sub(amount) < tolerances::COMET_SPLIT_ROUNDING
}

/// The parts of a position that an amount changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SplitAmount {
    /// It increased or reduced the supply.
    pub supply: bool,
    /// It repaid or created debt.
    pub debt: bool,
}

/// Splits `amount`, of which the market logged `supply` as supply (zero if it logged nothing).
pub(super) fn split(amount: U256, supply: U256) -> SplitAmount {
    let debt = amount.saturating_sub(supply) >= tolerances::COMET_SPLIT_ROUNDING;
    // If there is debt, a few units of supply are the rounding of a complete repayment.
    SplitAmount { supply: if debt { supply >= tolerances::COMET_SPLIT_ROUNDING } else { !supply.is_zero() }, debt }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_amount_but_dust_is_supply_or_debt(amount in 0u64..100_000, supply in 0u64..100_000) {
            let (amount, supply) = (U256::from(amount), U256::from(supply));
            prop_assume!(is_part(amount, supply));
            let parts = split(amount, supply);
            prop_assert_eq!(parts.debt, amount >= supply + tolerances::COMET_SPLIT_ROUNDING);
            prop_assert!(parts.supply || parts.debt || amount < tolerances::COMET_SPLIT_ROUNDING);
        }

        #[test]
        fn a_part_is_no_larger_than_the_amount_and_its_rounding(amount in any::<u128>(), more in any::<u64>()) {
            let (amount, more) = (U256::from(amount), U256::from(more));
            prop_assert!(is_part(amount, amount));
            prop_assert_eq!(is_part(amount, amount + more), more < tolerances::COMET_SPLIT_ROUNDING);
        }
    }

    #[test]
    fn an_amount_is_supply_debt_or_both() {
        for (amount, supply, expected) in [
            // Nothing, and dust without a log of supply.
            (0, 0, (false, false)),
            (9, 0, (false, false)),
            // Only supply: exact, and off by rounding in either direction.
            (1_000, 1_000, (true, false)),
            (1_000, 991, (true, false)),
            (1_000, 1_003, (true, false)),
            (5, 5, (true, false)),
            (5, 4, (true, false)),
            // Only debt, and a debt whose repayment left dust.
            (10, 0, (false, true)),
            (1_000, 0, (false, true)),
            (1_000, 1, (false, true)),
            (1_000, 9, (false, true)),
            // Both, from the least to the most debt.
            (1_000, 990, (true, true)),
            (1_000, 500, (true, true)),
            (1_000, 10, (true, true)),
        ] {
            let parts = split(U256::from(amount), U256::from(supply));
            assert_eq!((parts.supply, parts.debt), expected, "{supply} of {amount}");
        }
        assert!(split(U256::MAX, U256::ZERO).debt);
    }
}
