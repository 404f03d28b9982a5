//! The position of a wallet in the market, from Aave's data provider and oracle.

use alloy::primitives::{Address, U256};
use alloy::sol;

use super::{Chain, Error};

sol! {
    interface DataProvider {
        function getUserReserveData(address asset, address user) external view returns (
            uint256 aTokenBalance, uint256 stableDebt, uint256 variableDebt, uint256 principalStableDebt,
            uint256 scaledVariableDebt,
            uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated,
            bool usageAsCollateralEnabled);
        function getReserveTokensAddresses(address asset) external view returns (address aToken, address stableDebt,
            address variableDebt);
    }

    interface Oracle {
        function getAssetPrice(address asset) external view returns (uint256);
    }
}

/// In dollars, at the newest block.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Position {
    pub supplied_usd: f64,
    pub borrowed_usd: f64,
    /// Reserves that the wallet supplies.
    pub supplied_assets: u32,
}

/// # Errors
/// When the node does not answer.
pub async fn position(chain: &Chain, wallet: Address) -> Result<Position, Error> {
    let market = &chain.market;
    let mut position = Position::default();
    for token in market.tokens.iter().filter(|token| token.asset.reserve) {
        let asset = token.address;
        let held =
            chain.rpc.call(market.data_provider, DataProvider::getUserReserveDataCall { asset, user: wallet }).await?;
        let price = chain.rpc.call(market.oracle, Oracle::getAssetPriceCall { asset }).await?;
        let dollars =
            |amount: U256| f64::from(amount) / 10_f64.powi(token.asset.decimals.into()) * f64::from(price) / 1e8;
        position.supplied_usd += dollars(held.aTokenBalance);
        position.borrowed_usd += dollars(held.stableDebt) + dollars(held.variableDebt);
        position.supplied_assets += u32::from(!held.aTokenBalance.is_zero());
    }
    Ok(position)
}
