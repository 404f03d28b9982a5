//! A wallet's position in a cToken: its cTokens at the stored exchange rate, and its stored debt, both as of the
//! market's last use, priced by the Comptroller's oracle. The Comptroller liquidates by these figures, over all markets
//! that the wallet entered.
//!
//! Also detects whether the wallet ever had a debt, for histories that show none. Each borrowing and repayment writes
//! the market's index next to the debt, even if no debt is left. No call returns it, so it is read from the cToken's
//! storage: for wallets that entered the market, as borrowers must, and for those with an index of their debt in the
//! Comptroller. Neither proves a debt, because any sender can cause both.

use alloy::{
    primitives::{Bytes, keccak256},
    sol,
    sol_types::SolValue,
};

use super::{
    events,
    terms::{CTokenTerms, borrowIndexCall},
};
use crate::{
    figures::{
        balance::{Balance, Interest},
        hints::Hint,
        record::Side,
    },
    protocols::{AccountView, Held, LendingTerms},
};
use assay_domain::{Address, AssetSide, PositionAsset, U256};
use assay_evm::{Call, returned};

sol! {
    function getAccountSnapshot(address account) external view returns (
        uint256 error, uint256 cTokenBalance, uint256 borrowBalance, uint256 exchangeRateMantissa);
    function getUnderlyingPrice(address cToken) external view returns (uint256 price);
    function checkMembership(address account, address cToken) external view returns (bool entered);
    function getAssetsIn(address account) external view returns (address[] cTokens);
    function getAccountLiquidity(address account) external view returns (
        uint256 error, uint256 liquidity, uint256 shortfall);
}

/// Exchange rates are multiples of 10^-18 of the smallest unit.
const RATE: u64 = 1_000_000_000_000_000_000;
/// The first value of an index.
const FIRST_INDEX: u64 = 1_000_000_000_000_000_000;
/// The unit of an index, in ray.
const INDEX_IN_RAY: u64 = 1_000_000_000;
/// Scale of prices, in dollars per smallest unit.
const PRICE: f64 = 1e36;

impl LendingTerms for CTokenTerms {
    fn hints(&self) -> Vec<Hint> {
        events::hints(self.ctoken, self.underlying, self.rewards)
    }

    fn calls(&self, account: Address) -> Vec<Call> {
        let mut calls = vec![
            Call::new(self.ctoken, &getAccountSnapshotCall { account }),
            Call::new(self.oracle, &getUnderlyingPriceCall { cToken: self.ctoken }),
            Call::new(self.ctoken, &borrowIndexCall {}),
        ];
        if self.asks_for_all {
            calls.push(Call::new(self.comptroller, &getAssetsInCall { account }));
            calls.push(Call::new(self.comptroller, &getAccountLiquidityCall { account }));
        }
        calls
    }

    fn account(&self, answers: &[Option<Bytes>]) -> Option<AccountView> {
        let members = returned::<getAssetsInCall>(answers.get(3))?;
        let liquidity = returned::<getAccountLiquidityCall>(answers.get(4)).filter(|answer| answer.error.is_zero())?;
        let room = f64::from(liquidity.liquidity) - f64::from(liquidity.shortfall);
        Some(AccountView { account: self.comptroller.into_word(), members, room_usd: room / RATE as f64 })
    }

    fn traces(&self, account: Address) -> Vec<Call> {
        let index = self.dialect.map(|dialect| dialect.ask_index(self.comptroller, self.ctoken, account));
        let entered = Call::new(self.comptroller, &checkMembershipCall { account, cToken: self.ctoken });
        std::iter::once(entered).chain(index).collect()
    }

    /// Only the debt, as of the market's last use, to which its index belongs.
    fn balances(&self, answers: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let has = returned::<getAccountSnapshotCall>(answers.first()).filter(|snapshot| snapshot.error.is_zero())?;
        let index = returned::<borrowIndexCall>(answers.get(2))?.checked_mul(U256::from(INDEX_IN_RAY))?;
        let gains = Some(Interest::of(index, U256::MAX >> 192)?);
        Some(vec![Balance { gains, ..Balance::still(Side::Debt, self.ctoken, has.borrowBalance) }])
    }

    /// The answers to [`traces`](Self::traces) only allow for a debt: any sender can cause them.
    fn ever_held(&self, _: &[Option<Bytes>]) -> bool {
        false
    }

    fn trace_slot(&self, answers: &[Option<Bytes>], account: Address) -> Option<(Address, U256)> {
        let entered = returned::<checkMembershipCall>(answers.first()).is_some_and(|entered| entered);
        let indexed = self.dialect.is_some_and(|dialect| dialect.is_indexed(answers.get(1)));
        let debts = U256::from(self.debts_at.filter(|_| entered || indexed)?);
        let debt = keccak256((account, debts).abi_encode());
        // The first slot holds the debt, the next one its index.
        Some((self.ctoken, U256::from_be_bytes(debt.0).wrapping_add(U256::ONE)))
    }

    fn is_trace(&self, value: U256) -> bool {
        is_trace(value)
    }

    fn lacks(&self) -> Option<&'static str> {
        self.rewards.is_none().then_some(
            "its comptroller names rewards as no known fork does, so debts in the native currency, repayments by \
             others and liquidations may be missing",
        )
    }

    fn held(&self, answers: &[Option<Bytes>], _: Option<f64>) -> Option<Held> {
        let has = returned::<getAccountSnapshotCall>(answers.first()).filter(|snapshot| snapshot.error.is_zero())?;
        let supplied = has.cTokenBalance.checked_mul(has.exchangeRateMantissa)?.checked_div(U256::from(RATE))?;
        let borrowed = has.borrowBalance;
        if supplied.is_zero() && borrowed.is_zero() {
            return Some(Held::default());
        }
        // An oracle returns 0 if it has no price.
        let price = returned::<getUnderlyingPriceCall>(answers.get(1)).filter(|price| !price.is_zero())?;
        let dollars = |amount: U256| amount.checked_mul(price).map(|scaled| f64::from(scaled) / PRICE);
        let (supplied_usd, borrowed_usd) = (dollars(supplied)?, dollars(borrowed)?);
        let mut held =
            Held { supplied_usd, borrowed_usd, supplied_assets: u32::from(!supplied.is_zero()), ..Held::default() };
        let sides = [(AssetSide::Collateral, supplied, supplied_usd), (AssetSide::Debt, borrowed, borrowed_usd)];
        for (side, amount, usd) in sides.into_iter().filter(|(_, amount, _)| !amount.is_zero()) {
            let Some(decimals) = self.decimals else { continue };
            let factor = self.factor.filter(|_| side == AssetSide::Collateral);
            held.parts.assets.push(PositionAsset {
                token: self.underlying,
                symbol: None,
                side,
                amount,
                decimals,
                usd,
                liquidation_threshold: factor.map(|factor| f64::from(factor) / RATE as f64),
                price_usd: Some(f64::from(price) / PRICE * 10_f64.powi(decimals.into())),
                account: self.comptroller.into_word(),
            });
        }
        Some(held)
    }
}

/// Whether a debt left its index in a slot.
fn is_trace(value: U256) -> bool {
    value >= U256::from(FIRST_INDEX)
}

#[cfg(test)]
mod tests;
