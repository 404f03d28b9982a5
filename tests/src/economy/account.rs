//! The pool's own view of an account.

use alloy::primitives::{Address, Bytes, U256};
use alloy::sol;
use alloy::sol_types::SolCall;
use serde_json::json;

use crate::devnet::{Chain, Error};

sol! {
    function getUserAccountData(address user) external view returns (
        uint256 totalCollateralBase, uint256 totalDebtBase, uint256 availableBorrowsBase,
        uint256 currentLiquidationThreshold, uint256 ltv, uint256 healthFactor);
}

/// The state of an account, in dollars and in shares of one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Account {
    pub collateral: f64,
    pub debt: f64,
    /// Dollars that the account may still borrow.
    pub available: f64,
    pub threshold: f64,
    /// Infinite if there is no debt.
    pub health: f64,
}

impl From<getUserAccountDataReturn> for Account {
    fn from(said: getUserAccountDataReturn) -> Self {
        let of = |number: U256, places: i32| f64::from(number) / 10_f64.powi(places);
        Self {
            collateral: of(said.totalCollateralBase, 8),
            debt: of(said.totalDebtBase, 8),
            available: of(said.availableBorrowsBase, 8),
            threshold: of(said.currentLiquidationThreshold, 4),
            health: if said.totalDebtBase.is_zero() { f64::INFINITY } else { of(said.healthFactor, 18) },
        }
    }
}

impl Account {
    /// Returns the accounts of `wallets` at the newest block.
    ///
    /// # Errors
    /// If the node does not answer.
    pub async fn now(chain: &Chain, wallets: &[Address]) -> Result<Vec<Self>, Error> {
        Self::at(chain, wallets, chain.head().await?.0).await
    }

    /// Returns the accounts of `wallets` at the end of a block.
    ///
    /// # Errors
    /// If the node does not answer.
    pub async fn at(chain: &Chain, wallets: &[Address], block: u64) -> Result<Vec<Self>, Error> {
        let ask = |user: &Address| {
            let data = Bytes::from(getUserAccountDataCall { user: *user }.abi_encode());
            ("eth_call", json!([{ "to": chain.market.pool, "data": data }, format!("{block:#x}")]))
        };
        let answers: Vec<Bytes> = chain.rpc.batch(&wallets.iter().map(ask).collect::<Vec<_>>()).await?;
        let decoded = |answer: Bytes| {
            let said = getUserAccountDataCall::abi_decode_returns(&answer);
            said.map(Into::into).map_err(|error| Error::Rpc(format!("getUserAccountData: {error}")))
        };
        answers.into_iter().map(decoded).collect()
    }
}
