//! The arithmetic of a market: interest since its last use, and the value of shares. Each function rounds as the
//! contract does, and returns `None` if the contract would revert.

use alloy::primitives::U256;

/// One, in rates, fees and thresholds.
pub(super) const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);
/// The unit of prices: smallest units of the borrowed token per smallest unit of the collateral.
pub(super) const ORACLE_SCALE: U256 = U256::from_limbs([0xb34b9f1000000000, 0xc097ce7bc90715, 0, 0]);
/// Shares and assets without an owner, which keep the first supplier of a market from choosing the price of a share.
const VIRTUAL_SHARES: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);
const VIRTUAL_ASSETS: U256 = U256::ONE;

/// The totals of a market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MorphoTotals {
    pub supply_assets: U256,
    pub supply_shares: U256,
    pub borrow_assets: U256,
    pub borrow_shares: U256,
    /// The share of the interest that goes to the contract's owner.
    pub fee: U256,
}

impl MorphoTotals {
    /// The totals after `seconds` of interest at a `rate` per second.
    pub(super) fn after(self, rate: U256, seconds: u64) -> Option<Self> {
        let interest = wad_down(self.borrow_assets, growth(rate, U256::from(seconds))?)?;
        let borrow_assets = self.borrow_assets.checked_add(interest)?;
        let supply_assets = self.supply_assets.checked_add(interest)?;
        let fee = wad_down(interest, self.fee)?;
        let without = supply_assets.checked_sub(fee)?;
        let fee_shares =
            down(fee, self.supply_shares.checked_add(VIRTUAL_SHARES)?, without.checked_add(VIRTUAL_ASSETS)?)?;
        let supply_shares = self.supply_shares.checked_add(fee_shares)?;
        Some(Self { supply_assets, supply_shares, borrow_assets, ..self })
    }

    /// The value of these shares of the deposits.
    pub(super) fn supplied(&self, shares: U256) -> Option<U256> {
        let (assets, all) = (self.supply_assets.checked_add(VIRTUAL_ASSETS)?, self.supply_shares);
        down(shares, assets, all.checked_add(VIRTUAL_SHARES)?)
    }

    /// The amount of these shares of the debts.
    pub(super) fn borrowed(&self, shares: U256) -> Option<U256> {
        let (assets, all) = (self.borrow_assets.checked_add(VIRTUAL_ASSETS)?, self.borrow_shares);
        let all = all.checked_add(VIRTUAL_SHARES)?;
        shares.checked_mul(assets)?.checked_add(all.checked_sub(U256::ONE)?)?.checked_div(all)
    }
}

/// The debt at which a position with this collateral is liquidated.
pub(super) fn most_debt(collateral: U256, price: U256, lltv: U256) -> Option<U256> {
    wad_down(down(collateral, price, ORACLE_SCALE)?, lltv)
}

/// Compound interest on one unit, by the first three terms of its series.
fn growth(rate: U256, seconds: U256) -> Option<U256> {
    let first = rate.checked_mul(seconds)?;
    let second = down(first, first, WAD.checked_mul(U256::from(2))?)?;
    let third = down(second, first, WAD.checked_mul(U256::from(3))?)?;
    first.checked_add(second)?.checked_add(third)
}

fn wad_down(one: U256, other: U256) -> Option<U256> {
    down(one, other, WAD)
}

fn down(one: U256, other: U256, by: U256) -> Option<U256> {
    one.checked_mul(other)?.checked_div(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: u64) -> U256 {
        U256::from(number)
    }

    #[test]
    fn the_scales_are_powers_of_ten() {
        assert_eq!((WAD, ORACLE_SCALE), (number(10).pow(number(18)), number(10).pow(number(36))));
    }

    #[test]
    fn interest_adds_to_debts_and_deposits_and_a_part_of_it_is_the_fee() {
        let million = number(1_000_000);
        let totals = MorphoTotals {
            supply_assets: million * number(2),
            supply_shares: million * million * number(2),
            borrow_assets: million,
            borrow_shares: million * million,
            fee: WAD / number(10),
        };
        // A tenth in all: 1 / 10 + 1 / 200 + 1 / 6,000 of a million.
        let after = totals.after(WAD / number(1_000), 100).unwrap();
        assert_eq!((after.borrow_assets, after.supply_assets), (number(1_105_166), number(2_105_166)));
        assert!(after.supply_shares > totals.supply_shares && after.borrow_shares == totals.borrow_shares);
        // The fee goes to none of the suppliers.
        let (all, fee) = (after.supplied(totals.supply_shares).unwrap(), number(10_516));
        assert!(all.abs_diff(number(2_105_166) - fee) <= number(3), "{all}");
        assert_eq!(totals.after(number(0), 100), Some(totals));
        assert_eq!(totals.after(U256::MAX, 2), None);
    }

    #[test]
    fn a_debt_is_rounded_up_and_a_deposit_down() {
        let totals = MorphoTotals {
            supply_assets: number(100),
            supply_shares: number(100_000_000),
            borrow_assets: number(100),
            borrow_shares: number(100_000_000),
            fee: U256::ZERO,
        };
        let half = number(1_500_000);
        assert_eq!((totals.supplied(half), totals.borrowed(half)), (Some(number(1)), Some(number(2))));
        assert_eq!((totals.supplied(U256::ZERO), totals.borrowed(U256::ZERO)), (Some(U256::ZERO), Some(U256::ZERO)));
        assert_eq!(totals.borrowed(U256::MAX), None);
    }

    #[test]
    fn the_most_debt_is_a_share_of_what_the_oracle_says() {
        let price = ORACLE_SCALE * number(2);
        assert_eq!(most_debt(number(50), price, WAD * number(8) / number(10)), Some(number(80)));
        assert_eq!(most_debt(number(50), U256::MAX, WAD), None, "the contract would revert");
    }
}
