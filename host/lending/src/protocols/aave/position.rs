//! A wallet's position in an Aave pool: aToken and debt balances from the pool's data provider, times the prices of the
//! pool's oracle. Arithmetic is in integers until the last step.

use alloy::{primitives::Bytes, sol};

use super::{
    Version, fixed, scaled,
    terms::{PoolTerms, Reserve},
};
use crate::{
    asset::Asset,
    figures::{
        balance::Balance,
        hints::{Hint, Naming, TRANSFER},
        record::Side,
    },
    protocols::{Held, HeldParts, LendingTerms},
};
use assay_domain::{Address, U256};
use assay_evm::{Call, returned};

sol! {
    function getUserReserveData(address asset, address user) external view returns (
        uint256 aTokenBalance, uint256 stableDebt, uint256 variableDebt, uint256 principalStableDebt,
        uint256 scaledVariableDebt,
        uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateral);
    /// On aTokens and debt tokens of v3: not zero for a wallet that ever received one.
    function getPreviousIndex(address user) external view returns (uint256 index);
    /// On aTokens: the stored balance, which is the balance divided by the index.
    function scaledBalanceOf(address user) external view returns (uint256 amount);
    /// On a rewards controller of v2: the index at the last change of a balance; not zero for a wallet that ever had
    /// one.
    function getUserAssetData(address user, address asset) external view returns (uint256 index);
    function getUserAccountData(address user) external view returns (
        uint256 totalCollateral, uint256 totalDebt, uint256 availableBorrows, uint256 currentLiquidationThreshold,
        uint256 ltv, uint256 healthFactor);
    function getAssetsPrices(address[] assets) external view returns (uint256[] prices);
}

/// Scale of sums, in dollars or the quoted asset.
const SCALE: u64 = 1_000_000_000_000_000_000;

/// Basis points in a whole.
const BASIS: f64 = 10_000.0;

impl LendingTerms for PoolTerms {
    fn calls(&self, user: Address) -> Vec<Call> {
        let assets: Vec<_> = self.reserves.iter().map(|reserve| reserve.asset).collect();
        let balances =
            assets.iter().map(|asset| Call::new(self.data_provider, &getUserReserveDataCall { asset: *asset, user }));
        let prices = Call::new(self.oracle, &getAssetsPricesCall { assets: assets.clone() });
        let account = Call::new(self.pool, &getUserAccountDataCall { user });
        let scaled = self.scaled_supplies().map(|reserve| Call::new(reserve.token, &scaledBalanceOfCall { user }));
        balances.chain([prices, account]).chain(scaled).collect()
    }

    fn receipts(&self) -> Vec<Address> {
        let tokens = |reserve: &Reserve| {
            [Some(reserve.token), Some(reserve.debt_token), reserve.stable_debt_token].into_iter().flatten()
        };
        self.reserves.iter().flat_map(tokens).collect()
    }

    /// Tokens of v2 keep no trace, and do not answer. Their rewards controller has one for each change of a balance
    /// since it began to pay rewards (April 2021 on Ethereum).
    fn traces(&self, user: Address) -> Vec<Call> {
        let call = |(token, _, reserve): (Address, Side, &Reserve)| match reserve.rewards {
            Some(controller) => Call::new(controller, &getUserAssetDataCall { user, asset: token }),
            None => Call::new(token, &getPreviousIndexCall { user }),
        };
        self.tokens().map(call).collect()
    }

    /// Each change of a balance leaves a trace and emits a transfer. In v2 claiming a token's rewards also leaves a
    /// trace; only the wallet itself can claim.
    fn ever_held(&self, answers: &[Option<Bytes>]) -> bool {
        answers
            .iter()
            .any(|answer| returned::<getPreviousIndexCall>(Some(answer)).is_some_and(|index| !index.is_zero()))
    }

    /// Empty for v2, in which a claim of rewards leaves a trace too.
    fn touched(&self, answers: &[Option<Bytes>]) -> Vec<(Side, Asset)> {
        let is_touched = |answer| returned::<getPreviousIndexCall>(Some(answer)).is_some_and(|index| !index.is_zero());
        let touched = self.tokens().zip(answers).filter(|(_, answer)| is_touched(answer));
        let shown = touched.filter(|((_, side, reserve), _)| scaled::is_shown(*side, reserve.asset));
        let balances = shown.map(|((_, side, reserve), _)| (side, Asset::Scaled(reserve.asset)));
        balances.filter(|_| self.version == Version::V3).collect()
    }

    fn held(&self, answers: &[Option<Bytes>], quote_usd: Option<f64>) -> Option<Held> {
        let prices = returned::<getAssetsPricesCall>(answers.get(self.reserves.len()))?;
        let (mut supplied, mut borrowed, mut assets) = (U256::ZERO, U256::ZERO, 0);
        let (mut collateral, mut debts) = (Vec::new(), Vec::new());
        for (i, reserve) in self.reserves.iter().enumerate() {
            let data = returned::<getUserReserveDataCall>(answers.get(i))?;
            let (owned, owed) = self.worth(&data, *prices.get(i)?, reserve.decimals)?;
            supplied = supplied.checked_add(owned)?;
            borrowed = borrowed.checked_add(owed)?;
            assets += u32::from(!data.aTokenBalance.is_zero());
            if data.usageAsCollateral && !owned.is_zero() {
                collateral.push((reserve.asset, owned));
            }
            if !owed.is_zero() {
                debts.push((reserve.asset, owed));
            }
        }
        let empty = supplied.is_zero() && borrowed.is_zero();
        let worth = match self.quote.asset {
            None => 1.0,
            Some(_) if empty => 0.0,
            Some(_) => quote_usd?,
        };
        let dollars = |scaled| f64::from(scaled) / SCALE as f64 * worth;
        let priced =
            |of: Vec<(Address, U256)>| of.into_iter().map(|(asset, scaled)| (asset, dollars(scaled))).collect();
        let data = returned::<getUserAccountDataCall>(answers.get(self.reserves.len() + 1));
        let parts = HeldParts {
            threshold: data.as_ref().and_then(threshold),
            health_factor: data.as_ref().and_then(health_factor),
            lacking: data.is_none() && !empty,
            unpriced: Vec::new(),
            collateral: priced(collateral),
            debt: priced(debts),
        };
        let (supplied_usd, borrowed_usd) = (dollars(supplied), dollars(borrowed));
        Some(Held { supplied_usd, borrowed_usd, supplied_assets: assets, parts })
    }

    /// Transfers of each aToken, whose holder owns the supply, and changes of the stored balances.
    fn hints(&self) -> Vec<Hint> {
        let transfers = |reserve: &Reserve| Hint {
            contract: reserve.token,
            topic0: TRANSFER,
            naming: Naming::Holder(reserve.asset),
            explained_by: &[],
        };
        let changes = self
            .reserves
            .iter()
            .flat_map(|reserve| scaled::hints(self.version, reserve.asset, reserve.token, reserve.debt_token));
        let fixed = self.fixed_debts().flat_map(|(reserve, token)| fixed::hints(reserve.asset, token));
        self.reserves.iter().map(transfers).chain(changes).chain(fixed).collect()
    }

    fn balances(&self, answers: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let still = |side, asset, amount| Balance::still(side, Asset::Scaled(asset), amount);
        let mut balances = Vec::new();
        // These answers follow those of the reserves, the prices and the account.
        for (reserve, i) in self.scaled_supplies().zip(self.reserves.len().saturating_add(2)..) {
            let amount = returned::<scaledBalanceOfCall>(answers.get(i))?;
            balances.push(still(Side::Supply, reserve.asset, amount));
        }
        for (i, reserve) in self.reserves.iter().enumerate() {
            let data = returned::<getUserReserveDataCall>(answers.get(i))?;
            let debt = data.stableDebt.checked_add(data.variableDebt)?;
            let (asset, rebasing) = (reserve.asset, scaled::is_rebasing(reserve.asset));
            if scaled::is_shown(Side::Debt, asset) {
                balances.push(still(Side::Debt, asset, data.scaledVariableDebt));
            }
            if self.fixed_debts().any(|(fixed, _)| fixed.asset == asset) {
                balances.push(Balance::still(Side::Debt, Asset::Fixed(asset), data.principalStableDebt));
            }
            let balance = |side, amount, interest| Balance {
                gains: Some(interest),
                rebasing,
                ..Balance::still(side, asset, amount)
            };
            balances.push(balance(Side::Supply, data.aTokenBalance, reserve.supply));
            balances
                .push(Balance { fixed_rate: !data.stableDebt.is_zero(), ..balance(Side::Debt, debt, reserve.debt) });
        }
        Some(balances)
    }

    fn token(&self, _: Side, asset: Asset) -> Option<(Address, f64)> {
        let Asset::Token(asset) = asset else { return None };
        let reserve = self.reserves.iter().find(|reserve| reserve.asset == asset)?;
        Some((asset, 10_f64.powi(reserve.decimals.into())))
    }

    fn oracle(&self) -> Option<(Address, U256)> {
        self.quote.asset.is_none().then_some((self.oracle, self.quote.unit))
    }

    fn quoted_in(&self) -> Option<Address> {
        self.quote.asset
    }
}

/// The pool returns basis points, and zero without collateral.
fn threshold(data: &getUserAccountDataReturn) -> Option<f64> {
    let points = data.currentLiquidationThreshold;
    (!points.is_zero()).then(|| f64::from(points) / BASIS)
}

/// The pool returns the largest number if there is no debt.
fn health_factor(data: &getUserAccountDataReturn) -> Option<f64> {
    (data.healthFactor != U256::MAX).then(|| f64::from(data.healthFactor) / SCALE as f64)
}

impl PoolTerms {
    /// The reserves whose stored supply is requested.
    fn scaled_supplies(&self) -> impl Iterator<Item = &Reserve> {
        self.reserves.iter().filter(|reserve| scaled::is_shown(Side::Supply, reserve.asset))
    }

    /// The reserves with debt at a fixed rate whose logs show it, and its token. In v3 nobody may borrow so.
    fn fixed_debts(&self) -> impl Iterator<Item = (&Reserve, Address)> {
        let reserves = self.reserves.iter().filter(|_| self.version == Version::V2);
        reserves.filter_map(|reserve| Some((reserve, reserve.stable_debt_token?)))
    }

    /// The tokens of the reserves.
    fn tokens(&self) -> impl Iterator<Item = (Address, Side, &Reserve)> {
        self.reserves
            .iter()
            .flat_map(|reserve| [(reserve.token, Side::Supply, reserve), (reserve.debt_token, Side::Debt, reserve)])
            .filter(|(token, ..)| !token.is_zero())
    }

    /// The wallet's supply and debt in a reserve, scaled.
    fn worth(&self, data: &getUserReserveDataReturn, price: U256, decimals: u8) -> Option<(U256, U256)> {
        let debt = data.stableDebt.checked_add(data.variableDebt)?;
        Some((self.scaled(data.aTokenBalance, price, decimals)?, self.scaled(debt, price, decimals)?))
    }

    fn scaled(&self, amount: U256, price: U256, decimals: u8) -> Option<U256> {
        if amount.is_zero() {
            return Some(U256::ZERO);
        }
        // An oracle returns 0 if it has no price.
        let price = Some(price).filter(|price| !price.is_zero())?;
        let divisor = U256::from(10).checked_pow(U256::from(decimals))?.checked_mul(self.quote.unit)?;
        amount.checked_mul(price)?.checked_mul(U256::from(SCALE))?.checked_div(divisor)
    }
}

#[cfg(test)]
mod tests;
