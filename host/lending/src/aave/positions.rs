//! A wallet's position in an Aave pool: aToken and debt balances from the pool's data provider, times the prices of the
//! pool's oracle, in integers until the last step.

use alloy::{primitives::Bytes, sol};

use crate::{
    balance::{Balance, Interest},
    hints::{Hint, Naming, TRANSFER},
    progress::Side,
    protocol::{Held, HeldParts, LendingTerms},
};
use assay_domain::{Address, U256, address};
use assay_evm::{Call, returned};

sol! {
    function getUserReserveData(address asset, address user) external view returns (
        uint256 aTokenBalance, uint256 stableDebt, uint256 variableDebt, uint256 principalStableDebt, uint256 scaledVariableDebt,
        uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateral);
    /// Of aTokens and debt tokens of v3: not zero for a wallet that ever received one.
    function getPreviousIndex(address user) external view returns (uint256 index);
    /// Of a controller of rewards of v2: the index at the last change of a balance, not zero for a wallet that had one.
    function getUserAssetData(address user, address asset) external view returns (uint256 index);
    function getUserAccountData(address user) external view returns (
        uint256 totalCollateral, uint256 totalDebt, uint256 availableBorrows, uint256 currentLiquidationThreshold,
        uint256 ltv, uint256 healthFactor);
    function getAssetsPrices(address[] assets) external view returns (uint256[] prices);
}

/// The terms of a pool: its helper contracts, and its reserves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    pub pool: Address,
    pub data_provider: Address,
    pub oracle: Address,
    pub quote: Quote,
    pub reserves: Vec<Reserve>,
}

/// The unit of an oracle's prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote {
    /// `None` for the dollar.
    pub asset: Option<Address>,
    /// The oracle's number for one of it, never zero.
    pub unit: U256,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reserve {
    pub asset: Address,
    pub decimals: u8,
    /// The aToken, which represents a supply.
    pub token: Address,
    /// The token of debt at the variable rate.
    pub debt_token: Address,
    /// The controller of rewards of a token of v2, if any.
    pub rewards: Option<Address>,
    /// The growth of supplies and of debts at the variable rate.
    pub supply: Interest,
    pub debt: Interest,
}

/// Scale of sums: dollars, or the quoted asset, times this.
const SCALE: u64 = 1_000_000_000_000_000_000;

/// Basis points of a whole.
const BASIS: f64 = 10_000.0;

/// Rebasing tokens, whose balances change without transfers, and with them those of their aTokens: stETH and AMPL, both
/// in v2 on Ethereum. The sum of supplies does not show their balance.
const REBASING: [Address; 2] =
    [address!("0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84"), address!("0xD46bA6D942050d489DBd938a2C909A5d5039A161")];

impl LendingTerms for Terms {
    fn calls(&self, user: Address) -> Vec<Call> {
        let assets: Vec<_> = self.reserves.iter().map(|reserve| reserve.asset).collect();
        let balances =
            assets.iter().map(|asset| Call::new(self.data_provider, &getUserReserveDataCall { asset: *asset, user }));
        let prices = Call::new(self.oracle, &getAssetsPricesCall { assets: assets.clone() });
        balances.chain([prices, Call::new(self.pool, &getUserAccountDataCall { user })]).collect()
    }

    /// Tokens of v2 keep no trace, and do not answer. Their controller of rewards has one of each change of a balance
    /// since it began to pay rewards (April 2021 on Ethereum).
    fn traces(&self, user: Address) -> Vec<Call> {
        let tokens = self
            .reserves
            .iter()
            .flat_map(|reserve| [(reserve.token, reserve.rewards), (reserve.debt_token, reserve.rewards)]);
        let call = |(token, rewards): (Address, Option<Address>)| match rewards {
            Some(controller) => Call::new(controller, &getUserAssetDataCall { user, asset: token }),
            None => Call::new(token, &getPreviousIndexCall { user }),
        };
        tokens.filter(|(token, _)| !token.is_zero()).map(call).collect()
    }

    /// Each change of a balance leaves a trace, and emits a transfer; in v2 a request for the rewards of a token leaves
    /// one too, which only the wallet itself can send.
    fn ever_held(&self, answers: &[Option<Bytes>]) -> bool {
        answers
            .iter()
            .any(|answer| returned::<getPreviousIndexCall>(Some(answer)).is_some_and(|index| !index.is_zero()))
    }

    fn held(&self, answers: &[Option<Bytes>], quote_usd: Option<f64>) -> Option<Held> {
        let prices = returned::<getAssetsPricesCall>(answers.get(self.reserves.len()))?;
        let (mut supplied, mut borrowed, mut assets) = (U256::ZERO, U256::ZERO, 0);
        let (mut collateral, mut debts) = (Vec::new(), Vec::new());
        for (i, reserve) in self.reserves.iter().enumerate() {
            let data = returned::<getUserReserveDataCall>(answers.get(i))?;
            let price = *prices.get(i)?;
            let debt = data.stableDebt.checked_add(data.variableDebt)?;
            let (owned, owed) = (
                self.scaled(data.aTokenBalance, price, reserve.decimals)?,
                self.scaled(debt, price, reserve.decimals)?,
            );
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
        let worth = match self.quote.asset {
            None => 1.0,
            Some(_) if supplied.is_zero() && borrowed.is_zero() => 0.0,
            Some(_) => quote_usd?,
        };
        let dollars = |scaled| f64::from(scaled) / SCALE as f64 * worth;
        let priced =
            |of: Vec<(Address, U256)>| of.into_iter().map(|(asset, scaled)| (asset, dollars(scaled))).collect();
        let data = returned::<getUserAccountDataCall>(answers.get(self.reserves.len() + 1));
        let parts = HeldParts {
            threshold: data.as_ref().and_then(threshold),
            health_factor: data.as_ref().and_then(health_factor),
            lacking: data.is_none() && !(supplied.is_zero() && borrowed.is_zero()),
            collateral: priced(collateral),
            debt: priced(debts),
        };
        let (supplied_usd, borrowed_usd) = (dollars(supplied), dollars(borrowed));
        Some(Held { supplied_usd, borrowed_usd, supplied_assets: assets, parts })
    }

    /// Transfers of each aToken: its holder owns the supply.
    fn hints(&self) -> Vec<Hint> {
        let hint = |reserve: &Reserve| Hint {
            contract: reserve.token,
            topic0: TRANSFER,
            naming: Naming::Holder(reserve.asset),
            explained_by: &[],
        };
        self.reserves.iter().map(hint).collect()
    }

    fn balances(&self, answers: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let mut balances = Vec::new();
        for (i, reserve) in self.reserves.iter().enumerate() {
            let data = returned::<getUserReserveDataCall>(answers.get(i))?;
            let debt = data.stableDebt.checked_add(data.variableDebt)?;
            let (asset, rebasing) = (reserve.asset, REBASING.contains(&reserve.asset));
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

    fn token(&self, _: Side, asset: Address) -> Option<(Address, f64)> {
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

/// In basis points; zero without collateral.
fn threshold(data: &getUserAccountDataReturn) -> Option<f64> {
    let points = data.currentLiquidationThreshold;
    (!points.is_zero()).then(|| f64::from(points) / BASIS)
}

/// The largest number without debt.
fn health_factor(data: &getUserAccountDataReturn) -> Option<f64> {
    (data.healthFactor != U256::MAX).then(|| f64::from(data.healthFactor) / SCALE as f64)
}

impl Terms {
    fn scaled(&self, amount: U256, price: U256, decimals: u8) -> Option<U256> {
        if amount.is_zero() {
            return Some(U256::ZERO);
        }
        // An oracle returns 0 where it has no price.
        let price = Some(price).filter(|price| !price.is_zero())?;
        let divisor = U256::from(10).checked_pow(U256::from(decimals))?.checked_mul(self.quote.unit)?;
        amount.checked_mul(price)?.checked_mul(U256::from(SCALE))?.checked_div(divisor)
    }
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolCall;

    use super::*;

    fn terms() -> Terms {
        let interest = Interest::of(U256::from(10).pow(U256::from(27)), U256::ZERO).unwrap();
        let token = Address::ZERO;
        let reserve = |byte, decimals| Reserve {
            asset: Address::repeat_byte(byte),
            decimals,
            token,
            debt_token: token,
            rewards: None,
            supply: interest,
            debt: interest,
        };
        Terms {
            pool: Address::ZERO,
            data_provider: Address::ZERO,
            oracle: Address::ZERO,
            quote: Quote { asset: None, unit: U256::from(100_000_000) },
            reserves: vec![reserve(1, 18), reserve(2, 6)],
        }
    }

    fn data(supplied: u128, variable: u128) -> Option<Bytes> {
        let none = U256::ZERO;
        let stamp = alloy::primitives::aliases::U40::ZERO;
        let data = (U256::from(supplied), none, U256::from(variable), none, none, none, none, stamp, false).into();
        Some(getUserReserveDataCall::abi_encode_returns(&data).into())
    }

    fn prices(prices: [u64; 2]) -> Option<Bytes> {
        Some(getAssetsPricesCall::abi_encode_returns(&prices.map(U256::from).to_vec()).into())
    }

    #[test]
    fn a_position_is_balances_times_prices() {
        let answers =
            [data(6_750_000_000_000_000_000, 0), data(0, 1_000_000_000), prices([140_000_000_000, 100_000_000])];
        let held = terms().held(&answers, None).unwrap();
        assert_eq!((held.supplied_usd, held.borrowed_usd, held.supplied_assets), (9_450.0, 1_000.0, 1));
    }

    #[test]
    fn a_pool_says_how_far_a_position_is_from_a_liquidation() {
        let mut answers =
            vec![data(6_750_000_000_000_000_000, 0), data(0, 1_000_000_000), prices([140_000_000_000, 100_000_000])];
        let unread = terms().held(&answers, None).unwrap().parts;
        assert_eq!((unread.threshold, unread.health_factor, unread.lacking), (None, None, true));
        let words = |threshold: u64, factor: U256| {
            let none = U256::ZERO;
            let data = (none, none, none, U256::from(threshold), none, factor).into();
            Some(Bytes::from(getUserAccountDataCall::abi_encode_returns(&data)))
        };
        answers.push(words(8_250, U256::from(7_796_250_000_000_000_000_u64)));
        let parts = terms().held(&answers, None).unwrap().parts;
        assert_eq!((parts.threshold, parts.health_factor, parts.lacking), (Some(0.825), Some(7.79625), false));
        assert_eq!(parts.debt, [(Address::repeat_byte(2), 1_000.0)]);
        assert_eq!(parts.collateral, [], "no deposit is enabled as collateral");
        answers[3] = words(0, U256::MAX);
        let parts = terms().held(&answers, None).unwrap().parts;
        assert_eq!((parts.threshold, parts.health_factor, parts.lacking), (None, None, false));
    }

    #[test]
    fn an_oracle_that_quotes_in_an_asset_needs_its_price() {
        let asset = Some(Address::repeat_byte(9));
        let terms = Terms { quote: Quote { asset, unit: U256::from(SCALE) }, ..terms() };
        let answers = [data(3_000_000_000_000_000_000, 0), data(0, 1_000_000_000), prices([SCALE, SCALE / 2_000])];
        let held = terms.held(&answers, Some(2_000.0)).unwrap();
        assert_eq!((held.supplied_usd, held.borrowed_usd), (6_000.0, 1_000.0));
        assert!(terms.held(&answers, None).is_none());
        assert!(terms.held(&[data(0, 0), data(0, 0), prices([1, 1])], None).is_some());
    }

    #[test]
    fn a_missing_part_is_no_position() {
        assert!(terms().held(&[data(1, 0), None, prices([1, 1])], None).is_none());
        assert!(terms().held(&[data(1, 0), data(0, 0), prices([0, 1])], None).is_none());
        assert!(terms().held(&[data(0, 0), data(0, 0), prices([0, 1])], None).is_some());
    }
}
