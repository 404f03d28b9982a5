//! What a wallet has in an Aave v3 pool: aToken and debt balances by the pool's data provider, times the pool's oracle, in
//! integers until the last step.

use alloy::sol;

use crate::{
    chain::{
        call::{Call, returned},
        client::Client,
        fault::Fault,
        lending::terms::Held,
    },
    domain::{Address, B256, U256},
};
use alloy::primitives::Bytes;

sol! {
    #[derive(Debug)]
    struct TokenData { string symbol; address tokenAddress; }
    function ADDRESSES_PROVIDER() external view returns (address provider);
    function getPoolDataProvider() external view returns (address provider);
    function getPriceOracle() external view returns (address oracle);
    function getAllReservesTokens() external view returns (TokenData[] tokens);
    function BASE_CURRENCY_UNIT() external view returns (uint256 unit);
    function decimals() external view returns (uint8 places);
    function getUserReserveData(address asset, address user) external view returns (
        uint256 aTokenBalance, uint256 stableDebt, uint256 variableDebt, uint256 principalStableDebt, uint256 scaledVariableDebt,
        uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateral);
    function getAssetsPrices(address[] assets) external view returns (uint256[] prices);
}

/// What is fixed of a pool for a while: its helpers, and its reserves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::chain) struct Terms {
    data_provider: Address,
    pub oracle: Address,
    /// The oracle's prices are multiples of one dollar divided by this.
    pub unit: U256,
    reserves: Vec<Reserve>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reserve {
    asset: Address,
    decimals: u8,
}

/// Scale of sums: dollars times this.
const SCALE: u64 = 1_000_000_000_000_000_000;

impl Terms {
    /// Looks all of `pools` up together, in four round trips. `None` for one that does not answer like a pool.
    pub(in crate::chain) async fn look_up(client: &Client, pools: &[Address], at: B256) -> Result<Vec<Option<Self>>, Fault> {
        let calls: Vec<_> = pools.iter().map(|pool| Call::new(*pool, &ADDRESSES_PROVIDERCall {})).collect();
        let providers = client.calls(&calls, at).await?;
        let providers: Vec<Option<Address>> = (0..pools.len()).map(|i| returned::<ADDRESSES_PROVIDERCall>(providers.get(i))).collect();

        let provider = |i: usize| providers.get(i).copied().flatten().unwrap_or_default();
        let two = |i| [Call::new(provider(i), &getPoolDataProviderCall {}), Call::new(provider(i), &getPriceOracleCall {})];
        let helpers = client.calls(&(0..pools.len()).flat_map(two).collect::<Vec<_>>(), at).await?;
        let helpers: Vec<_> = helpers
            .chunks(2)
            .map(|pair| (returned::<getPoolDataProviderCall>(pair.first()), returned::<getPriceOracleCall>(pair.get(1))))
            .collect();

        let two = |(data_provider, oracle): &(Option<Address>, Option<Address>)| {
            [
                Call::new(data_provider.unwrap_or_default(), &getAllReservesTokensCall {}),
                Call::new(oracle.unwrap_or_default(), &BASE_CURRENCY_UNITCall {}),
            ]
        };
        let lists = client.calls(&helpers.iter().flat_map(two).collect::<Vec<_>>(), at).await?;
        let lists: Vec<_> = lists
            .chunks(2)
            .map(|pair| (returned::<getAllReservesTokensCall>(pair.first()), returned::<BASE_CURRENCY_UNITCall>(pair.get(1))))
            .collect();

        let assets: Vec<Address> = lists.iter().flat_map(|(tokens, _)| tokens.iter().flatten().map(|token| token.tokenAddress)).collect();
        let places = client.calls(&assets.iter().map(|asset| Call::new(*asset, &decimalsCall {})).collect::<Vec<_>>(), at).await?;
        let mut places = places.iter().map(|answer| returned::<decimalsCall>(Some(answer)));

        let mut found = Vec::with_capacity(pools.len());
        for ((data_provider, oracle), (tokens, unit)) in helpers.into_iter().zip(lists) {
            let reserves: Option<Vec<_>> = tokens.map_or(Some(Vec::new()), |tokens| {
                // Every asset takes its answer, also after one without decimals.
                let reserves: Vec<_> =
                    tokens.iter().map(|token| Some(Reserve { asset: token.tokenAddress, decimals: places.next().flatten()? })).collect();
                reserves.into_iter().collect()
            });
            found.push(match (data_provider, oracle, unit, reserves) {
                (Some(data_provider), Some(oracle), Some(unit), Some(reserves)) if !unit.is_zero() => {
                    Some(Self { data_provider, oracle, unit, reserves })
                }
                _ => None,
            });
        }
        Ok(found)
    }

    /// The calls that tell a wallet's position; [`held`](Self::held) reads their answers.
    pub(in crate::chain) fn calls(&self, user: Address) -> Vec<Call> {
        let assets: Vec<_> = self.reserves.iter().map(|reserve| reserve.asset).collect();
        let balances = assets.iter().map(|asset| Call::new(self.data_provider, &getUserReserveDataCall { asset: *asset, user }));
        let prices = Call::new(self.oracle, &getAssetsPricesCall { assets: assets.clone() });
        balances.chain([prices]).collect()
    }

    /// `None` where a balance or a price that matters is missing: a part of a position is not a position.
    pub(in crate::chain) fn held(&self, answers: &[Option<Bytes>]) -> Option<Held> {
        let prices = returned::<getAssetsPricesCall>(answers.get(self.reserves.len()))?;
        let (mut supplied, mut borrowed, mut assets) = (U256::ZERO, U256::ZERO, 0);
        for (i, reserve) in self.reserves.iter().enumerate() {
            let data = returned::<getUserReserveDataCall>(answers.get(i))?;
            let price = *prices.get(i)?;
            let debt = data.stableDebt.checked_add(data.variableDebt)?;
            supplied = supplied.checked_add(self.scaled(data.aTokenBalance, price, reserve.decimals)?)?;
            borrowed = borrowed.checked_add(self.scaled(debt, price, reserve.decimals)?)?;
            assets += u32::from(!data.aTokenBalance.is_zero());
        }
        Some(Held { supplied_usd: dollars(supplied), borrowed_usd: dollars(borrowed), supplied_assets: assets })
    }

    fn scaled(&self, amount: U256, price: U256, decimals: u8) -> Option<U256> {
        if amount.is_zero() {
            return Some(U256::ZERO);
        }
        // A price of 0 is the oracle saying that it has none.
        let price = Some(price).filter(|price| !price.is_zero())?;
        let divisor = U256::from(10).checked_pow(U256::from(decimals))?.checked_mul(self.unit)?;
        amount.checked_mul(price)?.checked_mul(U256::from(SCALE))?.checked_div(divisor)
    }
}

fn dollars(scaled: U256) -> f64 {
    f64::from(scaled) / SCALE as f64
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolCall;

    use super::*;

    fn terms() -> Terms {
        let reserve = |byte, decimals| Reserve { asset: Address::repeat_byte(byte), decimals };
        Terms {
            data_provider: Address::ZERO,
            oracle: Address::ZERO,
            unit: U256::from(100_000_000),
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
        let answers = [data(6_750_000_000_000_000_000, 0), data(0, 1_000_000_000), prices([140_000_000_000, 100_000_000])];
        let held = terms().held(&answers).unwrap();
        assert_eq!((held.supplied_usd, held.borrowed_usd, held.supplied_assets), (9_450.0, 1_000.0, 1));
    }

    #[test]
    fn a_missing_part_is_no_position() {
        assert!(terms().held(&[data(1, 0), None, prices([1, 1])]).is_none());
        assert!(terms().held(&[data(1, 0), data(0, 0), prices([0, 1])]).is_none());
        assert!(terms().held(&[data(0, 0), data(0, 0), prices([0, 1])]).is_some());
    }
}
